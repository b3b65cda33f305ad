"""Identity verification in person: the person shows a document, an operator types it in and decides."""

import re
import secrets
from datetime import datetime

import segno
from django.conf import settings
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy as _

from infra.typed_digits import plain
from wallet.providers.contract import Check, Provider, Started
from wallet.providers.findings import Finding, NeedsReview, Pending
from wallet.providers.options import Options

# Without characters that look alike. The person reads the case number out, or shows it as a QR code.
ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
LENGTH = 8
_TYPED = re.compile(rf"([{ALPHABET}]{{4}})[ -]*([{ALPHABET}]{{4}})", re.IGNORECASE)


class InPerson(Provider):
    """A visit to an operator; every attempt goes to review."""

    label = _("Visit us")
    needs = _("You show a passport or identity card in person.")
    takes = _("A visit; the decision is made there.")
    method = "in_person"
    by_operators = True
    verifies_details = True

    def __init__(self, name: str, options: Options) -> None:
        super().__init__(name, options)
        self.place = options.text("place", settings.OPERATOR.place)
        self.hours = options.text("hours", "")
        self.bring = options.text("bring", "")
        self.assurances = (options.assurance("assurance", f"{options.own_framework} in_person"),)

    def start(self, check: Check, *, now: datetime) -> Started:
        """Gives the attempt its case number, and the page that says where to go and what to bring."""
        address = reverse("wallet_identity_in_person", args=[check.redirect_task_id])
        return Started(address, reference=check.reference or case_number())

    def result(self, check: Check, *, now: datetime) -> Finding:
        """Once the person has asked for the visit, an operator decides."""
        return NeedsReview("in_person") if check.submitted else Pending()


def case_number() -> str:
    """A number for people: short, easy to read out, and not to be guessed while the attempt is open."""
    text = "".join(secrets.choice(ALPHABET) for _place in range(LENGTH))
    return f"{text[:4]}-{text[4:]}"


def as_case_number(typed: str) -> str:
    """The case number that somebody typed in, in any case and with a dash or without; "" if it is none."""
    match = _TYPED.fullmatch(plain(typed))
    return "-".join(match.groups()).upper() if match else ""


def qr_code(text: str) -> SafeString:
    """The text as an SVG image, whose size the style sheet says; black on white also in the dark."""
    image = segno.make_qr(text, error="m")
    return mark_safe(image.svg_inline(omitsize=True, svgclass=None, lineclass=None, light="#fff"))  # noqa: S308
