"""What follows from the finding of a provider: the attempt moves, and a verified person is enrolled."""

from contextlib import suppress
from datetime import datetime

from django.db import transaction

from infra.limits import LimitReachedError
from wallet.credential import days
from wallet.credential.birth_dates import earliest
from wallet.credential.claims import Identity
from wallet.credential.evidence import Evidence
from wallet.identity import enrollment, state_machine
from wallet.identity.state_machine import State, approve_as, lock, move_to, to_review
from wallet.models import IdentityVerification
from wallet.providers import findings
from wallet.providers.findings import Failed, Finding, NotHere, Pending, Verified


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
        if verification.state not in state_machine.WAITING:
            _record_late(verification, finding, now=now)
            return
        if begun and begun_at not in (None, verification.changed_at):
            return
        if begun and not isinstance(finding, NotHere | Failed):
            _submitted(verification, now=now)
        _act_on(verification, finding, now=now)


def _act_on(verification: IdentityVerification, finding: Finding, *, now: datetime) -> None:
    match finding:
        case Verified(identity, evidence):
            _approve_or_review(verification, identity, evidence, now=now)
        case findings.NeedsReview(reason, identity, evidence, typed):
            to_review(verification, reason, identity, evidence, typed, now=now)
        case findings.SubmitAgain(reason) if verification.submissions < state_machine.SUBMISSIONS_CAP:
            move_to(verification, State.RESUBMIT, actor="provider", reason=reason, now=now)
        case findings.SubmitAgain():
            move_to(verification, State.DECLINED, actor="provider", reason="too_many_tries", now=now)
        case findings.Refused(reason):
            move_to(verification, State.DECLINED, actor="provider", reason=reason, now=now)
        case NotHere():
            _end_uncharged(verification, finding, now=now)
        case Failed(reason) if verification.state == State.STARTED:  # nothing was charged yet
            move_to(verification, State.SUBMITTED, actor="provider", now=now)
            move_to(verification, State.ERROR, actor="provider", reason=reason, now=now)
        case Failed(reason):
            state_machine.fail(verification, actor="provider", reason=reason, now=now)


def _end_uncharged(verification: IdentityVerification, finding: NotHere, *, now: datetime) -> None:
    """Moves the attempt to CANCELLED, and gives back the try if one was charged."""
    charged, submitted_at = verification.state == State.PROCESSING, verification.changed_at
    reason, charge = finding.reason, -1 if charged else 0
    move_to(verification, State.CANCELLED, actor="provider", reason=reason, charge=charge, now=now)
    if charged:
        state_machine.SUBMISSIONS.give_back(str(verification.wallet_id), taken_at=submitted_at)


def _submitted(verification: IdentityVerification, *, now: datetime) -> None:
    """Charges a try. Above the limit only the attempt counts it, because it cannot be refused any more."""
    move_to(verification, State.SUBMITTED, actor="provider", now=now, charge=+1)
    with suppress(LimitReachedError):
        state_machine.SUBMISSIONS.take(str(verification.wallet_id), now=now)
    move_to(verification, State.PROCESSING, actor="provider", now=now)


def _approve_or_review(
    verification: IdentityVerification, identity: Identity, evidence: Evidence, *, now: datetime
) -> None:
    if earliest(identity.birth_date) > days.newest(now):
        to_review(verification, "unreadable", identity, evidence, now=now)
        return
    if evidence.has_expired(now):
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
    if repeated or verification.state not in state_machine.FINAL | {State.APPROVED, State.ERROR}:
        return
    note = f"late, not acted on: {type(finding).__name__}"
    state_machine.write_log(verification, State(verification.state), actor="provider", reason=note, now=now)
