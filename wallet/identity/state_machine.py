"""The state machine of verifying a holder's identity (product §2): one attempt, from begun to decided.

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

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.contrib.auth.models import AbstractUser
from django.db import transaction
from django.utils.timezone import localdate

from infra.limits import Limit, LimitReachedError
from wallet.claims import Identity
from wallet.evidence import Evidence
from wallet.identity import enrollment, found
from wallet.models import Errand, IdentityVerification, IdentityVerificationTransition, Wallet
from wallet.providers.findings import (
    Failed,
    Finding,
    NeedsReview,
    NotHere,
    Pending,
    Refused,
    SubmitAgain,
    Verified,
)

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
    State.DECLINED: frozenset(),
    State.ABANDONED: frozenset(),
    State.CANCELLED: frozenset(),
    State.EXPIRED: frozenset(),
}
FINAL = frozenset(state for state, moves in MOVES.items() if not moves)
OPEN = frozenset(
    {State.CREATED, State.STARTED, State.SUBMITTED, State.PROCESSING, State.RESUBMIT, State.REVIEW}
)
IDLE_STATES = (State.CREATED, State.STARTED, State.RESUBMIT)
WAITING = frozenset({State.STARTED, State.PROCESSING})  # a result of the provider is acted on
WITH_MEMORY = frozenset({State.STARTED, State.SUBMITTED, State.PROCESSING, State.RESUBMIT})

SUBMISSIONS = Limit("identity-submissions", most=5, window=timedelta(hours=6))  # per wallet
SUBMISSIONS_CAP = 9  # per attempt


class ForbiddenMoveError(Exception):
    """The attempt is not in a state from which it may move there (any more)."""

    def __init__(self, before: str, after: str) -> None:
        super().__init__(f"{before} → {after}")


def submit(verification: IdentityVerification, *, now: datetime) -> None:
    """The person has handed in what the provider needs; charges one try.

    Raises `limits.LimitReachedError` or `ForbiddenMoveError`, and then nothing has moved.
    """
    with transaction.atomic():
        move_to(verification, State.SUBMITTED, actor="holder", now=now, charge=+1)
        SUBMISSIONS.take(str(verification.wallet_id), now=now)
        move_to(verification, State.PROCESSING, actor="provider", now=now)


def settle(
    verification: IdentityVerification,
    finding: Finding,
    *,
    begun_at: datetime | None = None,
    now: datetime,
) -> None:
    """Act on what a provider found, in one transaction: move, and enrol when verified.

    A result for an attempt that nothing was submitted for yet counts as the submission: the provider knows
    before this service that the person is done. A finding for an attempt that no longer waits for one is
    written to its log and not acted on. begun_at: the last change when the provider was asked; what it found
    is dropped if the person has begun again since.
    """
    with transaction.atomic():
        lock(verification)
        begun = verification.state == State.STARTED
        if isinstance(finding, Pending) and not (begun and finding.submitted):
            return
        if verification.state not in WAITING:
            _record_late(verification, finding, now=now)
            return
        if begun and begun_at not in (None, verification.changed_at):
            return
        if begun and not isinstance(finding, NotHere | Failed):
            _submitted(verification, now=now)
        _act_on(verification, finding, now=now)


def _end_uncharged(verification: IdentityVerification, finding: NotHere, *, now: datetime) -> None:
    """CANCELLED; a try that was charged before the provider knew is given back."""
    charged, submitted_at = verification.state == State.PROCESSING, verification.changed_at
    reason, charge = finding.reason, -1 if charged else 0
    move_to(verification, State.CANCELLED, actor="provider", reason=reason, charge=charge, now=now)
    if charged:
        SUBMISSIONS.give_back(str(verification.wallet_id), taken_at=submitted_at)


def _submitted(verification: IdentityVerification, *, now: datetime) -> None:
    """Charge the try; one too many is counted by the attempt alone, because it cannot be refused any more."""
    move_to(verification, State.SUBMITTED, actor="provider", now=now, charge=+1)
    with suppress(LimitReachedError):
        SUBMISSIONS.take(str(verification.wallet_id), now=now)
    move_to(verification, State.PROCESSING, actor="provider", now=now)


def _act_on(verification: IdentityVerification, finding: Finding, *, now: datetime) -> None:
    match finding:
        case Verified(identity, evidence):
            _approve_or_review(verification, identity, evidence, now=now)
        case NeedsReview(reason, identity, evidence):
            to_review(verification, reason, identity, evidence, now=now)
        case SubmitAgain(reason) if verification.submissions < SUBMISSIONS_CAP:
            move_to(verification, State.RESUBMIT, actor="provider", reason=reason, now=now)
        case SubmitAgain():
            move_to(verification, State.DECLINED, actor="provider", reason="too_many_tries", now=now)
        case Refused(reason):
            move_to(verification, State.DECLINED, actor="provider", reason=reason, now=now)
        case NotHere():
            _end_uncharged(verification, finding, now=now)
        case Failed(reason) if verification.state == State.STARTED:  # nothing was charged yet
            move_to(verification, State.SUBMITTED, actor="provider", now=now)
            move_to(verification, State.ERROR, actor="provider", reason=reason, now=now)
        case Failed(reason):
            fail(verification, actor="provider", reason=reason, now=now)


def fail(
    verification: IdentityVerification, *, actor: str, reason: str, now: datetime, as_seen: bool = False
) -> None:
    """It came to nothing and not by the person's doing: ERROR, and the try is given back."""
    with transaction.atomic():
        submitted_at = verification.changed_at
        move_to(verification, State.ERROR, actor=actor, reason=reason, now=now, charge=-1, as_seen=as_seen)
        SUBMISSIONS.give_back(str(verification.wallet_id), taken_at=submitted_at)


def create(wallet: Wallet, errand: Errand, *, provider: str, now: datetime) -> IdentityVerification:
    """A new attempt. Raises `IntegrityError` when the wallet has an open one; see `attempts`."""
    with transaction.atomic():
        verification = IdentityVerification.objects.create(
            wallet=wallet,
            errand=errand,
            provider=provider,
            created_at=now,
            changed_at=now,
        )
        write_log(verification, "", actor="holder", reason="", now=now)
        return verification


def cancel(verification: IdentityVerification, *, now: datetime) -> None:
    """The person stops. Raises `ForbiddenMoveError` once something was submitted."""
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
    """Move an attempt and write it to the log; the only way from state to state.

    Locks the row and reads it anew, so of two moves at once the second sees where the first has led.
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
    """APPROVED: the wallet gets its credential and earlier proofs end, all in one transaction."""
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
    *,
    now: datetime,
) -> None:
    """REVIEW: an operator decides; what was read is sealed until then."""
    sealed = found.sealed(verification, identity, evidence)
    move_to(verification, State.REVIEW, actor="provider", reason=reason, sealed_claims=sealed, now=now)


def lock(verification: IdentityVerification) -> None:
    """Lock the row until the transaction ends, and bring `verification` up to date."""
    verification.refresh_from_db(from_queryset=IdentityVerification.objects.select_for_update())


def _approve_or_review(
    verification: IdentityVerification, identity: Identity, evidence: Evidence, *, now: datetime
) -> None:
    if evidence.has_expired(localdate(now)):
        to_review(verification, "document_expired", identity, evidence, now=now)
        return
    try:
        approve_as(verification, identity, evidence, actor="provider", now=now)
    except enrollment.HeldError:
        lock(verification)
        to_review(verification, "held", identity, evidence, now=now)


def _record_late(verification: IdentityVerification, finding: Finding, *, now: datetime) -> None:
    """Results may come late or twice; the log keeps those that would have changed something."""
    repeated = verification.state == State.APPROVED and isinstance(finding, Verified)
    if repeated or verification.state not in FINAL | {State.APPROVED, State.ERROR}:
        return
    note = f"late, not acted on: {type(finding).__name__}"
    write_log(verification, State(verification.state), actor="provider", reason=note, now=now)


def write_log(
    verification: IdentityVerification, before: State | str, *, actor: str, reason: str, now: datetime
) -> None:
    """One line of the attempt's log: where it came from, and where it is."""
    IdentityVerificationTransition.objects.create(
        verification=verification,
        from_state=before,
        to_state=verification.state,
        actor=actor[:150],
        reason=reason[:200],
        at=now,
    )
