"""Sends webhooks: one instance at a time calls an endpoint, and no endpoint delays another.

An instance takes the lease of an endpoint with a conditional update and sends its due events one after
another, without an open transaction. If the instance dies, the lease expires, and an event may arrive twice
with the same `webhook-id`.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.db.models import Exists, F, OuterRef, QuerySet

from infra import jobs, runs, totals
from infra.outbound import retry_after
from infra.outbound.calls import Outbound, OutboundError
from presentation.models import RelyingParty
from presentation.webhooks import signing_secrets
from presentation.webhooks.models import WebhookEndpoint, WebhookEvent

log = structlog.get_logger(__name__)

State = WebhookEvent.State
Clock = Callable[[], datetime]

GIVEN_UP = "webhook given up"  # the name of the count of them (`infra.totals`)
LEASE = timedelta(seconds=60)  # much longer than one call may take
AT_ONCE = 20  # events sent in one lease
GONE = 410  # asks to stop sending (Standard Webhooks 1.0)
DOWN = 3  # after so many failures in a row the endpoint is at fault, not the event


@dataclass(frozen=True)
class Try:
    """The result of one try. status: of the response, if any. problem: "" if the event was accepted."""

    status: int | None
    problem: str
    wait: timedelta = timedelta(0)  # from `Retry-After`
    gone: bool = False  # the endpoint wants no more webhooks


def deliver_due(*, outbound: Outbound, clock: Clock) -> int:
    """Sends all events that may be sent now; returns how many were taken."""
    give_up(now=clock())
    delivered = 0
    while not jobs.must_stop() and (endpoint := _take_lease(clock())):
        with runs.isolated("webhooks_not_sent", client_id=endpoint.relying_party.client_id):
            delivered += _serve(endpoint, outbound, clock)
    return delivered


def give_up(*, now: datetime) -> int:
    """Gives up the events whose last moment has passed; returns their number."""
    given_up = _waiting().filter(give_up_at__lte=now).update(state=State.GIVEN_UP)
    totals.add(GIVEN_UP, given_up)
    return given_up


def send_again(events: QuerySet[WebhookEvent], *, now: datetime) -> int:
    """Makes the events due now, with the same ids and all tries; returns their number.

    Leaves out the events that their relying party no longer wants.
    """
    wanted = [event for event in events.select_related("relying_party") if is_wanted(event)]
    parties = {event.relying_party_id for event in wanted}
    again = WebhookEvent.objects.filter(pk__in=[event.pk for event in wanted]).update(
        state=State.WAITING, attempts=0, due_at=now, give_up_at=now + TRIED_FOR, problem=""
    )
    # The operator has reason to believe that the endpoint works again, so forget its failures.
    resting = WebhookEndpoint.objects.filter(pk__in=parties, failures__gt=0)
    resting.update(failures=0, failing_since=None, next_call_at=now, gone_url="")
    return again


def is_wanted(event: WebhookEvent) -> bool:
    """Whether the relying party wants events of this type now."""
    party = event.relying_party
    return bool(party.webhook_url) and event.type in party.webhook_events


def callable_endpoints(now: datetime) -> QuerySet[WebhookEndpoint]:
    """The endpoints that may be called now and have due events."""
    due = _waiting().filter(relying_party=OuterRef("pk"), due_at__lte=now)
    return _open_endpoints().filter(Exists(due), next_call_at__lte=now)


def _open_endpoints() -> QuerySet[WebhookEndpoint]:
    """The endpoints of active relying parties whose address did not answer that it is gone."""
    active = WebhookEndpoint.objects.filter(relying_party__state=RelyingParty.State.ACTIVE)
    return active.exclude(relying_party__webhook_url="").exclude(gone_url=F("relying_party__webhook_url"))


def _waiting() -> QuerySet[WebhookEvent]:
    return WebhookEvent.objects.filter(state=State.WAITING)


def _take_lease(now: datetime) -> WebhookEndpoint | None:
    """An endpoint with due events, which no other instance calls until the lease expires."""
    candidates = callable_endpoints(now).select_related("relying_party").order_by("next_call_at")
    for endpoint in candidates[:50]:
        if _extend(endpoint, now):
            return endpoint
    return None


def _extend(endpoint: WebhookEndpoint, now: datetime) -> bool:
    """Takes or extends the lease; returns False if another instance has it."""
    return _set(endpoint, next_call_at=now + LEASE)


def _set(endpoint: WebhookEndpoint, **facts: object) -> bool:
    unchanged = WebhookEndpoint.objects.filter(pk=endpoint.pk, next_call_at=endpoint.next_call_at)
    if unchanged.update(**facts) != 1:
        return False
    for name, value in facts.items():
        setattr(endpoint, name, value)
    return True


def _serve(endpoint: WebhookEndpoint, outbound: Outbound, clock: Clock) -> int:
    """Sends the due events of one endpoint, until one fails; returns how many were taken."""
    waiting = _waiting().filter(relying_party=endpoint.relying_party)
    waiting.exclude(type__in=endpoint.relying_party.webhook_events).update(state=State.UNWANTED)
    due = waiting.filter(due_at__lte=clock())
    delivered = 0
    for event in due.order_by("due_at")[:AT_ONCE]:
        if jobs.must_stop():
            break
        if not _extend(endpoint, clock()):
            return delivered
        went = Try(None, "An error in the service, whose log says why.")
        with runs.isolated("webhook_failed", webhook=str(event.id)):
            went = send(event, endpoint.relying_party, outbound, clock())
        if went.problem and not _extend(endpoint, clock()):
            return delivered  # another instance has the lease, and its result counts
        _note(event, went, clock())
        if went.problem:
            _pause_endpoint(endpoint, went, clock())
            return delivered
        delivered += 1
    if not delivered:
        _set(endpoint, next_call_at=clock())
        return 0
    if endpoint.failures >= DOWN:  # it works again, so events need not wait any longer
        waiting.update(due_at=clock())
    _set(endpoint, next_call_at=clock(), failures=0, failing_since=None)
    return delivered


def send(event: WebhookEvent, relying_party: RelyingParty, outbound: Outbound, now: datetime) -> Try:
    """Signs and posts the event once; the event need not be stored."""
    signing = signing_secrets.signing(relying_party, now=now)
    if not signing:
        return Try(None, "There is no secret to sign with.")
    headers = signing_secrets.signature_headers(str(event.id), event.body, secrets=signing, now=now)
    try:
        answer = outbound.post(
            relying_party.webhook_url,
            event.body.encode(),
            content_type="application/json",
            headers=headers,
        )
    except OutboundError as error:
        return Try(None, str(error))
    if 200 <= answer.status < 300:
        return Try(answer.status, "")
    wait = retry_after.asked_to_wait(answer.status, answer.retry_after, now=now, most=LONGEST_ASKED)
    reason = f"It answered with status {answer.status}."
    return Try(answer.status, reason, wait, gone=answer.status == GONE)


def _note(event: WebhookEvent, went: Try, now: datetime) -> None:
    """Stores the result of a try, unless an operator has made the event due again meanwhile."""
    attempts = event.attempts + 1
    waits = max(event_waits(attempts, chance=secrets.SystemRandom().random()), went.wait)
    facts = {"due_at": now + waits} if went.problem else {"state": State.DELIVERED}
    WebhookEvent.objects.filter(pk=event.pk, due_at=event.due_at).update(
        **facts, attempts=attempts, tried_at=now, response_status=went.status, problem=went.problem[:200]
    )
    fields = {"webhook": str(event.id), "type": event.type, "status": went.status}
    if went.problem:
        log.warning("webhook_not_sent", **fields, problem=went.problem)
    else:
        log.info("webhook_sent", **fields)


def _pause_endpoint(endpoint: WebhookEndpoint, went: Try, now: datetime) -> None:
    """Sends nothing to the endpoint for a while after a failed try."""
    failures = endpoint.failures + 1
    waits = max(endpoint_waits(failures, chance=secrets.SystemRandom().random()), went.wait)
    since = endpoint.failing_since or now
    gone_url = endpoint.relying_party.webhook_url if went.gone else endpoint.gone_url
    _set(endpoint, next_call_at=now + waits, failures=failures, failing_since=since, gone_url=gone_url)
    if went.gone:
        log.warning("webhook_address_gone", client_id=endpoint.relying_party.client_id)


# The last one repeats until the event is given up.
_EVENT = (
    timedelta(seconds=5),
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=1),
)
_ENDPOINT_FIRST, _ENDPOINT_LONGEST = timedelta(seconds=5), timedelta(minutes=15)
LONGEST_ASKED = timedelta(hours=1)  # longest `Retry-After` that is heeded
TRIED_FOR = timedelta(days=3)


def event_waits(attempts: int, *, chance: float) -> timedelta:
    """The wait after so many failed tries. chance: a random number from 0 to 1."""
    return _spread(_EVENT[min(max(attempts, 1), len(_EVENT)) - 1], chance)


def endpoint_waits(failures: int, *, chance: float) -> timedelta:
    """The wait before the next call of an endpoint, after so many failures in a row."""
    doubled = _ENDPOINT_FIRST * 2 ** min(max(failures, 1) - 1, 16)
    return _spread(min(doubled, _ENDPOINT_LONGEST), chance)


def _spread(wait: timedelta, chance: float) -> timedelta:
    return wait * (0.8 + 0.4 * chance)
