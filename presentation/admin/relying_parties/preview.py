"""The consent page of a relying party with sample values, for its operators. It can do nothing.

The page is rendered by the template that holders see. Afterwards its forms lose their addresses, its buttons
submit nothing, and its scripts are left out; the content security policy forbids both as well.
"""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

from django.conf import settings
from django.http import HttpResponse
from django.template.loader import render_to_string
from django.utils.timezone import localdate
from django.utils.translation import override

from consent.models import Consent
from consent.question import Requester
from consent.question_page import TEMPLATE, Question
from infra import content_policy
from infra.served import unsent
from presentation.models import RelyingParty
from presentation.requests.client import ReturnAddress
from presentation.scopes import catalogue
from presentation.scopes.records import ScopeRecord
from wallet.credential import claims, days
from wallet.credential.claims import Identity
from wallet.credential.evidence import Assurance, Verification
from wallet.deadlines import Deadline

EMAIL = "sam@example.com"
CSP = {**settings.SECURE_CSP, "form-action": ["'none'"], "script-src": ["'none'"]}
_FORM = re.compile(r"<form\b[^>]*>", re.IGNORECASE)
_ADDRESS = re.compile(r"""\s(?:action|method|target)=("[^"]*"|'[^']*'|[^\s>]*)""", re.IGNORECASE)
_BUTTON = re.compile(r"<button\b(?![^>]*\btype=)", re.IGNORECASE)
_TYPED_BUTTON = re.compile(r"""(<button\b[^>]*\btype=)("submit"|'submit'|submit)""", re.IGNORECASE)
_HIDDEN = re.compile(r"""<input\b[^>]*type="hidden"[^>]*>""", re.IGNORECASE)
_SCRIPT = re.compile(r"<script\b[^>]*>.*?</script>", re.IGNORECASE | re.DOTALL)


def page(
    party: RelyingParty, scopes: Sequence[str], language: str, *, notice: str, now: datetime
) -> HttpResponse:
    """The preview. scopes: the URNs that the sample request has. notice: HTML that says what it is."""
    by_urn = catalogue.current()
    records = [by_urn[urn] for urn in scopes if urn in by_urn]
    request = unsent("", language)
    with override(language):
        context = {"question": _question(party, records, now), "signed_in_email": EMAIL}
        html = harmless(render_to_string(TEMPLATE, context, request))
    return content_policy.give(HttpResponse(html.replace("<main ", f"{notice}<main ", 1)), CSP)


def harmless(html: str) -> str:
    """The page without anything that could be submitted or run."""
    without_scripts = _SCRIPT.sub("", html)
    without_tokens = _HIDDEN.sub("", without_scripts)
    without_addresses = _FORM.sub(lambda match: _ADDRESS.sub("", match[0]), without_tokens)
    typed = _TYPED_BUTTON.sub(r'\1"button"', without_addresses)
    return _BUTTON.sub('<button type="button"', typed)


def _question(party: RelyingParty, records: Sequence[ScopeRecord], now: datetime) -> Question:
    """The question about the claims of these scopes, to a person who does not exist; it is not stored."""
    paths = list(dict.fromkeys(path for record in records for path in record.claims))
    required = {claims.named(name) for record in records for name in record.required}
    consent = Consent(
        requester=_requester(party).to_json(),
        return_to="",
        requester_since=localdate(party.created_at),
        requester_is_unchecked=party.self_registered,
    )
    return Question(
        consent=consent,
        transactions=(),
        claims=tuple(claims.preview(_sample(now), paths, today=days.of_ages(now, settings.AGE_TIME_ZONE))),
        optional=frozenset(set(paths) - required),
        last_shared_at=None,
        new=frozenset(),
        deadline=Deadline(now + timedelta(minutes=30), None, ""),
    )


def _requester(party: RelyingParty) -> Requester:
    first = party.redirect_uris.first()
    return Requester(
        name=party.name,
        domain=ReturnAddress(first.uri).destination if first else "",
        logo_url=party.logo_url,
        purpose=party.purpose,
        privacy_policy_url=party.privacy_policy_url,
        terms_url=party.terms_url,
    )


def _sample(now: datetime) -> Identity:
    evidence = Verification(Assurance("eidas", "substantial"), now.astimezone(UTC).date(), "in_person")
    return Identity("Sam", "Sample", date(1990, 4, 1), ("IE",), evidence, EMAIL)
