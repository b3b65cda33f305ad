"""What a relying party still lacks before it can go live, as a list for its operators."""

from dataclasses import dataclass
from datetime import datetime

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from infra.words import Words
from presentation.models import Interaction, RelyingParty
from presentation.relying_parties import recognition
from presentation.relying_parties.authentication.authentication import can_authenticate
from presentation.webhooks import signing_secrets


@dataclass(frozen=True)
class Point:
    """One thing to have. needed: without it the relying party should not go live; else it is advice."""

    text: Words
    done: bool
    needed: bool = True


def points(party: RelyingParty, *, now: datetime) -> list[Point]:
    """Everything that was checked, in the order in which an operator does it."""
    uris = [row.uri for row in party.redirect_uris.all()]
    types = ", ".join(party.allowed_transaction_data_types) or _("none")
    return [
        Point(_("It is active."), party.state == RelyingParty.State.ACTIVE),
        Point(_("It has a redirect URI."), bool(uris)),
        Point(
            _("No redirect URI is on a developer’s machine (http://localhost)."),
            not any(uri.startswith("http://localhost") for uri in uris),
        ),
        Point(_("It says why it asks (purpose)."), bool(party.purpose)),
        Point(_("It links to its privacy policy."), bool(party.privacy_policy_url)),
        Point(_("There is a contact whom operators can write to."), bool(party.contact)),
        Point(_("There is a contact for holders."), bool(party.privacy_contact), needed=False),
        *_secrets(party, now),
        *_number(party),
        Point(_("It has a logo that holders see."), bool(party.logo_url), needed=False),
        Point(format_lazy(_("It may send transaction data: {types}."), types=types), done=True),
        Point(_("It links to its terms of use."), bool(party.terms_url), needed=False),
        Point(
            _("A request of it was answered with a credential."),
            Interaction.objects.filter(relying_party=party, outcome=Interaction.Outcome.TOKEN).exists(),
            needed=False,
        ),
    ]


def missing(checklist: list[Point]) -> list[Point]:
    """The points that keep it from going live."""
    return [point for point in checklist if point.needed and not point.done]


def _number(party: RelyingParty) -> list[Point]:
    """What was chosen for `sub`, for a client of OpenID Connect."""
    if not recognition.must_choose(party.wire_format):
        return []
    called, meaning = recognition.SUB[recognition.sub_of(party)]
    return [
        Point(format_lazy(_("Its sub is {number}. {meaning}"), number=called, meaning=meaning), done=True)
    ]


def _secrets(party: RelyingParty, now: datetime) -> list[Point]:
    """The secrets and keys that its settings call for."""
    checklist = []
    by_code = party.wire_format == RelyingParty.WireFormat.OPENID_CONNECT
    if party.grants or party.requires_pushed_requests or by_code:
        proved = can_authenticate(party, now=now)
        checklist.append(Point(_("Its server can prove who it is: a client secret or public keys."), proved))
    if party.requires_signed_requests:
        text = _("Its public keys are registered, so that its requests can be verified.")
        checklist.append(Point(text, bool(party.jwks or party.jwks_uri)))
    if party.webhook_events:
        has_secret = signing_secrets.in_use(party, now=now).exists()
        checklist.append(Point(_("There is a webhook secret."), has_secret))
    return checklist
