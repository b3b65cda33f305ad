"""Sending webhooks: each endpoint by one instance at a time, none held up by another, nothing forgotten.

An instance takes an endpoint's turn with a conditional update and sends what is due there, one after another,
with no transaction open. Killed in between, its turn ends by itself; then an event may arrive twice, with the
same `webhook-id`.
"""

import secrets
from collections.abc import Callable
from datetime import datetime, timedelta

import structlog
from django.db.models import Exists, OuterRef, QuerySet

from presentation.models import RelyingParty
from presentation.outbound.calls import Outbound, OutboundError
from presentation.webhooks import pace, signature, signing_secrets
from presentation.webhooks.models import WebhookEndpoint, WebhookEvent

log = structlog.get_logger(__name__)

State = WebhookEvent.State
Clock = Callable[[], datetime]

TURN = timedelta(seconds=60)  # much longer than one call may take
AT_ONCE = 20  # events sent in one turn
DOWN = 3  # failures in a row after which it was the endpoint, not the event


def deliver_due(*, outbound: Outbound, clock: Clock) -> int:
    """Send everything that is due, until nothing is left that may be sent now; how many were delivered."""
    give_up(now=clock())
    delivered = 0
    while endpoint := _take_turn(clock()):
        delivered += _serve(endpoint, outbound, clock)
    return delivered


def give_up(*, now: datetime) -> int:
    """End the tries whose time is over; how many."""
    return _waiting().filter(give_up_at__lte=now).update(state=State.GIVEN_UP)


def send_again(events: QuerySet[WebhookEvent], *, now: datetime) -> int:
    """Try these again from now on, as if they had just happened, under the same id; how many."""
    parties = set(events.values_list("relying_party", flat=True))
    again = events.update(
        state=State.WAITING, attempts=0, due_at=now, give_up_at=now + pace.TRIED_FOR, problem=""
    )
    # Whoever asks for it has reason to think that the endpoint is well again.
    resting = WebhookEndpoint.objects.filter(pk__in=parties, failures__gt=0)
    resting.update(failures=0, failing_since=None, next_call_at=now)
    return again


def callable_endpoints(now: datetime) -> QuerySet[WebhookEndpoint]:
    """Those of active relying parties that something is due for, if they may be called now."""
    due = _waiting().filter(relying_party=OuterRef("pk"), due_at__lte=now)
    return WebhookEndpoint.objects.filter(
        Exists(due), next_call_at__lte=now, relying_party__state=RelyingParty.State.ACTIVE
    ).exclude(relying_party__webhook_url="")


def _waiting() -> QuerySet[WebhookEvent]:
    return WebhookEvent.objects.filter(state=State.WAITING)


def _take_turn(now: datetime) -> WebhookEndpoint | None:
    """An endpoint that nobody else calls until the turn is over."""
    candidates = callable_endpoints(now).select_related("relying_party").order_by("next_call_at")
    for endpoint in candidates[:50]:
        if _extend(endpoint, now):
            return endpoint
    return None


def _extend(endpoint: WebhookEndpoint, now: datetime) -> bool:
    """Take or keep the turn; False when it is somebody else's."""
    return _set(endpoint, next_call_at=now + TURN)


def _set(endpoint: WebhookEndpoint, **facts: object) -> bool:
    unchanged = WebhookEndpoint.objects.filter(pk=endpoint.pk, next_call_at=endpoint.next_call_at)
    if unchanged.update(**facts) != 1:
        return False
    for name, value in facts.items():
        setattr(endpoint, name, value)
    return True


def _serve(endpoint: WebhookEndpoint, outbound: Outbound, clock: Clock) -> int:
    """Send what is due there, until one fails; how many were delivered."""
    due = _waiting().filter(relying_party=endpoint.relying_party, due_at__lte=clock())
    delivered = 0
    for event in due.order_by("due_at")[:AT_ONCE]:
        if not _extend(endpoint, clock()):
            return delivered
        status, problem = _send(event, endpoint.relying_party, outbound, clock())
        _note(event, status, problem, clock())
        if problem:
            _rest(endpoint, clock())
            return delivered
        delivered += 1
    if endpoint.failures >= DOWN:  # it is back: nothing waits any longer for what was not its own fault
        _waiting().filter(relying_party=endpoint.relying_party).update(due_at=clock())
    _set(endpoint, next_call_at=clock(), failures=0, failing_since=None)
    return delivered


def _send(
    event: WebhookEvent, relying_party: RelyingParty, outbound: Outbound, now: datetime
) -> tuple[int | None, str]:
    """The status of the answer, if there was one, and what was wrong, if anything."""
    signing = signing_secrets.signing(relying_party, now=now)
    if not signing:
        return None, "There is no secret to sign with."
    headers = signature.headers(str(event.id), event.body, secrets=signing, now=now)
    try:
        answer = outbound.post(
            relying_party.webhook_url,
            event.body.encode(),
            content_type="application/json",
            headers=headers,
        )
    except OutboundError as error:
        return None, str(error)
    well = 200 <= answer.status < 300
    return answer.status, "" if well else f"It answered with status {answer.status}."


def _note(event: WebhookEvent, status: int | None, problem: str, now: datetime) -> None:
    """Write down how a try went; who has it sent again meanwhile has the last word."""
    attempts = event.attempts + 1
    waits = pace.event_waits(attempts, chance=secrets.SystemRandom().random())
    facts = {"due_at": now + waits} if problem else {"state": State.DELIVERED}
    WebhookEvent.objects.filter(pk=event.pk, due_at=event.due_at).update(
        **facts, attempts=attempts, tried_at=now, response_status=status, problem=problem[:200]
    )
    log.info("webhook_sent", webhook=str(event.id), type=event.type, status=status, problem=problem)


def _rest(endpoint: WebhookEndpoint, now: datetime) -> None:
    failures = endpoint.failures + 1
    waits = pace.endpoint_waits(failures, chance=secrets.SystemRandom().random())
    since = endpoint.failing_since or now
    _set(endpoint, next_call_at=now + waits, failures=failures, failing_since=since)
