"""What an operator does with an attempt in review: see what was read, approve it or decline it."""

from datetime import datetime
from functools import partial

from django.db import transaction

from infra.sealing import unseal
from wallet import letters
from wallet.claims import Identity
from wallet.identity.state_machine import ForbiddenMoveError, approve_as, move_to, sealing_context
from wallet.models import IdentityVerification

State = IdentityVerification.State


def claims(verification: IdentityVerification) -> Identity | None:
    """What the provider read, for the operator who decides; None when there is nothing."""
    if verification.sealed_claims is None:
        return None
    return Identity.from_json(unseal(verification.sealed_claims, context=sealing_context(verification)))


def approve(
    verification: IdentityVerification, identity: Identity, *, operator: str, reason: str, now: datetime
) -> None:
    """Verified as `identity`. Raises `ForbiddenMoveError` or `enrollment.HeldError`, then changes nothing."""
    with transaction.atomic():
        _check_in_review(verification, State.APPROVED)
        approve_as(verification, identity, actor=operator, note=reason, now=now)
        _tell(verification, approved=True)


def decline(verification: IdentityVerification, *, operator: str, reason: str, now: datetime) -> None:
    """Not verified; `reason` is for the log, not for the person. Raises `ForbiddenMoveError`."""
    with transaction.atomic():
        _check_in_review(verification, State.DECLINED)
        move_to(verification, State.DECLINED, actor=operator, reason="not_verified", note=reason, now=now)
        _tell(verification, approved=False)


def _check_in_review(verification: IdentityVerification, to: State) -> None:
    """APPROVED and DECLINED can also follow PROCESSING, but that is the provider's to say."""
    verification.refresh_from_db(from_queryset=IdentityVerification.objects.select_for_update())
    if verification.state != State.REVIEW:
        raise ForbiddenMoveError(verification.state, to)


def _tell(verification: IdentityVerification, *, approved: bool) -> None:
    """By letter, once the decision stands; a letter that cannot be sent does not undo it."""
    letter = partial(letters.send_review_decision, verification.wallet, approved=approved)
    transaction.on_commit(letter, robust=True)
