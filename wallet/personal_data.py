"""What this app puts into the download of a holder’s data, and how it erases what it keeps of them."""

from datetime import datetime

import structlog
from django.db import transaction
from django.utils.html import format_html
from django.utils.translation import ngettext

from infra.personal_data import Person
from infra.retention import delete
from wallet import models
from wallet.account.download import entries, security
from wallet.identity import forgetting
from wallet.identity.state_machine import ForbiddenMoveError, move_to
from wallet.models import HolderSession, IdentityVerification, Picture
from wallet.sign_in import known_browsers
from wallet.sign_in import links as sign_in_links

log = structlog.get_logger(__name__)
State = models.IdentityVerification.State

# How an attempt ends that is still open; `submitted` becomes an error, as when a provider gives no answer.
_ENDS = {
    State.CREATED: State.CANCELLED,
    State.STARTED: State.CANCELLED,
    State.RESUBMIT: State.CANCELLED,
    State.PROCESSING: State.CANCELLED,
    State.SUBMITTED: State.ERROR,
    State.REVIEW: State.DECLINED,
}


def erase_sign_ins(person: Person, *, now: datetime, batch: int) -> int:
    """Sessions, passkeys, and what was stored to sign in with the address before the wallet was closed."""
    links_until = person.known_until + sign_in_links.LIFETIME
    erased = delete(models.HolderSession.objects.filter(wallet=person.id), by="digest", batch=batch)
    erased += delete(models.Passkey.objects.filter(wallet=person.id), by="id", batch=batch)
    if person.address:
        redirect_tasks = models.RedirectTask.objects.filter(
            email=person.address, created_at__lte=person.known_until
        )
        challenges = models.PasskeyChallenge.objects.filter(bound_to__in=redirect_tasks.values("browser"))
        erased += delete(challenges, by="digest", batch=batch)
        links = models.LoginLink.objects.filter(email=person.address, expires_at__lte=links_until)
        erased += delete(redirect_tasks, by="id", batch=batch)
        erased += delete(links, by="digest", batch=batch)
        erased += known_browsers.forget_all(person.address, until=person.known_until)
    return erased


def erase_addresses(person: Person, *, now: datetime, batch: int) -> int:
    """Changes of the address, and moves of or to the wallet.

    Of a move that concerns another wallet too, the record of that one stays. A former address goes after what
    it led to: its row is the only one that names it.
    """
    moves = models.Recovery.objects.filter(old=person.id)
    moves_in = models.Recovery.objects.filter(new=person.id)
    erased = delete(models.EmailChange.objects.filter(wallet=person.id), by="id", batch=batch)
    erased += delete(moves, by="id", batch=batch) + delete(moves_in.filter(old=None), by="id", batch=batch)
    erased += moves_in.update(new=None)
    addresses = models.FormerAddress.objects.filter(wallet=person.id, email=person.address)
    return erased + delete(addresses, by="id", batch=batch)


def erase_attempts(person: Person, *, now: datetime, batch: int) -> int:
    """Pictures, evidence and steps of all checks, and the checks once providers have erased theirs.

    The row of the check behind the credential goes with that of the wallet.
    """
    checks = models.IdentityVerification.objects.filter(wallet=person.id)
    for verification in checks.exclude(state__in=[State.APPROVED]).filter(state__in=_ENDS):
        _end(verification, now=now)
    erased = 0
    for model in (models.Picture, models.IdentityEvidence, models.IdentityVerificationTransition):
        erased += delete(model._default_manager.filter(verification__in=checks), by="id", batch=batch)
    for verification in checks.filter(kept_by_provider=True):
        forgetting.forget(verification, now=now)
    erased += checks.update(
        sealed_claims=None, sealed_memory=None, reason="", notice_due="", redirect_task=None
    )
    checks.filter(kept_by_provider=False).update(provider_reference="")
    held = models.Credential.objects.filter(wallet=person.id).values("verification")
    return erased + delete(checks.filter(kept_by_provider=False).exclude(id__in=held), by="id", batch=batch)


def _end(verification: models.IdentityVerification, *, now: datetime) -> None:
    try:
        with transaction.atomic():
            move_to(verification, _ENDS[State(verification.state)], actor="sweep", now=now, as_seen=True)
    except ForbiddenMoveError:  # it has moved on; the next sweep meets it again
        log.info("identity_check_moved_on", verification=str(verification.id))


SECTIONS = (*entries.SECTIONS, *security.SECTIONS)
ERASERS = (erase_sign_ins, erase_attempts, erase_addresses)


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
