"""What this app puts into the download of a holder’s data, and how it erases what it keeps of them."""

from django.utils.html import format_html
from django.utils.translation import ngettext

from infra.personal_data import Person
from wallet.account.closing import erasure
from wallet.account.download import entries, security
from wallet.models import HolderSession, IdentityVerification, Picture

SECTIONS = (*entries.SECTIONS, *security.SECTIONS)
ERASERS = (erasure.erase_sign_ins, erasure.erase_attempts, erasure.erase_addresses)


def _checks(person: Person) -> str:
    checks = IdentityVerification.objects.filter(wallet=person.id)
    count, pictures = checks.count(), Picture.objects.filter(verification__in=checks).count()
    said = ngettext(
        "<strong>{}</strong> identity check is erased, with {} pictures.",
        "<strong>{}</strong> identity checks are erased, with {} pictures.",
        count,
    )
    return format_html(said, count, pictures)


def _browsers(person: Person) -> str:
    count = HolderSession.objects.filter(wallet=person.id).count()
    said = ngettext(
        "<strong>{}</strong> browser is signed out.", "<strong>{}</strong> browsers are signed out.", count
    )
    return format_html(said, count)


COUNTS = (_checks, _browsers)
