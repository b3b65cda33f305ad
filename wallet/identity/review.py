"""What an operator does with an attempt in review: see what was read, approve it, ask again or decline it."""

from datetime import datetime
from functools import partial
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction

from wallet import letters
from wallet.claims import Identity
from wallet.evidence import Assurance, Evidence
from wallet.identity import found
from wallet.identity.state_machine import ForbiddenMoveError, approve_as, move_to
from wallet.models import IdentityVerification
from wallet.providers import registry

State = IdentityVerification.State


def approve(
    verification: IdentityVerification,
    identity: Identity,
    evidence: Evidence,
    *,
    operator: str,
    reason: str,
    now: datetime,
) -> None:
    """Verified as `identity`. Raises `ForbiddenMoveError` or `enrollment.HeldError`, then changes nothing."""
    with transaction.atomic():
        _check_in_review(verification, State.APPROVED)
        approve_as(verification, identity, evidence, actor=operator, note=reason, now=now)
        _tell(verification, approved=True)


def claims(verification: IdentityVerification) -> tuple[Identity | None, Evidence]:
    """What the provider read, for the operator who decides; of the evidence at least who decides, and how.

    Raises `SealError`.
    """
    identity, evidence = found.opened(verification)
    return identity, evidence or own_evidence(verification)


def own_evidence(verification: IdentityVerification) -> Evidence:
    """The evidence of a check that operators of this service make."""
    provider = registry.by_name(verification.provider)
    own = Assurance(f"{settings.BASE_URL}/assurance")  # of an attempt whose provider is gone: no level
    return Evidence(
        method=provider.method if provider else "in_person",
        assurance=provider.assurances[0] if provider and provider.assurances else own,
        verified_by=urlsplit(settings.BASE_URL).netloc,
        verified_at=verification.changed_at,
    )


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
