"""Changes the status of presented credentials: of one, of all of a wallet, or of all that a key signed.

Each change is recorded with its actor and reason in the same transaction. Invalid is final; suspended is not.
"""

from datetime import datetime
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from wallet.models import StatusEntry, StatusEvent, Wallet
from wallet.status_lists.statuses import unexpired

log = structlog.get_logger(__name__)

Action = StatusEvent.Action
Subject = StatusEvent.Subject
Status = StatusEntry.Status

# valid ◄──► suspended ──► invalid, and valid ──► invalid. For each action: the allowed states, and the next.
MOVES: dict[str, tuple[frozenset[int], Status]] = {
    Action.INVALIDATED: (frozenset({Status.VALID, Status.SUSPENDED}), Status.INVALID),
    Action.SUSPENDED: (frozenset({Status.VALID}), Status.SUSPENDED),
    Action.REINSTATED: (frozenset({Status.SUSPENDED}), Status.VALID),
}
ACTOR, REASON = 150, 200  # longest, in characters
HOLDER = "holder"


class NothingToChangeError(Exception):
    """No unexpired entry is in a state that the action can change; another request may have changed it."""


def affected(entries: QuerySet[StatusEntry], action: Action) -> QuerySet[StatusEntry]:
    """The entries that the action would change."""
    return entries.filter(status__in=MOVES[action][0]).order_by()


def of_wallet(wallet: Wallet, *, now: datetime) -> QuerySet[StatusEntry]:
    """The unexpired presented credentials of a wallet."""
    return unexpired(now).filter(credential__wallet=wallet)


def change_presented(entry: StatusEntry, action: Action, *, actor: str, reason: str, now: datetime) -> None:
    """Change one presented credential. Raises NothingToChangeError."""
    rows = unexpired(now).filter(pk=entry.pk)
    change(rows, action, Subject.PRESENTED, str(entry), actor=actor, reason=reason, now=now)


def by_key_of(entry: StatusEntry, *, now: datetime) -> QuerySet[StatusEntry]:
    """The unexpired entries, not yet invalid, that the key of this entry signed."""
    return affected(unexpired(now).filter(signing_key=entry.signing_key_id), Action.INVALIDATED)


def invalidate_all_by_key_of(entry: StatusEntry, *, actor: str, reason: str, now: datetime) -> None:
    """Invalidate everything that the key of this entry signed. Raises NothingToChangeError."""
    if entry.signing_key_id is None:
        raise NothingToChangeError
    change_signed(entry.signing_key_id, Action.INVALIDATED, actor=actor, reason=reason, now=now)


def change_signed(kid: UUID, action: Action, *, actor: str, reason: str, now: datetime) -> int:
    """Change everything that a key has signed, and return the number. Raises NothingToChangeError."""
    rows = unexpired(now).filter(signing_key=kid)
    return change(rows, action, Subject.KEY, str(kid), actor=actor, reason=reason, now=now)


def change_each(rows: QuerySet[StatusEntry], action: Action, *, now: datetime, **who_and_why: str) -> None:
    """Change the presented credentials of one receipt, and record each. Raises NothingToChangeError."""
    with transaction.atomic():
        # Locked first, so that no other process changes one of them in between.
        entries = list(affected(rows, action).order_by("pk").select_for_update(of=["self"]))
        for entry in entries:
            change_presented(entry, action, now=now, **who_and_why)
    if not entries:
        raise NothingToChangeError


def take_back(wallet: Wallet, reference: UUID, *, now: datetime) -> None:
    """Invalidate, for the holder, all that was presented for `reference`. Raises NothingToChangeError."""
    rows = of_wallet(wallet, now=now).filter(reference=reference)
    change_each(rows, Action.INVALIDATED, actor=HOLDER, reason=_("Taken back by its holder."), now=now)


def change(
    rows: QuerySet[StatusEntry],
    action: Action,
    subject: Subject,
    subject_id: str,
    *,
    actor: str,
    reason: str,
    now: datetime,
) -> int:
    """Change the rows, record it, and return their number. Raises NothingToChangeError."""
    with transaction.atomic():
        changed = affected(rows, action).update(status=MOVES[action][1])
        if not changed:
            raise NothingToChangeError
        record(action, subject, subject_id, changed, actor=actor, reason=reason, now=now)
    return changed


def record(
    action: Action, subject: Subject, subject_id: str, count: int, *, actor: str, reason: str, now: datetime
) -> None:
    """Record a change; call it inside the transaction of the change."""
    said = " ".join(reason.split())[:REASON] or _("No reason was given.")
    StatusEvent.objects.create(
        action=action,
        subject=subject,
        subject_id=subject_id,
        count=count,
        actor=actor[:ACTOR],
        reason=said,
        at=now,
    )
    log.info("status_changed", action=str(action), subject=str(subject), id=subject_id, count=count)
