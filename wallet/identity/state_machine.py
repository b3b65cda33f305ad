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


def settle(
    verification: IdentityVerification,
    finding: Finding,
    *,
    begun_at: datetime | None = None,
    now: datetime,
) -> None:
    """Acts on a provider's finding in one transaction: moves the attempt, and enrols the person if verified.

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
    """Moves the attempt to CANCELLED, and gives back the try if one was charged."""
    charged, submitted_at = verification.state == State.PROCESSING, verification.changed_at
    reason, charge = finding.reason, -1 if charged else 0
    move_to(verification, State.CANCELLED, actor="provider", reason=reason, charge=charge, now=now)
    if charged:
        SUBMISSIONS.give_back(str(verification.wallet_id), taken_at=submitted_at)


def _submitted(verification: IdentityVerification, *, now: datetime) -> None:
    """Charges a try. Above the limit only the attempt counts it, because it cannot be refused any more."""
    move_to(verification, State.SUBMITTED, actor="provider", now=now, charge=+1)
    with suppress(LimitReachedError):
        SUBMISSIONS.take(str(verification.wallet_id), now=now)
    move_to(verification, State.PROCESSING, actor="provider", now=now)


def _act_on(verification: IdentityVerification, finding: Finding, *, now: datetime) -> None:
    match finding:
        case Verified(identity, evidence):
            _approve_or_review(verification, identity, evidence, now=now)
        case NeedsReview(reason, identity, evidence, typed):
            to_review(verification, reason, identity, evidence, typed, now=now)
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
    """Moves the attempt to ERROR and gives the try back: the provider failed, not the person."""
    with transaction.atomic():
        submitted_at = verification.changed_at
        move_to(verification, State.ERROR, actor=actor, reason=reason, now=now, charge=-1, as_seen=as_seen)
        SUBMISSIONS.give_back(str(verification.wallet_id), taken_at=submitted_at)


def create(wallet: Wallet, errand: Errand, *, provider: str, now: datetime) -> IdentityVerification:
    """Creates an attempt. Raises `IntegrityError` if the wallet has an open one; see `attempts`."""
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
        changes |= {"notice_due": "", "notice_until": None}  # of the state before
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
    sealed = found.sealed(verification, identity, evidence, typed)
    move_to(verification, State.REVIEW, actor="provider", reason=reason, sealed_claims=sealed, now=now)


def lock(verification: IdentityVerification) -> None:
    """Locks the row until the transaction ends, and reads it again into `verification`."""
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
    """Writes a late finding to the log, if it would have changed something."""
    repeated = verification.state == State.APPROVED and isinstance(finding, Verified)
    if repeated or verification.state not in FINAL | {State.APPROVED, State.ERROR}:
        return
    note = f"late, not acted on: {type(finding).__name__}"
    write_log(verification, State(verification.state), actor="provider", reason=note, now=now)


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
