"""Ends an interaction with a token or an error, once, from rows that this HTTP request has read.

`answer` goes step by step: the yes is stored, the presentation gets an index in a status list, and the
interaction is closed, by a statement each. On PostgreSQL, where a request needs no more than that,
`answer_at_once` makes the presentation first, for an index that was free, and then `fast_path.writing` does
all three in one statement. If that cannot be, or another request was first, it goes on step by step.

Both count what came of the request, and add it to the line of the request in the log.
"""

from collections.abc import Collection, Sequence
from contextlib import nullcontext
from datetime import datetime

import structlog
from django.db import IntegrityError, InterfaceError, OperationalError, connection, transaction
from django.db.models import QuerySet

from consent import decisions
from consent.decisions import Paths
from consent.models import Consent
from infra import log_context
from keys.issuer_key import CANNOT_SIGN
from keys.private_keys.signer import SignerUnavailableError
from presentation.errors import (
    AccessDeniedError,
    AuthorizationError,
    InvalidRequestError,
    InvalidRequestUriError,
    ServerError,
    TemporarilyUnavailableError,
    UntrustedRequestError,
)
from presentation.models import Interaction
from presentation.requests import counters, webhook_events
from presentation.requests.authorization_request import parameters_hash
from presentation.requests.delivery import deliveries
from presentation.requests.fast_path.reading import StatusIndex
from presentation.requests.fast_path.writing import write_answer
from presentation.requests.interactions import InteractionGoneError, OpenInteraction, nonce_used, our_fault
from presentation.requests.next_step import Match, NextStep, Step, next_step
from presentation.requests.receiving import pushed_requests
from presentation.requests.wire_formats.registered import wire_format_of
from presentation.requests.wire_formats.wire_format import Presented
from presentation.transaction_data import entries
from wallet.account import pairwise
from wallet.credential import credentials, days
from wallet.credential.claims import SUBJECT, ClaimPath
from wallet.models import HolderSession

log = structlog.get_logger(__name__)
CANNOT_ANSWER = (
    AuthorizationError,
    UntrustedRequestError,
    credentials.CredentialNotUsableError,
    SignerUnavailableError,
    *CANNOT_SIGN,
)


def answer(
    opened: OpenInteraction, ready: NextStep, session: HolderSession | None = None, *, now: datetime
) -> dict[str, str]:
    """Closes the interaction with a token and returns the parameters of the answer.

    ready: the step ANSWER, computed in this HTTP request for the holder of `session` from rows that it read.
    If several requests race, the conditional statement that closes the interaction lets one win; the others
    discard their token.
    Raises `AuthorizationError` (the interaction is then still open: see `refuse`), `UntrustedRequestError` if
    the return address is no longer registered, `InteractionGoneError` if another request was first.
    """
    row, party = opened.row, opened.relying_party
    try:
        with our_fault("presentation_failed", interaction=str(row.id)):
            address = opened.checked_address
            match, consent = presentable(opened, ready)
            wanted = what_to_present(opened, match, consent, decisions.shared_by(consent), now=now)
            presentations = credentials.present(match.credential, wanted, now=now)
            presented = _presented(opened, match, wanted, presentations, session)
            answer = wire_format_of(party).answer(presented, now=now)
            # In one transaction: its code, or the delivery of a posted answer, is stored with the end.
            with transaction.atomic() if address.posted or answer.code else nullcontext():
                if answer.code:
                    decisions.let_collect(consent.id, until=answer.code.until)
                _close(row, Interaction.Outcome.TOKEN, now=now)
                if answer.code:
                    answer.code.row.save(force_insert=True)
                if address.posted:
                    deliveries.store(row, address, answer.parameters, opened.request.recipient, now=now)
    except credentials.CredentialNotUsableError as error:
        raise AccessDeniedError from error
    except InvalidRequestUriError:  # the handle was used
        _end_as_twin(row, now=now)
        raise
    except InteractionGoneError:
        if row.outcome == Interaction.Outcome.ERROR:  # a refusal came after the yes
            decisions.note_undelivered(consent.id, now=now)
        raise
    except IntegrityError as error:
        if not _nonce_gave_token(row):
            log.exception("presentation_failed", interaction=str(row.id))
            raise ServerError from error
        _end_as_twin(row, now=now)
        raise nonce_used(opened.parameters) from error
    except (OperationalError, InterfaceError) as error:
        log.exception("presentation_failed", interaction=str(row.id))
        raise TemporarilyUnavailableError from error
    counters.count_shared(party.client_id)
    log_context.bind(outcome="answered", interaction=str(row.id), client_id=party.client_id)
    return answer.parameters


def _end_as_twin(row: Interaction, *, now: datetime) -> None:
    """Ends an interaction whose request gave a token in the same browser, because its page was loaded twice.

    An error would contradict that token, so none is sent, nor a webhook. Raises `InteractionGoneError` then.
    """
    twins = _with_token(row).filter(browser=row.browser, request_hash=row.request_hash)
    if twin := twins.first():
        with transaction.atomic():
            if row.consent is not None:
                decisions.note_undelivered(row.consent.id, now=now)
            _mark_answered(row, Interaction.Outcome.ERROR, error=InvalidRequestError.error, now=now)
        raise InteractionGoneError(twin, own=True)


def _with_token(row: Interaction) -> QuerySet[Interaction]:
    """The interaction in which this nonce gave this relying party a token."""
    same = Interaction.objects.filter(relying_party=row.relying_party, nonce_digest=row.nonce_digest)
    return same.filter(outcome=Interaction.Outcome.TOKEN)


def _nonce_gave_token(row: Interaction) -> bool:
    return _with_token(row).exists()


def refuse(opened: OpenInteraction, error: AuthorizationError, *, now: datetime) -> dict[str, str]:
    """Closes the interaction with an error and returns the parameters of the answer; raises as `answer`."""
    row, address = opened.row, opened.checked_address
    with transaction.atomic():
        if row.consent_id is not None:  # a yes that comes now is too late, and one that came shares nothing
            decisions.withdraw(row.consent_id, now=now)
            decisions.note_undelivered(row.consent_id, now=now)
        _close(row, Interaction.Outcome.ERROR, error=error.error, now=now)
        answer = wire_format_of(opened.relying_party).error(error)
        if address.posted:
            deliveries.store(row, address, answer, now=now)
    counters.count_error(opened.relying_party.client_id, error.error)
    log_context.bind(
        outcome="refused",
        interaction=str(row.id),
        client_id=opened.relying_party.client_id,
        error=error.error,
    )
    return answer


Wanted = list[tuple[list[ClaimPath], credentials.Binding]]  # of each presentation


def _presented(
    opened: OpenInteraction,
    match: Match,
    wanted: Wanted,
    presentations: Sequence[str],
    session: HolderSession | None,
) -> Presented:
    """What the answer is made of. The number to recognise the holder by is the same in all presentations."""
    _paths, binding = wanted[0]
    return Presented(
        interaction=opened.row,
        request=opened.request,
        selection=match.selection,
        presentations=presentations,
        subject=binding.subject,
        session=session,
    )


def presentable(opened: OpenInteraction, ready: NextStep) -> tuple[Match, Consent]:
    """What may be presented, and the consent that covers it; raises `AuthorizationError`.

    The consent covers the claims and values that the holder saw, not those of a scope that was redefined or
    of an identity that was verified since.
    """
    row, consent, match = opened.row, opened.row.consent, ready.match
    if parameters_hash(opened.parameters) != row.request_hash:
        raise ServerError
    if ready.step is not Step.ANSWER or consent is None or match is None:
        raise AccessDeniedError
    optional = tuple(tuple(path) for path in consent.optional_claims)
    shown = tuple(tuple(path) for path in consent.claims)
    if (shown, optional) != (match.selection.claims, match.selection.optional):
        raise AccessDeniedError
    if match.credential.issued_at > consent.asked_at:
        raise AccessDeniedError
    return match, consent


def what_to_present(
    opened: OpenInteraction, match: Match, consent: Consent, shared: Collection[ClaimPath], *, now: datetime
) -> Wanted:
    """For each presentation its claims, and what it is bound to. shared: the claims of all together.

    Transaction data is bound to one presentation: see `entries.authorising`. The number to recognise the
    holder by is that of the sector that the holder saw; it is made if they share it for the first time.
    """
    subject = ""
    if SUBJECT in shared:
        subject = pairwise.of(match.credential.wallet, consent.requester["sector"], now=now)
    wanted, answered = [], match.selection.query_ids
    for query_ids, claims in match.selection.parts.items():
        binding = credentials.Binding(
            audience=opened.parameters.values["client_id"],  # with its prefix, if it has one
            nonce=opened.request.nonce,
            transaction_data=[
                value.received
                for value in opened.request.transaction_data
                if entries.authorising(value.credential_ids, answered) in query_ids
            ],
            reference=consent.id,
            today=days.as_asked(consent.asked_at, consent.minutes_ahead),
            subject=subject,
        )
        wanted.append(([path for path in claims if path in shared], binding))
    return wanted


def notifies(interaction: Interaction) -> bool:
    """Whether closing it sends a webhook. For a posted answer that is sent after delivery (`deliveries`)."""
    return bool(interaction.relying_party.webhook_events and not interaction.response_uri)


def _mark_answered(
    interaction: Interaction, outcome: Interaction.Outcome, *, error: str = "", now: datetime
) -> bool:
    """Whether this was the first to end the interaction. Its parameters, which hold personal data, go."""
    unanswered = Interaction.objects.filter(id=interaction.id, outcome=Interaction.Outcome.NONE)
    changed = unanswered.update(
        outcome=outcome,
        error=error,
        answered_at=now,
        parameters={},
        sealed_transaction_data=None,
        redirect_task=None,
    )
    return changed == 1


def _close(interaction: Interaction, outcome: Interaction.Outcome, *, error: str = "", now: datetime) -> None:
    """Closes the interaction once and erases its parameters, which hold personal data."""
    pushed = interaction.parameters.get("request_uri")
    notified = notifies(interaction)
    with transaction.atomic() if pushed or notified else nullcontext():
        first = pushed is None or pushed_requests.use_up(pushed, now=now)
        if outcome == Interaction.Outcome.TOKEN and not first:
            raise InvalidRequestUriError("request_uri was used already; every request is pushed anew")
        if not _mark_answered(interaction, outcome, error=error, now=now):
            interaction.refresh_from_db()
            raise InteractionGoneError(interaction, own=True)
        if notified:
            webhook_events.enqueue_answer(interaction, outcome, error=error, now=now)


def answer_at_once(
    opened: OpenInteraction,
    session: HolderSession,
    index: StatusIndex | None,
    *,
    switched_on: Paths,
    now: datetime,
) -> dict[str, str] | None:
    """Stores that the holder shares, closes the interaction, and returns the parameters of the answer.

    index: that `read_interaction_rows` found free. switched_on: the optional claims that the holder shares.
    None if `answer` has to go on step by step, as always on SQLite and where closing writes other rows too:
    nothing is stored then, or the yes, or the yes and the index. Raises `TemporarilyUnavailableError` if the
    connection to the database is lost: then nobody knows what is stored.
    """
    row, party = opened.row, opened.relying_party
    wire_format = wire_format_of(party)
    if wire_format.collected:
        return None
    if index is None or opened.return_address.posted or notifies(row) or connection.vendor != "postgresql":
        return None
    try:
        ready = next_step(opened, session, now=now, agrees=True)
        if ready.step is not Step.ANSWER:
            return None
        match, consent = presentable(opened, ready)
        shared = decisions.shared(consent.claims, consent.optional_claims, switched_on)
        wanted = what_to_present(opened, match, consent, shared, now=now)
        if len(wanted) != 1:  # each needs a place in a status list
            return None
        presentation, term = credentials.present_at(index, match.credential, *wanted[0], now=now)
        presented = _presented(opened, match, wanted, [presentation], session)
        answer = wire_format.answer(presented, now=now)
        opened.checked_address  # noqa: B018 (raises if it is no longer registered)
        if not write_answer(row, match.credential, index, term, switched_on=switched_on, now=now):
            return None
    except CANNOT_ANSWER:  # `answer` meets the same error, and reports it
        return None
    except (OperationalError, InterfaceError) as error:
        log.exception("presentation_failed", interaction=str(row.id))
        raise TemporarilyUnavailableError from error
    counters.count_shared(party.client_id)
    log_context.bind(outcome="answered", interaction=str(row.id), client_id=party.client_id)
    return answer.parameters
