"""One browser's passage through one authorization request: begin, recall, what is next, answer, refuse.

Facts are stored, the next step is computed from them, and everything shown, signed and answered is derived
from the one row written at the beginning (design: parse once, store what was said).
"""

import hashlib
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from functools import cached_property

import structlog
from django.db import IntegrityError, OperationalError, transaction
from django.urls import reverse
from django.utils.translation import gettext as _

from consent import decisions
from keys.certificate_chain import BrokenChainError
from keys.issuer_key import NoSigningKeyError
from keys.sealing import SealError
from presentation import authorization_request, transaction_data, vp_token
from presentation.authorization_request import AuthorizationRequest
from presentation.errors import (
    AccessDeniedError,
    AuthorizationError,
    InvalidRequestError,
    ServerError,
    TemporarilyUnavailableError,
    UntrustedRequestError,
)
from presentation.models import Interaction, RelyingParty
from presentation.parameters import Parameters
from presentation.return_address import ReturnAddress
from wallet import credentials, errands
from wallet.limits import Limit, LimitReachedError
from wallet.models import Credential, HolderSession

log = structlog.get_logger(__name__)

LIFETIME = timedelta(minutes=30)
NONCE_USED = "nonce was used before; every request needs a fresh one"
# Anybody can make a browser ask, and each request of a stranger writes two rows that stay for a day. Per
# client address, and generous: a whole company may share one. Who is signed in is known, and not counted.
STRANGERS = Limit("requests-of-strangers", most=300, window=timedelta(minutes=15))
FRESH_FACTOR = timedelta(minutes=5)  # how old a sign-in may be when a payment is asked for


class Step(Enum):
    """What must happen next in an interaction."""

    SIGN_IN = auto()
    ENROLL = auto()
    CONSENT = auto()
    REFUSE = auto()
    ANSWER = auto()


class InteractionGoneError(LookupError):
    """There is nothing to go on with here: unknown, another browser's, expired, or answered already.

    `interaction` is the row where there is one; `own` says whether it is this browser's.
    """

    def __init__(self, interaction: Interaction | None = None, *, own: bool = False) -> None:
        super().__init__(interaction)
        self.interaction = interaction
        self.own = own


@dataclass(frozen=True)
class Passage:
    """An open interaction with what its row says: the request, and where the answer goes."""

    interaction: Interaction
    return_address: ReturnAddress

    @cached_property
    def request(self) -> AuthorizationRequest:
        """What was asked, as far as this relying party may ask it now; raises `AuthorizationError`."""
        return authorization_request.parse(
            Parameters(self.interaction.parameters),
            allowed_scopes=self.relying_party.allowed_scopes,
            allowed_transaction_data_types=self.relying_party.allowed_transaction_data_types,
        )

    @property
    def relying_party(self) -> RelyingParty:
        return self.interaction.relying_party


def begin(
    parameters: Parameters,
    relying_party: RelyingParty,
    return_address: ReturnAddress,
    *,
    browser: str,
    client: str,
    session: HolderSession | None,
    now: datetime,
) -> Passage:
    """Write down a request that may be answered, and ask the holder at once when they can be asked.

    browser: digest of its cookie. client: the network address limits count by.

    Raises an `AuthorizationError` for what is wrong with the request (design §5), and then writes nothing.
    """
    if problem := parameters.first_problem():  # what is stored below has none any more
        raise InvalidRequestError(problem)
    interaction = Interaction(
        relying_party=relying_party,
        redirect_uri=return_address.uri,
        browser=browser,
        parameters=dict(parameters.values),
        request_hash=authorization_request.parameters_hash(parameters),
        created_at=now,
        expires_at=now + LIFETIME,
    )
    passage = Passage(interaction, return_address)
    interaction.nonce_digest = _digest(passage.request.nonce)
    _refuse_replay(interaction)
    if session is None:
        _count_stranger(client, now=now)
    with transaction.atomic():
        _prepare(passage, next_step(passage, session, now=now), session, now=now)
        interaction.save(force_insert=True)
    return passage


def recall(interaction_id: uuid.UUID, *, browser: str | None, now: datetime) -> Passage:
    """The open interaction of this browser; raises `InteractionGoneError` when it cannot go on."""
    rows = Interaction.objects.select_related("relying_party", "consent")
    interaction = rows.filter(id=interaction_id).first()
    if interaction is None or interaction.browser != browser:
        raise InteractionGoneError(interaction)
    if interaction.outcome or interaction.expires_at <= now:
        raise InteractionGoneError(interaction, own=True)
    return Passage(interaction, return_address_of(interaction))


def next_step(passage: Passage, session: HolderSession | None, *, now: datetime) -> Step:
    """What must happen next; asked anew after every detour, from facts only."""
    consent = passage.interaction.consent
    if consent is not None and consent.decision == consent.Decision.DECLINED:
        return Step.REFUSE
    if session is None or session.wallet.email != passage.request.login_hint:
        return Step.SIGN_IN
    fresh_since = earliest_sign_in(passage)
    if fresh_since is not None and session.signed_in_at < fresh_since:
        return Step.SIGN_IN
    if credentials.valid_credential(session.wallet, now=now) is None:
        return Step.ENROLL
    if consent is not None and decisions.granted_for(
        consent, request_hash=passage.interaction.request_hash, wallet=session.wallet
    ):
        return Step.ANSWER
    return Step.CONSENT


def earliest_sign_in(passage: Passage) -> datetime | None:
    """A payment asks for a factor shown for it: shortly before the request, or since. Else None."""
    consequential = any(value.consequential for value in passage.request.transaction_data)
    return passage.interaction.created_at - FRESH_FACTOR if consequential else None


def prepare(passage: Passage, step: Step, session: HolderSession | None, *, now: datetime) -> None:
    """Make what a step needs, where it is not there yet: the question to the holder, or the errand."""
    before = (passage.interaction.consent_id, passage.interaction.errand_id)
    with transaction.atomic():
        _prepare(passage, step, session, now=now)
        if before != (passage.interaction.consent_id, passage.interaction.errand_id):
            passage.interaction.save(update_fields=["consent", "errand"])


def answer(passage: Passage, session: HolderSession, *, now: datetime) -> dict[str, str]:
    """The parameters of a positive answer; the interaction is answered with it, once.

    Everything that may have changed since it began is looked at again under a lock on its row. Raises
    `AuthorizationError` (and then nothing is answered yet: see `refuse`), `UntrustedRequestError` when the
    answer may not be redirected any more, `InteractionGoneError` when another tab was first.
    """
    try:
        with transaction.atomic():
            interaction = _locked(passage.interaction.id)
            credential = _recheck(interaction, passage, session, now=now)
            presentation = credentials.present(
                credential,
                passage.request.query.claims,
                audience=interaction.relying_party.client_id,
                nonce=passage.request.nonce,
                transaction_data=[value.received for value in passage.request.transaction_data],
                now=now,
            )
            _close(interaction, Interaction.Outcome.TOKEN, now=now)
    except credentials.CredentialNotUsableError as error:
        raise AccessDeniedError from error
    except IntegrityError as error:
        raise InvalidRequestError(NONCE_USED) from error
    except (NoSigningKeyError, BrokenChainError, SealError) as error:
        log.exception("presentation failed", interaction=str(passage.interaction.id))
        raise ServerError from error
    except OperationalError as error:
        log.exception("presentation failed", interaction=str(passage.interaction.id))
        raise TemporarilyUnavailableError from error
    log.info("answered", interaction=str(interaction.id), client_id=interaction.relying_party.client_id)
    return vp_token.answer_with(
        presentation,
        query_ids=passage.request.query.credential_ids,
        wire_format=RelyingParty.WireFormat(interaction.relying_party.wire_format),
    )


def refuse(passage: Passage, error: AuthorizationError, *, now: datetime) -> dict[str, str]:
    """The parameters of a negative answer; the interaction is answered with it, once."""
    with transaction.atomic():
        interaction = _locked(passage.interaction.id)
        _check_relying_party(interaction)
        _close(interaction, Interaction.Outcome.ERROR, error=error.error, now=now)
    log.info("refused", interaction=str(interaction.id), error=error.error)
    return refusal(interaction.relying_party, error)


def refusal(relying_party: RelyingParty, error: AuthorizationError) -> dict[str, str]:
    """The parameters of an error (RFC 6749 §4.2.2.1), with `iss` where the wire format has it."""
    return error.as_parameters() | vp_token.issuer(RelyingParty.WireFormat(relying_party.wire_format))


def return_address_of(interaction: Interaction) -> ReturnAddress:
    """Where the answer goes: the URI that was proven registered when the interaction began."""
    return ReturnAddress(uri=interaction.redirect_uri, state=interaction.parameters.get("state"))


def path_of(interaction: Interaction) -> str:
    """The hub: where the browser comes back to after every detour."""
    return reverse("resume", args=[interaction.id])


def _prepare(passage: Passage, step: Step, session: HolderSession | None, *, now: datetime) -> None:
    interaction = passage.interaction
    if step is Step.CONSENT and session is not None and interaction.consent is None:
        interaction.consent = decisions.ask(
            wallet=session.wallet,
            requester_id=passage.relying_party.client_id,
            requester=_requester(passage),
            claims=passage.request.query.claims,
            transactions=[transaction_data.display(value) for value in passage.request.transaction_data],
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
    logo_url = reverse("relying_party_logo", args=[party.client_id]) if party.logo else ""
    return decisions.Requester(
        name=party.name,
        domain=passage.return_address.destination,
        logo_url=logo_url,
        purpose=party.purpose,
        privacy_policy_url=party.privacy_policy_url,
        terms_url=party.terms_url,
    )


def _locked(interaction_id: uuid.UUID) -> Interaction:
    rows = Interaction.objects.select_for_update(of=("self",))
    interaction = rows.select_related("relying_party", "consent__wallet__credential").get(id=interaction_id)
    if interaction.outcome:
        raise InteractionGoneError(interaction, own=True)
    return interaction


def _recheck(
    interaction: Interaction, passage: Passage, session: HolderSession, *, now: datetime
) -> Credential:
    """Everything the answer rests on, read again under the lock; the credential to present from."""
    _check_relying_party(interaction)
    parameters = Parameters(interaction.parameters)
    consent = interaction.consent
    if authorization_request.parameters_hash(parameters) != interaction.request_hash or (
        passage.interaction.request_hash != interaction.request_hash
    ):
        raise ServerError
    if consent is None or not decisions.granted_for(
        consent, request_hash=interaction.request_hash, wallet=session.wallet
    ):
        raise AccessDeniedError
    credential = credentials.valid_credential(consent.wallet, now=now)
    if credential is None or interaction.expires_at <= now:
        raise AccessDeniedError
    # The holder said yes to these claims with these values: not to what a scope has come to mean since, and
    # not to what a later identity check has found.
    shown = tuple(tuple(path) for path in consent.claims)
    if shown != passage.request.query.claims or credential.issued_at > consent.asked_at:
        raise AccessDeniedError
    return credential


def _check_relying_party(interaction: Interaction) -> None:
    """An answer goes only to an active relying party, and only where it is registered now."""
    party = interaction.relying_party
    if party.state != RelyingParty.State.ACTIVE:
        raise UntrustedRequestError(_("This application may not ask for credentials at the moment."))
    registered = party.redirect_uris.values_list("uri", flat=True)
    ReturnAddress.registered(interaction.redirect_uri, registered)


def _close(interaction: Interaction, outcome: Interaction.Outcome, *, error: str = "", now: datetime) -> None:
    """Answered, once; what was asked (an e-mail address, a payment) is not kept beyond the answer."""
    open_row = Interaction.objects.filter(id=interaction.id, outcome=Interaction.Outcome.NONE)
    closed = open_row.update(outcome=outcome, error=error, answered_at=now, parameters={}, errand=None)
    if closed != 1:
        raise InteractionGoneError(interaction, own=True)


def _refuse_replay(interaction: Interaction) -> None:
    answered = Interaction.objects.filter(
        relying_party=interaction.relying_party,
        nonce_digest=interaction.nonce_digest,
        outcome=Interaction.Outcome.TOKEN,
    )
    if answered.exists():
        raise InvalidRequestError(NONCE_USED)


def _count_stranger(client: str, *, now: datetime) -> None:
    try:
        STRANGERS.take(client, now=now)
    except LimitReachedError as limit:
        raise TemporarilyUnavailableError from limit


def _digest(nonce: str) -> str:
    return hashlib.sha256(nonce.encode()).hexdigest()
