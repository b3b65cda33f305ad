"""What operators do with an attempt in review: claim it, and then approve it, ask again, or decline.

Only the operator who has claimed an attempt sees its claims and decides. Where REVIEW_BY_TWO_OPERATORS is
set, the first approval is a proposal, and another operator makes the second.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import transaction

from infra.sealing import SealError
from wallet.credential.claims import Identity
from wallet.credential.evidence import Assurance, Evidence
from wallet.identity import notices, sealed_findings, state_machine
from wallet.identity.state_machine import ForbiddenMoveError, approve_as, move_to, write_log
from wallet.models import IdentityVerification
from wallet.providers import registry

State = IdentityVerification.State


class NotClaimedError(Exception):
    """The operator has not claimed this attempt, or another one has."""


class SamePersonError(Exception):
    """The operator has proposed this approval; another one has to make it."""


def claim(verification: IdentityVerification, *, operator: AbstractUser, now: datetime) -> None:
    """Gives the attempt to this operator. Raises `ForbiddenMoveError` or `NotClaimedError`."""
    with transaction.atomic():
        _check_in_review(verification, State.REVIEW)
        if verification.claimed_by_id not in (None, operator.pk):
            raise NotClaimedError
        _set_claim(verification, operator, now=now)


def release(verification: IdentityVerification, *, now: datetime) -> None:
    """Ends the claim. Every reviewer may do this, also for an operator who is away."""
    with transaction.atomic():
        _check_in_review(verification, State.REVIEW)
        _set_claim(verification, None, now=now)


def is_claimed_by(verification: IdentityVerification, operator: AbstractUser) -> bool:
    """Whether this operator may see the claims and pictures now."""
    return verification.state == State.REVIEW and verification.claimed_by_id == operator.pk


def approve(
    verification: IdentityVerification,
    identity: Identity,
    evidence: Evidence,
    *,
    operator: AbstractUser,
    reason: str,
    now: datetime,
) -> bool:
    """Approves the attempt with this identity; False if that waits for another operator.

    A second operator who changes something of the identity or the evidence proposes it anew. Raises
    `NotClaimedError`, `SamePersonError`, `ForbiddenMoveError` or `enrollment.HeldError`, and then changes
    nothing.
    """
    with transaction.atomic():
        _check_claimed(verification, operator, State.APPROVED)
        evidence = _as_decided(verification, identity, evidence)
        second = _is_second(verification, identity, evidence, operator)
        if settings.REVIEW_BY_TWO_OPERATORS and not second:
            _propose(verification, identity, evidence, operator, reason=reason, now=now)
            return False
        approve_as(
            verification,
            identity,
            evidence,
            actor=operator.get_username(),
            note=reason,
            approved_by=operator,
            now=now,
        )
        _tell(verification)
        return True


def ask_again(
    verification: IdentityVerification, why: str, *, operator: AbstractUser, reason: str, now: datetime
) -> None:
    """Asks the person to submit again. `why` is a key of `findings.REASONS`; `reason` is for the log.

    Raises `NotClaimedError` or `ForbiddenMoveError`.
    """
    _end(verification, State.RESUBMIT, why, operator=operator, reason=reason, now=now)


def decline(
    verification: IdentityVerification, *, operator: AbstractUser, reason: str, now: datetime
) -> None:
    """Declines the attempt; `reason` is for the log, not for the person. Raises as `ask_again`."""
    _end(verification, State.DECLINED, "not_verified", operator=operator, reason=reason, now=now)


def claims(verification: IdentityVerification) -> tuple[Identity | None, Evidence]:
    """The identity and evidence that were read; without evidence, that of a decision by an operator.

    Raises `SealError`.
    """
    identity, evidence, _typed = sealed_findings.unseal(verification)
    return identity, evidence or own_evidence(verification)


def own_evidence(verification: IdentityVerification) -> Evidence:
    """The evidence of a check that operators of this service make.

    It has a level only where the provider is one for operators: they cannot vouch for that of another one.
    """
    provider = registry.by_name(verification.provider)
    own = Assurance(f"{settings.BASE_URL}/assurance")
    return Evidence(
        method=provider.method if provider else "in_person",
        assurance=provider.assurances[0] if provider and provider.by_operators else own,
        verified_by=urlsplit(settings.BASE_URL).netloc,
        verified_at=verification.changed_at,
    )


def _as_decided(verification: IdentityVerification, identity: Identity, evidence: Evidence) -> Evidence:
    """The evidence for what the operator decides: a provider vouches only for the identity that it read."""
    provider = registry.by_name(verification.provider)
    with suppress(SealError):
        if sealed_findings.unseal(verification)[0] == identity or (provider and provider.by_operators):
            return evidence
    return replace(
        own_evidence(verification),
        document_kind=evidence.document_kind,
        issuing_country=evidence.issuing_country,
        document_expires_on=evidence.document_expires_on,
        document_number=evidence.document_number,
    )


def _is_second(
    verification: IdentityVerification, identity: Identity, evidence: Evidence, operator: AbstractUser
) -> bool:
    """Whether another operator has proposed exactly this. Raises `SamePersonError`, also without the rule.

    The evidence counts too: its expiry ends the credential, its number finds the person in other wallets.
    """
    if verification.proposed_by_id is None:
        return False
    if verification.proposed_by_id == operator.pk:
        raise SamePersonError
    try:
        before, seen, _typed = sealed_findings.unseal(verification)
    except SealError:  # sealed under a key that is gone: it has to be proposed anew
        return False
    return before == identity and seen is not None and seen.to_json() == evidence.to_json()


def _propose(
    verification: IdentityVerification,
    identity: Identity,
    evidence: Evidence,
    operator: AbstractUser,
    *,
    reason: str,
    now: datetime,
) -> None:
    verification.proposed_by_id = operator.pk
    typed: Mapping[str, str] = {}
    with suppress(SealError):  # sealed under a key that is gone
        typed = sealed_findings.unseal(verification)[2]
    verification.sealed_claims = sealed_findings.seal(verification, identity, evidence, typed)
    verification.claimed_by = verification.claimed_at = None
    verification.save(update_fields=["proposed_by", "sealed_claims", "claimed_by", "claimed_at"])
    note = f"proposed: {reason}"
    write_log(verification, State.REVIEW, actor=operator.get_username(), reason=note, now=now)


def _end(
    verification: IdentityVerification,
    to: State,
    why: str,
    *,
    operator: AbstractUser,
    reason: str,
    now: datetime,
) -> None:
    with transaction.atomic():
        _check_claimed(verification, operator, to)
        move_to(verification, to, actor=operator.get_username(), reason=why, note=reason, now=now)
        _tell(verification)


def _check_claimed(verification: IdentityVerification, operator: AbstractUser, to: State) -> None:
    _check_in_review(verification, to)
    if verification.claimed_by_id != operator.pk:
        raise NotClaimedError


def _check_in_review(verification: IdentityVerification, to: State) -> None:
    """Raises ForbiddenMoveError unless it is in review: from PROCESSING only a provider's finding decides."""
    state_machine.lock(verification)
    if verification.state != State.REVIEW:
        raise ForbiddenMoveError(verification.state, to)


def _set_claim(verification: IdentityVerification, operator: AbstractUser | None, *, now: datetime) -> None:
    verification.claimed_by_id = operator.pk if operator else None
    verification.claimed_at = now if operator else None
    verification.save(update_fields=["claimed_by", "claimed_at"])


def _tell(verification: IdentityVerification) -> None:
    """E-mails the person after the commit. The sweep sends an e-mail that cannot be sent now."""
    notices.owe(verification)
    # No `partial`: Django cannot log the failure of one.
    transaction.on_commit(lambda: notices.send_owed(verification), robust=True)
