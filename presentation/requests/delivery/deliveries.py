"""Answers that are posted to relying parties (OpenID4VP 1.0 §8.2): stored sealed, one try at a time.

A retry posts the same bytes. No transaction is open while the relying party is called.
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from enum import Enum, auto
from math import ceil
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Q, QuerySet

from consent import decisions
from infra.outbound.calls import NotReachedError, OutboundError, UnusableAnswerError
from infra.retention import Due, pages
from infra.sealing import SealError, seal_column, unseal_column
from presentation.encryption import Recipient
from presentation.models import Delivery, Interaction, RelyingParty, ResponseURI
from presentation.requests import webhook_events
from presentation.requests.client import ReturnAddress, registered_uris
from presentation.requests.delivery import posting
from presentation.requests.delivery.posting import NotTakenError
from wallet.status_lists.statuses import all_valid

log = structlog.get_logger(__name__)

KEPT = timedelta(minutes=5)  # verifiers refuse an older key binding
MOST_TRIES = 10
TAKEN_FOR = timedelta(seconds=20)  # longer than posting may take, so the process has died


class DeliveryState(Enum):
    """The state of an answer that is posted."""

    WAITING = auto()  # it may be posted
    HELD = auto()  # it may be posted after a pause that the relying party asked for
    UNDER_WAY = auto()  # a request is posting it now
    DELIVERED = auto()
    ENDED = auto()  # it was not delivered and is erased


def store(
    interaction: Interaction,
    address: ReturnAddress,
    answer: dict[str, str],
    recipient: Recipient | None = None,
    *,
    now: datetime,
) -> None:
    """Stores the answer, sealed, to be posted; in the transaction that closes the interaction."""
    body = posting.form(answer, address.state, recipient)
    row = Delivery(interaction=interaction, expires_at=now + KEPT)
    row.sealed_body = seal_column(row, "sealed_body", body)
    row.save(force_insert=True)


def deliver(interaction: Interaction, *, checked: bool = False, now: datetime) -> None:
    """Posts the answer, unless it is delivered, has expired, must wait, or another request is posting it.

    checked: this HTTP request has just presented, and checked that the response URI is registered. `state_of`
    returns the result. A call may take as long as `outbound.calls.DONE_WITHIN`. The delivery and its webhook
    event are stored in one transaction.
    """
    if not (checked or _may_still_go(interaction, now=now)):
        give_up(interaction, now=now)
        return
    until, before = now + TAKEN_FOR, of(interaction)
    if before is None or held_for(before, now=now):
        return
    free = _free(interaction, now=now).filter(tries=before.tries)
    if free.update(taken_until=until, tries=before.tries + 1, left_here=True, refused=False) != 1:
        return
    mine = Delivery.objects.filter(pk=interaction.pk, taken_until=until, delivered_at=None)
    try:
        body = unseal_column(before, "sealed_body")
        redirect_uri = posting.post(interaction.relying_party, interaction.response_uri, body, now=now)
    except (OutboundError, SealError) as error:
        mine.update(taken_until=None, **_learnt(before, error, now=now))
        log.warning("answer_not_delivered", interaction=str(interaction.id), reason=str(error))
        return
    kept = seal_column(before, "sealed_onward", redirect_uri.encode()) if redirect_uri else b""
    with transaction.atomic():
        if mine.update(taken_until=None, delivered_at=now, sealed_body=b"", sealed_onward=kept) == 1:
            webhook_events.enqueue_arrival(before.interaction, now=now)
    log.info("answer_delivered", interaction=str(interaction.id))


def of(interaction: Interaction) -> Delivery | None:
    """The delivery of the answer; None if the answer is not posted."""
    rows = Delivery.objects.select_related("interaction__relying_party").filter(pk=interaction.pk)
    return rows.first()


def state_of(delivery: Delivery, *, now: datetime) -> DeliveryState:
    """The state of the delivery at this moment."""
    if delivery.delivered_at is not None:
        return DeliveryState.DELIVERED
    if not delivery.sealed_body or delivery.expires_at <= now:
        return DeliveryState.ENDED
    if delivery.taken_until is not None and delivery.taken_until > now:
        return DeliveryState.UNDER_WAY
    if delivery.tries >= MOST_TRIES:
        return DeliveryState.ENDED
    return DeliveryState.HELD if held_for(delivery, now=now) else DeliveryState.WAITING


def held_for(delivery: Delivery, *, now: datetime) -> int:
    """The seconds for which the relying party still asks to wait; 0 if it does not."""
    return ceil(max((delivery.held_until - now).total_seconds(), 0)) if delivery.held_until else 0


def redirect_uri_of(delivery: Delivery, *, now: datetime) -> str | None:
    """The `redirect_uri` of the relying party's response (OpenID4VP 1.0 §8.2).

    None if there is none, or it has expired, or its scheme is no longer registered.
    """
    if not delivery.sealed_onward or delivery.expires_at <= now:
        return None
    with suppress(SealError):
        redirect_uri = unseal_column(delivery, "sealed_onward").decode()
        registered = registered_uris(delivery.interaction.relying_party)
        return redirect_uri if posting.may_be_followed(redirect_uri, registered) else None
    return None


def give_up(interaction: Interaction, *, now: datetime) -> None:
    """Erases the answer because the holder gave up, unless it is delivered or being posted."""
    with transaction.atomic():
        if _free(interaction, now=now).update(sealed_body=b"") == 1:
            _note_if_nothing_was_sent([interaction.pk], now=now)


def forget_expired(*, now: datetime, batch: int) -> int:
    """Erases expired answers, `batch` rows per transaction; returns their number."""
    forgotten = 0
    (due,) = expired(now)
    for page in pages(due.rows, by=due.by, batch=batch):
        ids = list(page.values_list("pk", flat=True))
        with transaction.atomic():
            forgotten += Delivery.objects.filter(pk__in=ids).update(sealed_body=b"", sealed_onward=b"")
            _note_if_nothing_was_sent(ids, now=now)
    return forgotten


def expired(now: datetime) -> list[Due]:
    """What `forget_expired` erases."""
    kept = ~Q(sealed_body=b"") | ~Q(sealed_onward=b"")
    return [Due(Delivery.objects.filter(kept, expires_at__lte=now), "expires_at", now)]


def _free(interaction: Interaction, *, now: datetime) -> QuerySet[Delivery]:
    """The row, if its answer may be posted and no other request is posting it."""
    rows = Delivery.objects.filter(Q(taken_until=None) | Q(taken_until__lte=now), pk=interaction.pk)
    return rows.filter(expires_at__gt=now, tries__lt=MOST_TRIES).exclude(sealed_body=b"")


def _may_still_go(interaction: Interaction, *, now: datetime) -> bool:
    """Whether the response URI is still registered, and a presentation in the answer still valid."""
    registered = ResponseURI.objects.filter(
        relying_party=interaction.relying_party_id,
        relying_party__state=RelyingParty.State.ACTIVE,
        uri=interaction.response_uri,
    )
    return registered.exists() and (
        interaction.outcome != Interaction.Outcome.TOKEN or _presentation_is_valid(interaction, now=now)
    )


def _presentation_is_valid(interaction: Interaction, *, now: datetime) -> bool:
    consent = interaction.consent
    if consent is None or consent.wallet_id is None:  # the wallet is closed
        return False
    return all_valid(consent.wallet_id, consent.id, now=now)


def _learnt(before: Delivery, error: Exception, *, now: datetime) -> dict[str, Any]:
    """The columns to update after a try that failed."""
    nothing_sent = not isinstance(error, OutboundError) or isinstance(error, NotReachedError)
    facts: dict[str, Any] = {
        "left_here": before.left_here or not nothing_sent,
        "refused": isinstance(error, UnusableAnswerError),
    }
    if isinstance(error, NotTakenError):
        facts["held_until"] = now + error.wait
        if error.gone:  # there is no use in another try
            facts["sealed_body"] = b""
    return facts


def _note_if_nothing_was_sent(ids: Sequence[UUID], *, now: datetime) -> None:
    """Marks the consent undelivered only if no byte was sent. Otherwise the answer may have arrived."""
    unsent = Delivery.objects.filter(pk__in=ids, delivered_at=None, left_here=False)
    consents = unsent.exclude(interaction__consent=None).values_list("interaction__consent", flat=True)
    decisions.note_undelivered(*consents, now=now)
