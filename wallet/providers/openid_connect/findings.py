"""What follows from a checked ID token and UserInfo, or from an error that the browser brought. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from infra.sealing import sha256_hex
from wallet.credential import days
from wallet.credential.claims import Identity, IdentityError
from wallet.credential.evidence import Assurance, Evidence, EvidenceError
from wallet.providers.findings import Failed, Finding, NeedsReview, NotHere, Verified
from wallet.providers.openid_connect import people, verified_claims
from wallet.providers.openid_connect.settings import NAMES, REQUIRED, Settings
from wallet.providers.openid_connect.verified_claims import ClaimsMissingError, TooLowError

# Error codes of the browser's return (Core §3.1.2.6 and others) that say what the person can do.
_ENDS = {
    "access_denied": "stopped",
    "consent_required": "consent_declined",
    "unmet_authentication_requirements": "too_low",
}


@dataclass(frozen=True, repr=False)
class Told:
    """The checked claims of one person, from the ID token and from UserInfo, which have the same `sub`."""

    id_token: Mapping[str, Any]
    userinfo: Mapping[str, Any] = field(default_factory=dict)


def of_error(code: str) -> Finding:
    """The finding for an error that the provider sent instead of a code."""
    return NotHere(_ENDS[code]) if code in _ENDS else Failed()


def of_claims(told: Told, settings: Settings, *, now: datetime) -> Finding:
    """Who the person is, as far as the claims say."""
    try:
        claims = _counting(told, settings, now=now)
    except TooLowError:
        return NotHere("too_low")
    except ClaimsMissingError:
        return NotHere("claims_missing")
    evidence: Evidence | None = None
    identity: Identity | None = None
    try:
        evidence = _evidence(claims, settings, told, now)
        identity = people.identity(claims.claims, settings.claims, today=days.newest(now))
        return Verified(identity, replace(evidence, **people.document(claims.evidence)))
    except (IdentityError, EvidenceError):
        return NeedsReview("unreadable", identity, evidence)


def _counting(told: Told, settings: Settings, *, now: datetime) -> verified_claims.VerifiedClaims:
    """The claims that count, as the settings say. Raises `TooLowError` or `ClaimsMissingError`."""
    level = _level_by_acr(told.id_token.get("acr"), settings)
    required, names = ([settings.claims[name] for name in claim_names] for claim_names in (REQUIRED, NAMES))
    if settings.identity_assurance:
        places = (told.userinfo, told.id_token)
        elements = [
            element for place in places for element in verified_claims.parse(place.get("verified_claims"))
        ]
        return verified_claims.choose(elements, settings.accepted, required, names, now=now)
    values = {**told.id_token, **told.userinfo}
    if not verified_claims.suffices(values, required, names):
        raise ClaimsMissingError
    configured = settings.accepted[0]
    assurance = configured if level is None else Assurance(configured.trust_framework, level)
    return verified_claims.VerifiedClaims(assurance, now, (), values)


def _level_by_acr(acr: Any, settings: Settings) -> str | None:
    """The level that this sign-in stands for; None if every sign-in will do. Raises `TooLowError`."""
    if settings.acr_levels is None:
        return None
    if not isinstance(acr, str) or acr not in settings.acr_levels:
        raise TooLowError
    return settings.acr_levels[acr]


def _evidence(
    claims: verified_claims.VerifiedClaims, settings: Settings, told: Told, now: datetime
) -> Evidence:
    return Evidence(
        method="electronic",
        assurance=claims.assurance,
        verified_by=settings.organisation,
        verified_at=min(claims.verified_at or now, now),
        subject=_subject(told),
    )


def _subject(told: Told) -> str:
    """`iss` and `sub`, which together stand for one person for ever (OpenID Connect Core 1.0 §5.7)."""
    issuer, subject = told.id_token.get("iss"), told.id_token.get("sub")
    if not (isinstance(issuer, str) and isinstance(subject, str) and issuer and subject):
        return ""
    both = f"{issuer}\n{subject}"
    return f"oidc:{sha256_hex(both)}"
