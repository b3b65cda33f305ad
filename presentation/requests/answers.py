"""How an interaction ends: with a token or an error, once. What may have changed was read just before."""

import json
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import datetime

import structlog
from django.conf import settings
from django.db import IntegrityError, InterfaceError, OperationalError, transaction
from django.utils.timezone import localdate

from consent import decisions
from consent.models import Consent
from infra.database.prepared_statements import PreparedUpdate
from infra.sealing import SealError
from keys.certificates.chain import BrokenChainError
from keys.issuer_key import NoSigningKeyError
from keys.private_keys.signer import SignerUnavailableError
from presentation.errors import (
    AccessDeniedError,
    AuthorizationError,
    InvalidRequestError,
    InvalidRequestUriError,
    ServerError,
    TemporarilyUnavailableError,
)
from presentation.models import Interaction, RelyingParty
from presentation.requests.authorization_request import parameters_hash
from presentation.requests.carriers import pushed_requests
from presentation.requests.client import ReturnAddress
from presentation.requests.delivery import deliveries
from presentation.requests.interactions import NONCE_USED, InteractionGoneError, OpenInteraction
from presentation.requests.next_step import NextStep, Step
from presentation.webhooks import telling
from wallet import credentials

log = structlog.get_logger(__name__)
_unanswered = PreparedUpdate(
    lambda value: Interaction.objects.filter(id=value("id"), outcome=Interaction.Outcome.NONE),
    "outcome",
    "error",
    "answered_at",
    "parameters",
    "sealed_transaction_data",
    "errand",
)


def answer(opened: OpenInteraction, ready: NextStep, *, now: datetime) -> dict[str, str]:
    """The parameters of a positive answer; the interaction is answered with it, once.

    ready: the step ANSWER, computed in this HTTP request. Everything it rests on was read with this request.
    The conditional statement that closes the interaction decides a race, so what another request made
    meanwhile is thrown away. Raises `AuthorizationError` (and then nothing is answered yet: see `refuse`),
    `UntrustedRequestError` when the answer may not be redirected any more, `InteractionGoneError` when
    another tab was first.
    """
    row, party = opened.row, opened.relying_party
    try:
        address = opened.checked_address
        presentation, query_ids = _present(opened, ready, now=now)
        answer = _with_token(presentation, query_ids, RelyingParty.WireFormat(party.wire_format))
        _close_with(answer, opened, address, now=now)
    except credentials.CredentialNotUsableError as error:
        raise AccessDeniedError from error
    except IntegrityError as error:
        raise InvalidRequestError(NONCE_USED) from error
    except (NoSigningKeyError, BrokenChainError, SealError) as error:
        log.exception("presentation_failed", interaction=str(row.id))
        raise ServerError from error
    except (OperationalError, InterfaceError, SignerUnavailableError) as error:
        log.exception("presentation_failed", interaction=str(row.id))
        raise TemporarilyUnavailableError from error
    log.info("answered", interaction=str(row.id), client_id=party.client_id)
    return answer


def refuse(opened: OpenInteraction, error: AuthorizationError, *, now: datetime) -> dict[str, str]:
    """The parameters of a negative answer; the interaction is answered with it, once."""
    row, address = opened.row, opened.checked_address
    with transaction.atomic():
        _close(row, Interaction.Outcome.ERROR, error=error.error, now=now)
        if row.consent is not None and row.consent.decision == Consent.Decision.GRANTED:
            decisions.note_undelivered(row.consent.id, now=now)
        answer = refusal(error)
        if address.posted:
            deliveries.keep(row, address, answer, now=now)
    log.info("refused", interaction=str(row.id), error=error.error)
    return answer


def refusal(error: AuthorizationError) -> dict[str, str]:
    """The parameters of an error (RFC 6749 §4.2.2.1), with the issuer (RFC 9207 §2)."""
    return error.as_parameters() | issuer()


def issuer() -> dict[str, str]:
    """`iss` (RFC 9207 §2). Encrypted answers and `vp_token`s in the contract's own format go without."""
    return {"iss": settings.BASE_URL}


def _with_token(
    presentation: str, query_ids: Sequence[str], wire_format: RelyingParty.WireFormat
) -> dict[str, str]:
    """`vp_token`: the SD-JWT VC itself (the contract), or a JSON object (OpenID4VP 1.0 §8.1).

    `query_ids` are the credential queries it answers: several scopes may name the same credential, and
    then one presentation stands under each id.
    """
    if wire_format == RelyingParty.WireFormat.STRING:
        return {"vp_token": presentation}
    by_query = {query_id: [presentation] for query_id in query_ids}
    return {"vp_token": json.dumps(by_query, separators=(",", ":")), **issuer()}


def _present(opened: OpenInteraction, ready: NextStep, *, now: datetime) -> tuple[str, tuple[str, ...]]:
    """A fresh presentation of exactly what the holder said yes to, and the queries it answers."""
    row, consent, match = opened.row, opened.row.consent, ready.match
    if parameters_hash(opened.parameters) != row.request_hash:
        raise ServerError
    if ready.step is not Step.ANSWER or consent is None or match is None:
        raise AccessDeniedError
    # The holder said yes to these claims with these values: not to what a scope has come to mean since, and
    # not to what a later identity check has found.
    shown, credential = tuple(tuple(path) for path in consent.claims), match.credential
    if shown != match.selection.claims or credential.issued_at > consent.asked_at:
        raise AccessDeniedError
    presentation = credentials.present(
        credential,
        match.selection.claims,
        audience=opened.relying_party.client_id,
        nonce=opened.request.nonce,
        transaction_data=[value.received for value in opened.request.transaction_data],
        reference=consent.id,
        today=localdate(consent.asked_at),
        now=now,
    )
    return presentation, match.selection.query_ids


def _close_with(
    answer: dict[str, str], opened: OpenInteraction, address: ReturnAddress, *, now: datetime
) -> None:
    """Answered with a token; where it is posted, it is there to be posted from the same moment on."""
    with transaction.atomic() if address.posted else nullcontext():
        _close(opened.row, Interaction.Outcome.TOKEN, now=now)
        if address.posted:
            deliveries.keep(opened.row, address, answer, opened.request.recipient, now=now)


def _close(interaction: Interaction, outcome: Interaction.Outcome, *, error: str = "", now: datetime) -> None:
    """Answered, once; what was asked (an e-mail address, a payment) is not kept beyond the answer."""
    pushed = interaction.parameters.get("request_uri")
    kind = telling.kind_of(outcome)
    # For a posted answer the webhook is sent after delivery (`deliveries`), not here.
    told = not interaction.response_uri and telling.wants(interaction.relying_party, kind)
    with transaction.atomic() if pushed or told else nullcontext():
        first = pushed is None or pushed_requests.use_up(pushed, now=now)
        if outcome == Interaction.Outcome.TOKEN and not first:
            raise InvalidRequestUriError("request_uri was used already; every request is pushed anew")
        closed = _unanswered.run(
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
