"""The findings of a provider, sealed in the row of the attempt while an operator reviews it."""

import json
from collections.abc import Mapping

from infra.sealing import seal_column, unseal_column
from wallet.credential.claims import Identity
from wallet.credential.evidence import Evidence
from wallet.models import IdentityVerification


def seal(
    verification: IdentityVerification,
    identity: Identity | None,
    evidence: Evidence | None,
    typed: Mapping[str, str] | None = None,
) -> bytes | None:
    """The identity and the evidence, sealed for this attempt; None if there is neither.

    typed: what the person typed about themselves, where that is not the identity: by the name of the claim.
    """
    if identity is None and evidence is None:
        return None
    content = {
        "identity": identity.to_json().decode() if identity else None,
        "evidence": evidence.to_json() if evidence else None,
        "typed": dict(typed or {}),
    }
    return seal_column(verification, "sealed_claims", json.dumps(content).encode())


def unseal(
    verification: IdentityVerification,
) -> tuple[Identity | None, Evidence | None, Mapping[str, str]]:
    """What `seal` was given. Raises `SealError`."""
    if verification.sealed_claims is None:
        return None, None, {}
    content = json.loads(unseal_column(verification, "sealed_claims"))
    identity, evidence = content["identity"], content["evidence"]
    return (
        Identity.from_json(identity) if identity is not None else None,
        Evidence.from_json(evidence) if evidence is not None else None,
        content.get("typed", {}),
    )
