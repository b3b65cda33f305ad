"""The next step of an interaction, computed from facts, and the rows that the step needs.

The step is not stored. Each HTTP request computes it once.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto

from django.db import transaction
from django.urls import reverse
from django.utils.timezone import localdate

from consent import decisions
from consent.models import Consent
from consent.question import Requester
from infra.database.prepared_statements import PreparedInsert
from presentation.models import Interaction
from presentation.relying_parties.metadata import logos
from presentation.requests.interactions import OpenInteraction, path_of
from presentation.requests.match import Match, match, possible, require_readable, require_shown
from presentation.transaction_data import entries
from wallet import credentials, errands
from wallet.models import HolderSession

FRESH_FACTOR = timedelta(minutes=5)  # how old a sign-in may be when a request has a payment

_new = PreparedInsert(Interaction)


class Step(Enum):
    """What must happen next in an interaction."""

    SIGN_IN = auto()
    ENROLL = auto()
    CONSENT = auto()
    UNAVAILABLE = auto()
    REFUSE = auto()
    ANSWER = auto()


@dataclass(frozen=True)
class NextStep:
    """A step, with the match that it was computed from.

    For ANSWER the match has the values of the day when the holder was asked; None if nothing matches now.
    """

    step: Step
    match: Match | None = None


def next_step(opened: OpenInteraction, session: HolderSession | None, *, now: datetime) -> NextStep:
    """The next step of this interaction for the holder of the session; raises `AuthorizationError`."""
    consent = opened.row.consent
    if consent is not None and consent.decision == Consent.Decision.DECLINED:
        return NextStep(Step.REFUSE)
    request = opened.request
    if session is None or session.wallet.email != request.login_hint:
        return NextStep(Step.SIGN_IN)
    fresh_since = earliest_sign_in(opened)
    if fresh_since is not None and session.signed_in_at < fresh_since:
        return NextStep(Step.SIGN_IN)
    credential = credentials.valid_credential(session.wallet, now=now)
    if credential is None:
        return NextStep(Step.ENROLL if possible(request) else Step.UNAVAILABLE)
    require_readable(credential)
    if consent is None:
        found = match(request, credential, today=localdate(now))
        return NextStep(Step.CONSENT if found else Step.UNAVAILABLE, found)
    if decisions.granted_for(consent, request_hash=opened.row.request_hash, wallet=session.wallet):
        return NextStep(Step.ANSWER, match(request, credential, today=localdate(consent.asked_at)))
    if consent.decision == Consent.Decision.ASKED:
        require_shown(consent)
    return NextStep(Step.CONSENT)


def earliest_sign_in(opened: OpenInteraction) -> datetime | None:
    """With a payment, the holder must have signed in at or after this moment; None without a payment."""
    consequential = any(value.consequential for value in opened.request.transaction_data)
    return opened.row.created_at - FRESH_FACTOR if consequential else None


def prepare(opened: OpenInteraction, following: NextStep, *, now: datetime) -> None:
    """Inserts the row that the step needs, if it is missing: the consent, or the redirect task of the wallet.

    A new interaction is inserted in the same transaction.
    """
    row, step = opened.row, following.step
    before = (row.consent_id, row.errand_id)
    with transaction.atomic():
        if step is Step.CONSENT and row.consent is None and following.match is not None:
            row.consent = _ask(opened, following.match, now=now)
        elif step in (Step.SIGN_IN, Step.ENROLL) and row.errand is None:
            row.errand = errands.open_errand(
                browser=row.browser,
                email=opened.request.login_hint,
                on_behalf_of=opened.relying_party.name,
                return_to=path_of(row),
                leave_to=reverse("leave", args=[row.id]),
                fresh_since=earliest_sign_in(opened),
                now=now,
                lifetime=row.expires_at - now,
            )
        if opened.is_new:
            _new.run(row)
        elif before != (row.consent_id, row.errand_id):
            row.save(update_fields=["consent", "errand"])


def _ask(opened: OpenInteraction, found: Match, *, now: datetime) -> Consent:
    """A new consent that asks the holder of the matching credential."""
    row, transaction_data = opened.row, opened.request.transaction_data
    return decisions.ask(
        wallet=found.credential.wallet,
        requester_id=opened.relying_party.client_id,
        requester=_requester(opened),
        claims=found.selection.claims,
        transactions=[entries.display(value) for value in transaction_data],
        transaction_hashes=[value.hash for value in transaction_data],
        request_hash=row.request_hash,
        return_to=path_of(row),
        now=now,
        expires_at=row.expires_at,
    )


def _requester(opened: OpenInteraction) -> Requester:
    party, address = opened.relying_party, opened.return_address
    has_logo = party.logo and logos.is_shown(bytes(party.logo))
    return Requester(
        name=party.name,
        domain=address.destination,
        logo_url=reverse("relying_party_logo", args=[party.client_id]) if has_logo else "",
        purpose=party.purpose,
        privacy_policy_url=party.privacy_policy_url,
        terms_url=party.terms_url,
        receiver=address.destination if address.posted else "",
    )
