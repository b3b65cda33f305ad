"""The credential a wallet holds: issued once verified, previewed for consent, presented once per request.

Every presentation is an SD-JWT VC of its own (draft-ietf-oauth-sd-jwt-vc §2; RFC 9901 §10.1): new holder
key, new salts, rounded times. Two relying parties that compare tokens learn nothing but what was shared.
"""

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings

from infra.sealing import seal, unseal
from keys.issuer_key import IssuerKey, active_issuer_key
from keys.jwk import public_jwk
from keys.private_keys.signer import SoftwareSigner
from wallet import claims
from wallet.claims import ClaimPath, Identity, Text
from wallet.evidence import Assurance
from wallet.models import Credential, IdentityVerification, Wallet
from wallet.sd_jwt import issuance
from wallet.status_lists import allocation, token

TYPE_PATH = "/credential-types/identity/v1"
TOKEN_LIFETIME = timedelta(hours=24)  # of what is presented
ROUNDING = 3600  # seconds; times of a token tell no more than the hour


class CredentialNotUsableError(Exception):
    """The credential is suspended, revoked or expired, or does not hold what was asked for."""


@dataclass(frozen=True)
class ClaimPreview:
    """A claim as the holder sees it before deciding."""

    path: ClaimPath
    label: Text
    value: Text = field(repr=False)
    note: Text = ""


def credential_type() -> str:
    """The `vct` of the credential: the address of its type metadata."""
    return settings.BASE_URL + TYPE_PATH


def issue(
    wallet: Wallet,
    identity: Identity,
    verification: IdentityVerification,
    *,
    ends: date | None = None,
    now: datetime,
) -> Credential:
    """The wallet's credential for a verified identity, in the place of the one it had.

    ends: the last day of the document that was shown; the credential is not valid after it. To be called
    inside the transaction that settles the verification. Raises CredentialNotUsableError while the present
    one is suspended: only an operator ends a suspension.
    """
    credential = Credential.objects.select_for_update().filter(wallet=wallet).first()
    credential = credential or Credential(wallet=wallet)
    if credential.state == Credential.State.SUSPENDED:
        raise CredentialNotUsableError("The wallet's credential is suspended.")
    credential.verification = verification
    credential.state = Credential.State.VALID
    credential.sealed_identity = seal(identity.to_json(), context=_sealing_context(credential))
    credential.issued_at = now
    # To the day, so that the last tokens before the end do not single anybody out by their `exp`.
    credential.expires_at = (now + settings.IDENTITY_VALIDITY).replace(
        hour=0, minute=0, second=0, microsecond=0
    )
    if ends is not None:
        after = datetime.combine(ends + timedelta(days=1), time(), tzinfo=UTC)
        credential.expires_at = min(credential.expires_at, after)
    credential.save()
    return credential


def valid_credential(wallet: Wallet, *, now: datetime) -> Credential | None:
    """The credential an active wallet can present from now; asks the database only for what is not loaded."""
    credential: Credential | None = getattr(wallet, "credential", None)
    if credential is None or wallet.state != Wallet.State.ACTIVE or not _is_usable(credential, now):
        return None
    return credential


def require_readable(credential: Credential) -> None:
    """Raises SealError when its identity does not open, before its holder is led to a page that shows it."""
    _identity(credential)


def held(credential: Credential) -> list[ClaimPath]:
    """The paths of the claims that the credential has; raises SealError."""
    return claims.held(_identity(credential))


def assurance(credential: Credential) -> Assurance | None:
    """How well its identity was verified; None if an earlier release did not write that. Raises SealError."""
    verification = _identity(credential).verification
    return verification.assurance if verification else None


def reaches(credential: Credential, demand: Collection[Assurance]) -> bool:
    """Whether the identity was verified with one of the demanded assurances; any will do if there is none.

    Raises SealError.
    """
    return not demand or assurance(credential) in demand


def holds(credential: Credential, identity: Identity) -> bool:
    """Whether the credential is about exactly this identity; raises SealError."""
    return _identity(credential) == identity


def preview(credential: Credential, paths: Sequence[ClaimPath], *, today: date) -> list[ClaimPreview]:
    """What presenting `paths` would say, in the order asked; raises CredentialNotUsableError, SealError."""
    paths = _asked(paths, credential)
    identity = _identity(credential)
    return [
        ClaimPreview(
            path=path,
            label=claims.label(path, identity),
            value=claims.display(path, identity, today=today),
            note=claims.note(path, paths),
        )
        for path in paths
    ]


def plain_claims() -> dict[str, Any]:
    """What every presentation says unasked; None stands for what is known only once it is made."""
    return {
        "iss": settings.BASE_URL,
        "vct": credential_type(),
        "iat": None,
        "exp": None,
        "cnf": {"jwk": dict.fromkeys(("kty", "crv", "x", "y"))},
        "status": {"status_list": dict.fromkeys(("idx", "uri"))},
    }


def whole(credential: Credential, *, today: date) -> dict[str, Any]:
    """The credential with every claim disclosed, as a query is held against it; raises SealError."""
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
    """A presentation of the claims at `paths` for one request: SD-JWT VC with key binding, compact.

    `transaction_data` are the strings as received; ages are those of the day `today`, on which the holder
    was asked, so that what is signed is what was shown, over midnight too. `reference` names what it is
    presented for, to find it again when its status is to change. Raises CredentialNotUsableError;
    NoSigningKeyError, BrokenChainError and SealError pass through.
    """
    if not _is_usable(credential, now):
        raise CredentialNotUsableError("The credential is not valid now.")
    paths = _asked(paths, credential)
    # Every group has its digest, an empty one too, so that all presentations have the same number of them.
    empty: dict[str, Any] = {name: {} for (name,) in claims.GROUPS}
    values = empty | claims.values(_identity(credential), today=today)
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
    """A one-time SD-JWT VC of `payload` that discloses `paths`; its holder key is forgotten with the call."""
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
    """Who signs a presentation, until when it is good, and where its status is published."""

    issuer_key: IssuerKey
    expires_at: datetime
    status: dict[str, Any]


def _term(credential: Credential, reference: UUID | None, *, now: datetime, fresh: bool = False) -> _Term:
    """From here on the presentation can be revoked, so it is the last that can go wrong before signing."""
    issuer_key = active_issuer_key(now=now, fresh=fresh)
    expires_at = min(now + TOKEN_LIFETIME, credential.expires_at, issuer_key.not_after)
    if _rounded(expires_at) <= now.timestamp():
        raise CredentialNotUsableError("The credential or the signing key ends within the hour.")
    try:
        place = allocation.take(
            credential, kid=issuer_key.kid, reference=reference, expires_at=expires_at, now=now
        )
    except allocation.SetAsideError as error:
        raise CredentialNotUsableError("The credential was set aside just now.") from error
    except allocation.KeyMovedOnError:
        if fresh:
            raise
        return _term(credential, reference, now=now, fresh=True)
    return _Term(issuer_key, expires_at, token.place(*place))


def _is_usable(credential: Credential, now: datetime) -> bool:
    if not credential.sealed_identity:  # forgotten with a lost sealing key: its holder is verified anew
        return False
    return credential.state == Credential.State.VALID and _rounded(credential.expires_at) > now.timestamp()


def _asked(paths: Sequence[ClaimPath], credential: Credential) -> list[ClaimPath]:
    """The paths as the registry has them, each once; raises CredentialNotUsableError for others."""
    asked = list(dict.fromkeys(tuple(path) for path in paths))
    if not set(asked).issubset(held(credential)):
        raise CredentialNotUsableError("The credential has no such claim.")
    return asked


def _identity(credential: Credential) -> Identity:
    """The identity it holds, opened once for this instance, which lives as long as one HTTP request.

    What is sealed anew is opened anew. Raises SealError.
    """
    sealed, opened = getattr(credential, "_opened_identity", (None, None))
    if opened is None or sealed is not credential.sealed_identity:
        opened = Identity.from_json(unseal(credential.sealed_identity, context=_sealing_context(credential)))
        credential._opened_identity = credential.sealed_identity, opened  # type: ignore[attr-defined]
    return opened


def _sealing_context(credential: Credential) -> str:
    return f"wallet_credential.sealed_identity:{credential.id}"


def _rounded(moment: datetime) -> int:
    """Seconds since 1970, down to the hour (RFC 9901 §10.1)."""
    return int(moment.timestamp()) // ROUNDING * ROUNDING
