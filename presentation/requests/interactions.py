"""Interactions begin, are recalled in the browser that began them, and are prepared for their next step.

One row is written at the beginning; everything shown, signed and answered is derived from it (parse once,
store what was said). What is next is computed in `passage`; how it ends is in `answers`.
"""

import uuid
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.urls import reverse
from django.utils.timezone import localdate

from consent import decisions
from infra.database.prepared_statements import PreparedInsert, PreparedRead
from infra.limits import Limit, LimitReachedError
from presentation.errors import InvalidRequestError, TemporarilyUnavailableError
from presentation.models import Interaction, RedirectURI
from presentation.relying_parties.metadata import logos
from presentation.requests import authorization_request, stored_parameters
from presentation.requests.carriers.arrival import Arrival
from presentation.requests.client import Registration
from presentation.requests.parameters import Parameters
from presentation.requests.passage import Passage, Step, earliest_sign_in, next_step, path_of
from presentation.requests.return_address import FRAGMENT, ReturnAddress
from presentation.transaction_data import entries
from wallet import errands, known_browsers
from wallet.models import HolderSession

LIFETIME = timedelta(minutes=30)
NONCE_USED = "nonce was used before; every request needs a fresh one"
# In `request.META` of a request that our own code makes, for a caller who is counted by a limit of their own.
COUNTED_ALREADY = "presentation.counted_already"
# Anybody can make a browser ask, and each request of a stranger writes two rows that stay for a day. Per
# client address, and generous: a whole company may share one. Who is signed in is known, and not counted.
STRANGERS = Limit("requests-of-strangers", most=settings.REQUESTS_PER_CLIENT, window=timedelta(minutes=15))

_by_id = PreparedRead(
    lambda value: (
        Interaction.objects.filter(id=value("id"))
        .select_related("relying_party", "consent")
        .annotate(
            still_registered=Exists(
                RedirectURI.objects.filter(
                    relying_party=OuterRef("relying_party"), uri=OuterRef("redirect_uri")
                )
            )
        )
    )
)
_new = PreparedInsert(Interaction)


class InteractionGoneError(LookupError):
    """There is nothing to go on with here: unknown, another browser's, expired, or answered already.

    `interaction` is the row where there is one; `own` says whether it is this browser's.
    """

    def __init__(self, interaction: Interaction | None = None, *, own: bool = False) -> None:
        super().__init__(interaction)
        self.interaction = interaction
        self.own = own


def begin(
    arrival: Arrival,
    registration: Registration,
    *,
    browser: str,
    client: str | None,
    session: HolderSession | None,
    now: datetime,
) -> Passage:
    """Write down a request that may be answered, and ask the holder at once when they can be asked.

    browser: digest of its cookie. client: the network address limits count by, or None
    when the request is counted already.

    Raises an `AuthorizationError` for what is wrong with the request (design §5), and then writes nothing.
    """
    party, parameters = registration.relying_party, arrival.parameters
    arrival.check(
        requires_signed=party.requires_signed_requests, requires_pushed=party.requires_pushed_requests
    )
    if problem := parameters.first_problem():  # what is stored below has none any more
        raise InvalidRequestError(problem)
    interaction = _written_down(registration, parameters, browser=browser, now=now)
    passage = Passage(interaction, registration.return_address, still_registered=True)
    interaction.nonce_digest = authorization_request.nonce_digest(passage.request.nonce)
    if registration.nonce_used:
        raise InvalidRequestError(NONCE_USED)
    if session is None and client is not None:
        _count_stranger(passage, client, now=now)
    with transaction.atomic():
        _prepare(passage, next_step(passage, session, now=now), session, now=now)
        _new.run(interaction)
    return passage


def _written_down(
    registration: Registration, parameters: Parameters, *, browser: str, now: datetime
) -> Interaction:
    """The row of a new interaction, not saved yet; parsed once, stored as it was said."""
    address = registration.return_address
    interaction = Interaction(
        relying_party=registration.relying_party,
        redirect_uri="" if address.posted else address.uri,
        response_uri=address.uri if address.posted else "",
        browser=browser,
        request_hash=authorization_request.parameters_hash(parameters),
        created_at=now,
        expires_at=now + LIFETIME,
    )
    stored_parameters.store(interaction, parameters)
    return interaction


def recall(interaction_id: uuid.UUID, *, browser: str | None, now: datetime) -> Passage:
    """The open interaction of this browser; raises `InteractionGoneError` when it cannot go on."""
    interaction = _by_id.first(id=interaction_id)
    if interaction is None or interaction.browser != browser:
        raise InteractionGoneError(interaction)
    if interaction.outcome or interaction.expires_at <= now:
        raise InteractionGoneError(interaction, own=True)
    return Passage(interaction, return_address_of(interaction), still_registered=interaction.still_registered)


def lapsed(interaction: Interaction, *, now: datetime) -> Passage | None:
    """The passage of an interaction that nobody answered in time; None when it is open, or was answered."""
    if interaction.outcome or interaction.expires_at > now:
        return None
    return Passage(interaction, return_address_of(interaction), still_registered=False)


def answered(interaction_id: uuid.UUID, *, browser: str | None) -> Interaction:
    """An answered interaction of this browser whose answer is posted; else raises `InteractionGoneError`."""
    interaction = _by_id.first(id=interaction_id)
    if interaction is None or interaction.browser != browser:
        raise InteractionGoneError(interaction)
    if not interaction.answer_is_posted:
        raise InteractionGoneError(interaction, own=True)
    return interaction


def prepare(passage: Passage, step: Step, session: HolderSession | None, *, now: datetime) -> None:
    """Make what a step needs, where it is not there yet: the question to the holder, or the errand."""
    before = (passage.interaction.consent_id, passage.interaction.errand_id)
    with transaction.atomic():
        _prepare(passage, step, session, now=now)
        if before != (passage.interaction.consent_id, passage.interaction.errand_id):
            passage.interaction.save(update_fields=["consent", "errand"])


def return_address_of(interaction: Interaction) -> ReturnAddress:
    """Where the answer goes: the URI that was proven registered when the interaction began."""
    return ReturnAddress(
        uri=interaction.response_uri or interaction.redirect_uri,
        state=interaction.parameters.get("state"),
        response_mode=interaction.parameters.get("response_mode") or FRAGMENT,
    )


def _prepare(passage: Passage, step: Step, session: HolderSession | None, *, now: datetime) -> None:
    interaction = passage.interaction
    if step is Step.CONSENT and session is not None and interaction.consent is None:
        selection = passage.selection(session.wallet.credential, today=localdate(now))
        interaction.consent = decisions.ask(
            wallet=session.wallet,
            requester_id=passage.relying_party.client_id,
            requester=_requester(passage),
            claims=selection.claims if selection else (),
            transactions=[entries.display(value) for value in passage.request.transaction_data],
            transaction_hashes=[value.hash for value in passage.request.transaction_data],
            request_hash=interaction.request_hash,
            return_to=path_of(interaction),
            now=now,
            expires_at=interaction.expires_at,
        )
    elif step in (Step.SIGN_IN, Step.ENROLL) and interaction.errand is None:
        interaction.errand = errands.open_errand(
            browser=interaction.browser,
            email=passage.request.login_hint,
            on_behalf_of=passage.relying_party.name,
            return_to=path_of(interaction),
            leave_to=reverse("leave", args=[interaction.id]),
            fresh_since=earliest_sign_in(passage),
            now=now,
            lifetime=interaction.expires_at - now,
        )


def _requester(passage: Passage) -> decisions.Requester:
    party = passage.relying_party
    logo_url = (
        reverse("relying_party_logo", args=[party.client_id]) if logos.is_shown(bytes(party.logo)) else ""
    )
    return decisions.Requester(
        name=party.name,
        domain=passage.return_address.destination,
        logo_url=logo_url,
        purpose=party.purpose,
        privacy_policy_url=party.privacy_policy_url,
        terms_url=party.terms_url,
        receiver=passage.return_address.destination if passage.return_address.posted else "",
    )


def _count_stranger(passage: Passage, client: str, *, now: datetime) -> None:
    """Others at the client address cannot keep out a browser that has signed in as this person before."""
    try:
        STRANGERS.take(client, now=now)
    except LimitReachedError as limit:
        if not known_browsers.is_known(passage.interaction.browser, passage.request.login_hint, now=now):
            raise TemporarilyUnavailableError from limit
