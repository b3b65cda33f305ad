"""How an interaction ends: with a token or an error, once, after everything was looked at again."""

from contextlib import nullcontext
from datetime import datetime

import structlog
from django.db import IntegrityError, InterfaceError, OperationalError, transaction
from django.utils.timezone import localdate
from django.utils.translation import gettext as _

from consent import decisions
from consent.models import Consent
from infra.database.prepared_statements import PreparedUpdate
from infra.sealing import SealError
from keys.certificates.chain import BrokenChainError
from keys.issuer_key import NoSigningKeyError
from keys.private_keys.signer import SignerUnavailableError
from presentation.dcql.evaluation import Selection
from presentation.errors import (
    AccessDeniedError,
    AuthorizationError,
    InvalidRequestError,
    InvalidRequestUriError,
    ServerError,
    TemporarilyUnavailableError,
    UntrustedRequestError,
)
from presentation.models import Interaction, RelyingParty
from presentation.requests import authorization_request, vp_token
from presentation.requests.carriers import pushed_requests
from presentation.requests.client import check_return_address
from presentation.requests.delivery import deliveries
from presentation.requests.interactions import NONCE_USED, InteractionGoneError
from presentation.requests.passage import Passage
from presentation.webhooks import telling
from wallet import credentials
from wallet.models import HolderSession

log = structlog.get_logger(__name__)
_open_interaction = PreparedUpdate(
    lambda value: Interaction.objects.filter(id=value("id"), outcome=Interaction.Outcome.NONE),
    "outcome",
    "error",
    "answered_at",
    "parameters",
    "sealed_transaction_data",
    "errand",
)


def answer(passage: Passage, session: HolderSession, *, now: datetime) -> dict[str, str]:
    """The parameters of a positive answer; the interaction is answered with it, once.

    Everything it rests on was read with this request. Who comes first is decided by the conditional statement
    that closes the interaction, so what another request made meanwhile is thrown away. Raises
    `AuthorizationError` (and then nothing is answered yet: see `refuse`), `UntrustedRequestError` when the
    answer may not be redirected any more, `InteractionGoneError` when another tab was first.
    """
    interaction = passage.interaction
    try:
        presentation, query_ids = _present(passage, session, now=now)
        answer = vp_token.answer_with(
            presentation,
            query_ids=query_ids,
            wire_format=RelyingParty.WireFormat(passage.relying_party.wire_format),
        )
        _close_with(answer, passage, now=now)
    except credentials.CredentialNotUsableError as error:
        raise AccessDeniedError from error
    except IntegrityError as error:
        raise InvalidRequestError(NONCE_USED) from error
    except (NoSigningKeyError, BrokenChainError, SealError) as error:
        log.exception("presentation failed", interaction=str(interaction.id))
        raise ServerError from error
    except (OperationalError, InterfaceError, SignerUnavailableError) as error:
        log.exception("presentation failed", interaction=str(interaction.id))
        raise TemporarilyUnavailableError from error
    log.info("answered", interaction=str(interaction.id), client_id=passage.relying_party.client_id)
    return answer


def refuse(passage: Passage, error: AuthorizationError, *, now: datetime) -> dict[str, str]:
    """The parameters of a negative answer; the interaction is answered with it, once."""
    interaction = passage.interaction
    _check_relying_party(passage)
    with transaction.atomic():
        _close(interaction, Interaction.Outcome.ERROR, error=error.error, now=now)
        if interaction.consent is not None and interaction.consent.decision == Consent.Decision.GRANTED:
            decisions.note_undelivered(interaction.consent.id, now=now)
        answer = refusal(error)
        if passage.return_address.posted:
            deliveries.keep(interaction, passage.return_address, answer, now=now)
    log.info("refused", interaction=str(interaction.id), error=error.error)
    return answer


def refusal(error: AuthorizationError) -> dict[str, str]:
    """The parameters of an error (RFC 6749 §4.2.2.1), with the issuer (RFC 9207 §2)."""
    return error.as_parameters() | vp_token.issuer()


def _present(passage: Passage, session: HolderSession, *, now: datetime) -> tuple[str, tuple[str, ...]]:
    """A fresh presentation of exactly what the holder said yes to, and the queries it answers."""
    _check_relying_party(passage)
    consent, selection = _agreed(passage, session, now=now)
    presentation = credentials.present(
        session.wallet.credential,
        selection.claims,
        audience=passage.relying_party.client_id,
        nonce=passage.request.nonce,
        transaction_data=[value.received for value in passage.request.transaction_data],
        reference=consent.id,
        today=localdate(consent.asked_at),
        now=now,
    )
    return presentation, selection.query_ids


def _agreed(passage: Passage, session: HolderSession, *, now: datetime) -> tuple[Consent, Selection]:
    """The holder's yes, if it was said to this request, and what it comes to, if that was shown."""
    interaction, consent = passage.interaction, passage.interaction.consent
    if authorization_request.parameters_hash(passage.parameters) != interaction.request_hash:
        raise ServerError
    if consent is None or not decisions.granted_for(
        consent, request_hash=interaction.request_hash, wallet=session.wallet
    ):
        raise AccessDeniedError
    credential = credentials.valid_credential(session.wallet, now=now)
    if credential is None or interaction.expires_at <= now:
        raise AccessDeniedError
    # The holder said yes to these claims with these values: not to what a scope has come to mean since, and
    # not to what a later identity check has found.
    selection = passage.selection(credential, today=localdate(consent.asked_at))
    shown = tuple(tuple(path) for path in consent.claims)
    if selection is None or shown != selection.claims or credential.issued_at > consent.asked_at:
        raise AccessDeniedError
    return consent, selection


def _check_relying_party(passage: Passage) -> None:
    """An answer goes only to an active relying party, and only where it is registered now."""
    party = passage.relying_party
    if party.state != RelyingParty.State.ACTIVE:
        raise UntrustedRequestError(_("This application may not ask for credentials at the moment."))
    if not passage.still_registered:  # as a redirect URI: a response URI, or a loopback one with another port
        check_return_address(passage.return_address, party)


def _close_with(answer: dict[str, str], passage: Passage, *, now: datetime) -> None:
    """Answered with a token; where it is posted, it is there to be posted from the same moment on."""
    address = passage.return_address
    with transaction.atomic() if address.posted else nullcontext():
        _close(passage.interaction, Interaction.Outcome.TOKEN, now=now)
        if address.posted:
            deliveries.keep(passage.interaction, address, answer, passage.request.recipient, now=now)


def _close(interaction: Interaction, outcome: Interaction.Outcome, *, error: str = "", now: datetime) -> None:
    """Answered, once; what was asked (an e-mail address, a payment) is not kept beyond the answer."""
    pushed = interaction.parameters.get("request_uri")
    kind = telling.kind_of(outcome)
    # Of a posted answer it is told when that has arrived: see `deliveries`.
    told = not interaction.response_uri and telling.wants(interaction.relying_party, kind)
    with transaction.atomic() if pushed or told else nullcontext():
        first = pushed is None or pushed_requests.use_up(pushed, now=now)
        if outcome == Interaction.Outcome.TOKEN and not first:
            raise InvalidRequestUriError("request_uri was used already; every request is pushed anew")
        closed = _open_interaction.run(
            id=interaction.id,
            outcome=outcome,
            error=error,
            answered_at=now,
            parameters={},
            sealed_transaction_data=None,
            errand=None,
        )
        if closed != 1:
            interaction.refresh_from_db()
            raise InteractionGoneError(interaction, own=True)
        if told:
            telling.tell_of_answer(interaction, kind, error=error, now=now)
