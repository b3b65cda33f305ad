"""Enrolment: a verified identity becomes the credential a wallet holds."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import transaction

from wallet.credential import credentials, details
from wallet.credential import evidence as evidences
from wallet.credential.claims import Identity
from wallet.identity import duplicates, recoveries
from wallet.models import Credential, IdentityEvidence, IdentityVerification, Wallet
from wallet.providers import registry


class HeldError(Exception):
    """The wallet or its credential is suspended, or the wallet closes; a new check does not lift that."""


def check_not_held(wallet: Wallet) -> None:
    """Raises `HeldError` when the wallet may not be given a credential now."""
    credential = Credential.objects.filter(wallet=wallet).first()
    suspended = credential is not None and credential.state == Credential.State.SUSPENDED
    if suspended or not wallet.can_share:
        raise HeldError


def enroll(
    verification: IdentityVerification, identity: Identity, evidence: evidences.Evidence, *, now: datetime
) -> Credential:
    """The wallet's credential, new or in place of the one before.

    Inside the transaction that approves `verification`, so that there is never one without the other.
    Raises `HeldError`.
    """
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError("enrol in the transaction that approves")
    Credential.objects.select_for_update().filter(wallet=verification.wallet_id).first()  # "Order of locks"
    wallet = Wallet.objects.select_for_update().get(id=verification.wallet_id)
    check_not_held(wallet)
    groups = {**identity.details, **details.of_evidence(evidence)}
    verifies = provider.details if (provider := registry.by_name(verification.provider)) else frozenset()
    kept = {group: groups[group] for group in details.MEMBERS if group in verifies & groups.keys()}
    identity = replace(identity, details=kept, verification=evidence.verification())
    IdentityEvidence.objects.update_or_create(verification=verification, defaults=_columns(evidence))
    credential = credentials.issue(wallet, identity, verification, ends=evidence.document_expires_on, now=now)
    duplicates.remember(credential, identity, evidence)
    recoveries.on_verified(verification, evidence, now=now)
    return credential


def _columns(evidence: evidences.Evidence) -> dict[str, Any]:
    same = ("method", "verified_by", "verified_at", "document_kind", "issuing_country", "document_expires_on")
    return {name: getattr(evidence, name) for name in same} | {
        "trust_framework": evidence.assurance.trust_framework,
        "assurance_level": evidence.assurance.level,
    }
