"""Ends attempts that were left idle or never answered, and those whose credential has expired.

After that, what the providers' own machines keep of decided attempts is erased there (`forgetting`).
"""

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from django.db.models import Q, QuerySet

from infra import runs
from wallet.identity import forgetting, progress, state_machine
from wallet.identity.batches import process
from wallet.identity.state_machine import ForbiddenMoveError, move_to
from wallet.models import Credential, IdentityVerification

State = IdentityVerification.State

IDLE = timedelta(hours=24)  # then abandoned
LONGEST_IDLE = timedelta(days=7)  # then abandoned, even if the provider could not be asked since
UNANSWERED = timedelta(hours=24)  # then an error, and the try is given back
STALE = timedelta(minutes=5)  # then the provider is asked
STALE_BEGUN = timedelta(minutes=30)


def sweep(*, now: datetime, batch: int = 500) -> Counter[str]:
    """Moves every attempt that is due; returns the number of attempts by their new state.

    Each step returns the new state, or "" if the attempt did not move.

    Reads `batch` rows at a time and moves each in a transaction of its own, so any number of sweeps may
    run at once and one may be stopped at any time.
    """
    moved: Counter[str] = Counter()
    rows = IdentityVerification.objects
    waiting = rows.filter(state__in=[State.SUBMITTED, State.PROCESSING])
    idle = rows.filter(state__in=state_machine.IDLE_STATES, changed_at__lte=now - IDLE)
    over = Credential.objects.filter(expires_at__lte=now, verification__state=State.APPROVED)
    steps: list[tuple[QuerySet[IdentityVerification], Callable[..., str]]] = [
        (_to_ask(now), _ask_in_time),
        (waiting.filter(changed_at__lte=now - UNANSWERED), _give_up),
        (idle, _abandon),
        (rows.filter(id__in=over.values("verification_id")), partial(_move, to=State.EXPIRED)),
    ]
    for due, step in steps:
        moved.update(process(due, batch, partial(step, now=now), failure="identity_check_not_swept"))
    moved["forgotten"] += forgetting.forget_decided(now=now, batch=batch)
    del moved[""]
    return +moved


def _to_ask(now: datetime) -> QuerySet[IdentityVerification]:
    """Attempts that wait for a result, also those without a return of the browser or a callback.

    An attempt from which nobody came back is asked about less often; `_abandon` asks once more.
    """
    never, stale = Q(asked_at__isnull=True), Q(asked_at__lte=now - STALE)
    waited_for = Q(state=State.PROCESSING) | Q(state=State.STARTED, returned_at__isnull=False)
    begun = Q(state=State.STARTED) & (never | Q(asked_at__lte=now - STALE_BEGUN))
    due = (waited_for & (never | stale)) | begun
    still_open = ~Q(state=State.STARTED, changed_at__lte=now - IDLE)
    return IdentityVerification.objects.filter(due, still_open, changed_at__lte=now - STALE)


def _ask_in_time(verification: IdentityVerification, *, now: datetime) -> str:
    before = verification.state
    _ask(verification, now=now)
    return verification.state if verification.state != before else ""


def _ask(verification: IdentityVerification, *, now: datetime) -> bool:
    """Asks for the result of one attempt; after an error, its end can still come by its age."""
    with runs.isolated("identity_result_not_settled", verification=str(verification.id)):
        return progress.refresh(verification, now=now, away=True)
    verification.refresh_from_db()
    return False


def _abandon(verification: IdentityVerification, *, now: datetime) -> str:
    """ABANDONED, unless the provider knows better; the state in which the attempt is then, "" if as before.

    An attempt is kept while its provider cannot be asked: it may have verified the person long since.
    """
    if verification.state == State.STARTED:
        answered = _ask(verification, now=now)
        if verification.state != State.STARTED:
            return verification.state if answered and verification.state != State.ABANDONED else ""
        if not answered and verification.changed_at > now - LONGEST_IDLE:
            return ""
    return _move(verification, to=State.ABANDONED, now=now)


def _move(verification: IdentityVerification, *, to: State, now: datetime) -> str:
    try:
        move_to(verification, to, actor="sweep", now=now, as_seen=True)
    except ForbiddenMoveError:  # the person went on, or another sweep was here
        return ""
    return to


def _give_up(verification: IdentityVerification, *, now: datetime) -> str:
    try:
        state_machine.fail(verification, actor="sweep", reason="no_answer", now=now, as_seen=True)
    except ForbiddenMoveError:
        return ""
    return State.ERROR
