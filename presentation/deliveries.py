"""Posting answers to relying parties (OpenID4VP 1.0 §8.2): kept sealed, posted by one request at a time.

What is posted again is the same answer, to the byte. No transaction is open while a relying party is asked.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from enum import Enum, auto
from threading import Lock
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet

from consent import decisions
from keys.sealing import SealError, seal, unseal
from presentation.client_metadata import redirect_uris
from presentation.client_metadata.redirect_uris import RedirectUriError
from presentation.models import Delivery, Interaction, RelyingParty, ResponseURI
from presentation.outbound.calls import NotReachedError, Outbound, OutboundError
from presentation.registration import registered_uris
from presentation.responses import posted_answer
from presentation.responses.encryption import Recipient
from presentation.responses.posted_answer import CONTENT_TYPE
from presentation.responses.return_address import ReturnAddress
from wallet.limits import Limit, LimitReachedError

log = structlog.get_logger(__name__)

KEPT = timedelta(minutes=5)  # verifiers take a key binding that is not older
MOST_TRIES = 10
TAKEN_FOR = timedelta(seconds=20)  # longer than posting may take: then its process must have died

MOST_AT_ONCE = 2  # to one relying party, per process
# Anybody can send a browser here with a request that is wrong; each makes one call. Per client address.
REPORTS = Limit("reported-errors", most=60, window=timedelta(minutes=15))
_under_way: Counter[int] = Counter()
_lock = Lock()

outbound = Outbound(loopback=settings.LOOPBACK_CALLS)


class Standing(Enum):
    """How an answer that is posted stands."""

    WAITING = auto()  # it may be posted
    UNDER_WAY = auto()  # a request is posting it now
    DELIVERED = auto()
    ENDED = auto()  # it did not arrive, and is gone


def keep(
    interaction: Interaction,
    address: ReturnAddress,
    answer: dict[str, str],
    recipient: Recipient | None = None,
    *,
    now: datetime,
) -> None:
    """Seal an answer away to be posted; in the transaction that gives it."""
    body = posted_answer.form(answer, address.state, recipient)
    Delivery.objects.create(
        interaction=interaction,
        sealed_body=seal(body, context=_context("sealed_body", interaction)),
        expires_at=now + KEPT,
    )


def deliver(interaction: Interaction, *, now: datetime) -> None:
    """Post the answer, unless it has arrived, has expired, or another request is at it.

    How it went is to be read from `standing`. May take as long as `outbound.DONE_WITHIN`.
    """
    if not _may_still_go(interaction):
        give_up(interaction, now=now)
    until, before = now + TAKEN_FOR, of(interaction)
    if before is None:
        return
    free = _free(interaction, now=now).filter(tries=before.tries)
    if free.update(taken_until=until, tries=before.tries + 1, left_here=True) != 1:
        return
    mine = Delivery.objects.filter(pk=interaction.pk, taken_until=until, delivered_at=None)
    try:
        body = unseal(before.sealed_body, context=_context("sealed_body", interaction))
        onward = post(interaction.relying_party, interaction.response_uri, body)
    except (OutboundError, SealError) as error:
        nothing_sent = not isinstance(error, OutboundError) or isinstance(error, NotReachedError)
        mine.update(taken_until=None, left_here=before.left_here or not nothing_sent)
        log.warning("answer not delivered", interaction=str(interaction.id), reason=str(error))
        return
    kept = seal(onward.encode(), context=_context("sealed_onward", interaction)) if onward else b""
    mine.update(taken_until=None, delivered_at=now, sealed_body=b"", sealed_onward=kept)
    log.info("answer delivered", interaction=str(interaction.id))


def post(party: RelyingParty, response_uri: str, body: bytes) -> str | None:
    """Post a form there; where the browser is to go next, if the relying party says so.

    Raises OutboundError, for every status but 200 too.
    """
    with _lane(party):
        answer = outbound.post(
            response_uri, body, content_type=CONTENT_TYPE, headers={"Accept": "application/json"}
        )
    if answer.status != 200:
        raise OutboundError(f"It answered with status {answer.status}.")
    schemes = {uri.partition(":")[0] for uri in registered_uris(party)}
    return posted_answer.onward(
        answer.content_type, answer.body, lambda address: _may_be_followed(address, schemes)
    )


def report(
    party: RelyingParty, address: ReturnAddress, answer: dict[str, str], *, client: str, now: datetime
) -> str | None:
    """Post what is wrong with a request that was not even begun, once; gives and raises as `post` does.

    client: the network address that the limit counts by.
    """
    try:
        REPORTS.take(client, now=now)
    except LimitReachedError:
        raise NotReachedError("Too many wrong requests came from one network address.") from None
    return post(party, address.uri, posted_answer.form(answer, address.state, None))


def of(interaction: Interaction) -> Delivery | None:
    """What became of the answer; None when it is not one that is posted."""
    return Delivery.objects.filter(pk=interaction.pk).first()


def standing(delivery: Delivery, *, now: datetime) -> Standing:
    """How it stands."""
    if delivery.delivered_at is not None:
        return Standing.DELIVERED
    if not delivery.sealed_body or delivery.expires_at <= now:
        return Standing.ENDED
    if delivery.taken_until is not None and delivery.taken_until > now:
        return Standing.UNDER_WAY
    return Standing.WAITING if delivery.tries < MOST_TRIES else Standing.ENDED


def onward(delivery: Delivery, *, now: datetime) -> str | None:
    """Where the relying party sends this browser, while that is kept."""
    if not delivery.sealed_onward or delivery.expires_at <= now:
        return None
    with suppress(SealError):
        return unseal(delivery.sealed_onward, context=_context("sealed_onward", delivery)).decode()
    return None


def give_up(interaction: Interaction, *, now: datetime) -> None:
    """The holder does not want to wait: the answer is forgotten, unless it is being posted or has arrived."""
    with transaction.atomic():
        if _free(interaction, now=now).update(sealed_body=b"") == 1:
            _note_if_nothing_was_sent([interaction.pk], now=now)


def forget_expired(*, now: datetime, batch: int) -> int:
    """Empty what has expired, `batch` rows per transaction; how many."""
    forgotten = 0
    kept = ~Q(sealed_body=b"") | ~Q(sealed_onward=b"")
    rows = Delivery.objects.filter(kept, expires_at__lte=now).order_by("expires_at")
    while ids := list(rows.values_list("pk", flat=True)[:batch]):
        with transaction.atomic():
            forgotten += Delivery.objects.filter(pk__in=ids).update(sealed_body=b"", sealed_onward=b"")
            _note_if_nothing_was_sent(ids, now=now)
    return forgotten


def _may_be_followed(address: str, schemes: Collection[str]) -> bool:
    """https, or a scheme it has registered: an app's own, or http to the same machine."""
    if address.partition(":")[0] not in {"https", *schemes}:
        return False
    try:
        redirect_uris.validate(address, allow_localhost=settings.LOCALHOST_REDIRECT_URIS)
    except RedirectUriError:
        return False
    return True


def _free(interaction: Interaction, *, now: datetime) -> QuerySet[Delivery]:
    """The row, if its answer may be posted and nobody is at it."""
    rows = Delivery.objects.filter(Q(taken_until=None) | Q(taken_until__lte=now), pk=interaction.pk)
    return rows.filter(expires_at__gt=now, tries__lt=MOST_TRIES).exclude(sealed_body=b"")


def _may_still_go(interaction: Interaction) -> bool:
    return ResponseURI.objects.filter(
        relying_party=interaction.relying_party_id,
        relying_party__state=RelyingParty.State.ACTIVE,
        uri=interaction.response_uri,
    ).exists()


@contextmanager
def _lane(party: RelyingParty) -> Iterator[None]:
    """One that is slow to answer must not take all the threads of this process."""
    with _lock:
        if _under_way[party.pk] >= MOST_AT_ONCE:
            raise NotReachedError("Too many answers to it are under way.")
        _under_way[party.pk] += 1
    try:
        yield
    finally:
        with _lock:
            _under_way[party.pk] -= 1
            if not _under_way[party.pk]:
                del _under_way[party.pk]


def _note_if_nothing_was_sent(ids: Sequence[UUID], *, now: datetime) -> None:
    """Then the receipt must not say that it was shared; otherwise nobody knows, and it says so."""
    unsent = Delivery.objects.filter(pk__in=ids, delivered_at=None, left_here=False)
    for consent_id in unsent.values_list("interaction__consent", flat=True):
        if consent_id is not None:
            decisions.note_undelivered(consent_id, now=now)


def _context(column: str, row: Interaction | Delivery) -> str:
    return Delivery.SEALED[column].format(pk=row.pk)
