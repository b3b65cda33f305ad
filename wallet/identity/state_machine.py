"""The state machine of one attempt to verify a holder's identity, from its begin to the decision.

                  start                submit                      result
    (none) ─► CREATED ─► STARTED ─► SUBMITTED ─► PROCESSING ─┬─► APPROVED ─(validity ends, replaced)─► EXPIRED
                 │       ▲ │ ▲          │                    ├─► DECLINED   (too many tries, or for good)
                 │       │ │ └ RESUBMIT ◄────────────────────┤
                 │       │ │      │     │                    ├─► REVIEW ─► APPROVED | RESUBMIT | DECLINED
                 │       └─┼──────┼─────┴──► ERROR ◄─────────┤   (an operator); and ERROR ─► STARTED,
                 │         │      │                          │   which charges no try
                 ├─────────┴──────┴── idle ─► ABANDONED      │
                 └─────────┴──────┴── the person, or NotHere ┴─► CANCELLED

DECLINED, ABANDONED, CANCELLED and EXPIRED are final. `move_to` is the only way from state to state.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import structlog
from django.contrib.auth.models import AbstractUser
from django.db import transaction

from infra.limits import Limit
from infra.operations import WrongStateError
from wallet.credential.claims import Identity
from wallet.credential.evidence import Evidence
from wallet.identity import enrollment, sealed_findings
from wallet.models import IdentityVerification, IdentityVerificationTransition, RedirectTask, Wallet

log = structlog.get_logger(__name__)
State = IdentityVerification.State

# The diagram above, as data.
MOVES: dict[State, frozenset[State]] = {
    State.CREATED: frozenset({State.STARTED, State.ABANDONED, State.CANCELLED}),
    State.STARTED: frozenset({State.SUBMITTED, State.ABANDONED, State.CANCELLED}),
    State.SUBMITTED: frozenset({State.PROCESSING, State.ERROR}),
    State.PROCESSING: frozenset(
        {State.APPROVED, State.RESUBMIT, State.DECLINED, State.REVIEW, State.ERROR, State.CANCELLED}
    ),
    State.RESUBMIT: frozenset({State.STARTED, State.ABANDONED, State.CANCELLED}),
    State.REVIEW: frozenset({State.APPROVED, State.RESUBMIT, State.DECLINED}),
    State.APPROVED: frozenset({State.EXPIRED}),
    State.ERROR: frozenset({State.STARTED}),
    **dict.fromkeys((State.DECLINED, State.ABANDONED, State.CANCELLED, State.EXPIRED), frozenset()),
}
FINAL = frozenset(state for state, moves in MOVES.items() if not moves)
OPEN = frozenset(State) - FINAL - {State.APPROVED, State.ERROR}
IDLE_STATES = (State.CREATED, State.STARTED, State.RESUBMIT)
WAITING = frozenset({State.STARTED, State.PROCESSING})  # a result of the provider is acted on
WITH_MEMORY = frozenset({State.STARTED, State.SUBMITTED, State.PROCESSING, State.RESUBMIT})

SUBMISSIONS = Limit.from_settings("identity-submissions")  # per wallet
SUBMISSIONS_CAP = 9  # per attempt


class ForbiddenMoveError(WrongStateError):
    """The attempt cannot move from its present state to the wanted one."""

    def __init__(self, before: str, after: str) -> None:
        super().__init__(f"{before} → {after}")


def submit(verification: IdentityVerification, *, now: datetime) -> None:
    """Records that the person has submitted what the provider needs, and charges one try.

    Raises `limits.LimitReachedError` or `ForbiddenMoveError`, and then nothing has moved.
    """
    with transaction.atomic():
        move_to(verification, State.SUBMITTED, actor="holder", now=now, charge=+1)
        SUBMISSIONS.take(str(verification.wallet_id), now=now)
        move_to(verification, State.PROCESSING, actor="provider", now=now)


def fail(
    verification: IdentityVerification, *, actor: str, reason: str, now: datetime, as_seen: bool = False
) -> None:
    """Moves the attempt to ERROR and gives the try back: the provider failed, not the person."""
    with transaction.atomic():
        submitted_at = verification.changed_at
        move_to(verification, State.ERROR, actor=actor, reason=reason, now=now, charge=-1, as_seen=as_seen)
        SUBMISSIONS.give_back(str(verification.wallet_id), taken_at=submitted_at)


def create(
    wallet: Wallet, redirect_task: RedirectTask, *, provider: str, now: datetime
) -> IdentityVerification:
    """Creates an attempt. Raises `IntegrityError` if the wallet has an open one; see `attempts`."""
    with transaction.atomic():
        verification = IdentityVerification.objects.create(
            wallet=wallet,
            redirect_task=redirect_task,
            came_from=redirect_task.on_behalf_of,
            begin_again=redirect_task.begin_again,
            provider=provider,
            created_at=now,
            changed_at=now,
        )
        write_log(verification, "", actor="holder", reason="", now=now)
        return verification


def cancel(verification: IdentityVerification, *, now: datetime) -> None:
    """Ends the attempt because the person stops. Raises `ForbiddenMoveError` once something was submitted."""
    with transaction.atomic():
        lock(verification)
        if verification.state not in IDLE_STATES:
            raise ForbiddenMoveError(verification.state, State.CANCELLED)
        move_to(verification, State.CANCELLED, actor="holder", now=now)


def move_to(
    verification: IdentityVerification,
    to: State,
    *,
    actor: str,
    now: datetime,
    reason: str = "",
    note: str = "",
    charge: int = 0,
    as_seen: bool = False,
    **changes: Any,
) -> None:
    """Moves an attempt to another state and writes that to its log. Nothing else changes the state.

    Locks the row and reads it anew, so of two concurrent moves the second sees the state after the first.
    actor: "holder", "provider", "sweep" or an operator's name. reason: a key of `findings.REASONS`, shown
    to the person. note: what the log says, if it should say more. charge: submissions to add.
    as_seen: move only if nothing has happened since `verification` was read.
    Raises `ForbiddenMoveError`.
    """
    seen = (verification.state, verification.changed_at)
    with transaction.atomic():
        lock(verification)
        before = State(verification.state)
        if to not in MOVES[before] or (as_seen and seen != (verification.state, verification.changed_at)):
            raise ForbiddenMoveError(before, to)
        changes = {"sealed_claims": None, **changes, "state": to, "reason": reason, "changed_at": now}
        changes["notice_due"] = ""  # of the state before
        if to not in WITH_MEMORY:
            changes["sealed_memory"] = None
        if to != State.REVIEW:
            changes |= {"claimed_by": None, "claimed_at": None}
        else:  # what was proposed in an earlier review was about something else
            changes["proposed_by"] = None
        changes["submissions"] = verification.submissions + charge
        for name, value in changes.items():
            setattr(verification, name, value)
        verification.save(update_fields=list(changes))
        write_log(verification, before, actor=actor, reason=note or reason, now=now)
    log.info(
        "identity_verification_moved", verification=str(verification.id), before=before.value, after=to.value
    )


def approve_as(
    verification: IdentityVerification,
    identity: Identity,
    evidence: Evidence,
    *,
    actor: str,
    note: str = "",
    approved_by: AbstractUser | None = None,
    now: datetime,
) -> None:
    """Approves the attempt, issues the credential, and expires the attempt approved before."""
    with transaction.atomic():
        move_to(verification, State.APPROVED, actor=actor, note=note, approved_by=approved_by, now=now)
        earlier = IdentityVerification.objects.filter(
            wallet_id=verification.wallet_id, state=State.APPROVED
        ).exclude(id=verification.id)
        for replaced in earlier:
            move_to(replaced, State.EXPIRED, actor=actor, note="replaced", now=now)
        enrollment.enroll(verification, identity, evidence, now=now)


def to_review(
    verification: IdentityVerification,
    reason: str,
    identity: Identity | None,
    evidence: Evidence | None,
    typed: Mapping[str, str] | None = None,
    *,
    now: datetime,
) -> None:
    """Moves the attempt to REVIEW, with the claims sealed until an operator has decided."""
    sealed = sealed_findings.seal(verification, identity, evidence, typed)
    move_to(verification, State.REVIEW, actor="provider", reason=reason, sealed_claims=sealed, now=now)


def lock(verification: IdentityVerification) -> None:
    """Locks the row until the transaction ends, and reads it again into `verification`."""
    verification.refresh_from_db(from_queryset=IdentityVerification.objects.select_for_update())


def write_log(
    verification: IdentityVerification, before: State | str, *, actor: str, reason: str, now: datetime
) -> None:
    """Adds a line to the attempt's log, with the state before and the present one."""
    IdentityVerificationTransition.objects.create(
        verification=verification,
        from_state=before,
        to_state=verification.state,
        actor=actor[:150],
        reason=reason[:200],
        at=now,
    )
