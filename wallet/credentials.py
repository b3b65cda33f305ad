"""The credential of a wallet: issuing, previewing for consent, presenting.

Each presentation is a new SD-JWT VC (draft-ietf-oauth-sd-jwt-vc §2) with a new holder key, new salts and
rounded times, so that relying parties cannot link tokens (RFC 9901 §10.1).
"""

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings

from infra.sealing import seal, unseal
from keys.issuer_key import IssuerKey, active_issuer_key
from keys.jwk import public_jwk
from keys.private_keys.signer import SoftwareSigner
from wallet import claims
from wallet.claims import ClaimPath, ClaimPreview, Identity
from wallet.models import Credential, IdentityVerification, Wallet
from wallet.sd_jwt import issuance
from wallet.status_lists import allocation, token

TYPE_PATH = "/credential-types/identity/v1"
LIFETIME = timedelta(days=365)  # of the credential
TOKEN_LIFETIME = timedelta(hours=24)  # of a presentation
ROUNDING = 3600  # seconds; a token reveals only the hour of its times


class CredentialNotUsableError(Exception):
    """The credential is suspended, revoked or expired, or lacks a requested claim."""


def credential_type() -> str:
    """The `vct` of the credential: the address of its type metadata."""
    return settings.BASE_URL + TYPE_PATH


def issue(
    wallet: Wallet, identity: Identity, verification: IdentityVerification, *, now: datetime
) -> Credential:
    """Issue the wallet's credential for a verified identity, in the place of an earlier one.

    Call it inside the transaction that completes the verification. Raises CredentialNotUsableError if the
    earlier one is suspended, because only an operator ends a suspension.
    """
    credential = Credential.objects.select_for_update().filter(wallet=wallet).first()
    credential = credential or Credential(wallet=wallet)
    if credential.state == Credential.State.SUSPENDED:
        raise CredentialNotUsableError("The wallet's credential is suspended.")
    credential.verification = verification
    credential.state = Credential.State.VALID
    credential.sealed_identity = seal(identity.to_json(), context=_sealing_context(credential))
    credential.issued_at = now
    # Rounded to the day, so that the `exp` of the last tokens does not identify the holder.
    credential.expires_at = (now + LIFETIME).replace(hour=0, minute=0, second=0, microsecond=0)
    credential.save()
    return credential


def valid_credential(wallet: Wallet, *, now: datetime) -> Credential | None:
    """The credential that the wallet can present, or None. Queries only relations that are not loaded."""
    credential: Credential | None = getattr(wallet, "credential", None)
    if credential is None or wallet.state != Wallet.State.ACTIVE or not _is_usable(credential, now):
        return None
    return credential


def require_readable(credential: Credential) -> None:
    """Raise SealError if the identity cannot be unsealed, so that no page tries to show it."""
    _identity(credential)


def holds(credential: Credential, identity: Identity) -> bool:
    """Whether the credential is for this very identity; raises SealError."""
    return _identity(credential) == identity


def preview(credential: Credential, paths: Sequence[ClaimPath], *, today: date) -> list[ClaimPreview]:
    """The claims that presenting `paths` would disclose. Raises CredentialNotUsableError and SealError."""
    return claims.preview(_identity(credential), _requested(paths), today=today)


def plain_claims() -> dict[str, Any]:
    """The claims that every presentation discloses; None where the value is known only when it is issued."""
    return {
        "iss": settings.BASE_URL,
        "vct": credential_type(),
        "iat": None,
        "exp": None,
        "cnf": {"jwk": dict.fromkeys(("kty", "crv", "x", "y"))},
        "status": {"status_list": dict.fromkeys(("idx", "uri"))},
    }


def whole(credential: Credential, *, today: date) -> dict[str, Any]:
    """The credential with every claim disclosed, for matching a query; raises SealError."""
    return plain_claims() | claims.values(_identity(credential), today=today)


def present(
    credential: Credential,
    paths: Sequence[ClaimPath],
    *,
    audience: str,
    nonce: str,
    transaction_data: Sequence[str],
    reference: UUID | None = None,
    today: date,
    now: datetime,
) -> str:
    """A presentation of the claims at `paths` for one request: a compact SD-JWT VC with key binding.

    transaction_data: the strings as received. reference: the ID of what it is presented for, by which its
    status can be changed later. today: the day on which the holder was asked, which decides ages, so that the
    signed values are those that were shown, even after midnight. Raises CredentialNotUsableError,
    NoSigningKeyError, BrokenChainError and SealError.
    """
    if not _is_usable(credential, now):
        raise CredentialNotUsableError("The credential is not valid now.")
    paths = _requested(paths)
    values = claims.values(_identity(credential), today=today)
    term = _term(credential, reference, now=now)
    facts = {"iss": settings.BASE_URL, "vct": credential_type(), "status": term.status}
    return mint(
        {**facts, **issuance.all_withheld(values)},
        paths,
        issuer_key=term.issuer_key,
        expires_at=term.expires_at,
        audience=audience,
        nonce=nonce,
        transaction_data=transaction_data,
        now=now,
    )


def mint(
    payload: Mapping[str, Any],
    paths: Collection[ClaimPath],
    *,
    issuer_key: IssuerKey,
    expires_at: datetime,
    audience: str,
    nonce: str,
    transaction_data: Sequence[str],
    now: datetime,
) -> str:
    """A one-time SD-JWT VC of `payload` that discloses `paths`. Its holder key is not stored."""
    holder = SoftwareSigner.generate()
    issued = issuance.issue(
        {**payload, "iat": _rounded(now), "exp": _rounded(expires_at)},
        header=issuer_key.header_segment("dc+sd-jwt"),
        signer=issuer_key.signer,
        random_bytes=secrets.token_bytes,
        holder_jwk=public_jwk(holder.public_key),
    )
    return issuance.bind(
        issuance.select(issued, paths),
        audience=audience,
        nonce=nonce,
        holder=holder,
        now=now,
        transaction_data=transaction_data,
    )


@dataclass(frozen=True)
class _Term:
    """The signing key of a presentation, its expiry, and its `status` claim."""

    issuer_key: IssuerKey
    expires_at: datetime
    status: dict[str, Any]


def _term(credential: Credential, reference: UUID | None, *, now: datetime, fresh: bool = False) -> _Term:
    """Reserves the status-list entry. Keep it last before signing: from here on the presentation is issued.

    fresh: reads the signing key from the database. Raises CredentialNotUsableError and the errors of `keys`.
    """
    issuer_key = active_issuer_key(now=now, fresh=fresh)
    expires_at = min(now + TOKEN_LIFETIME, credential.expires_at, issuer_key.not_after)
    if _rounded(expires_at) <= now.timestamp():
        raise CredentialNotUsableError("The credential or the signing key expires within the hour.")
    try:
        place = allocation.take(
            credential, kid=issuer_key.kid, reference=reference, expires_at=expires_at, now=now
        )
    except allocation.SetAsideError as error:
        raise CredentialNotUsableError("The credential was suspended or revoked just now.") from error
    except allocation.KeyMovedOnError:
        if fresh:
            raise
        return _term(credential, reference, now=now, fresh=True)
    return _Term(issuer_key, expires_at, token.place(*place))


def _is_usable(credential: Credential, now: datetime) -> bool:
    if not credential.sealed_identity:  # emptied after its sealing key was lost; a new verification is needed
        return False
    return credential.state == Credential.State.VALID and _rounded(credential.expires_at) > now.timestamp()


def _requested(paths: Sequence[ClaimPath]) -> list[ClaimPath]:
    """The paths as tuples without duplicates; raises CredentialNotUsableError for unknown ones."""
    requested = list(dict.fromkeys(tuple(path) for path in paths))
    if not claims.known(requested):
        raise CredentialNotUsableError("The credential has no such claim.")
    return requested


def _identity(credential: Credential) -> Identity:
    """The unsealed identity, cached on this instance, which lives as long as one HTTP request.

    If `sealed_identity` was replaced, it is unsealed again. Raises SealError.
    """
    sealed, opened = getattr(credential, "_opened_identity", (None, None))
    if opened is None or sealed is not credential.sealed_identity:
        opened = Identity.from_json(unseal(credential.sealed_identity, context=_sealing_context(credential)))
        credential._opened_identity = credential.sealed_identity, opened  # type: ignore[attr-defined]
    return opened


def _sealing_context(credential: Credential) -> str:
    return f"wallet_credential.sealed_identity:{credential.id}"


def _rounded(moment: datetime) -> int:
    """Seconds since 1970, rounded down to the hour (RFC 9901 §10.1)."""
    return int(moment.timestamp()) // ROUNDING * ROUNDING
