"""The credential of a wallet: issuing, previewing for consent, presenting.

Each presentation is a new SD-JWT VC (draft-ietf-oauth-sd-jwt-vc §2) with a new holder key, new salts and
rounded times, so that relying parties cannot link tokens (RFC 9901 §10.1).
"""

import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, cast
from uuid import UUID

from django.conf import settings
from django.db import transaction

from infra.sealing import SealError, seal_column, unseal_column
from keys.issuer_key import IssuerKey, active_issuer_key
from keys.jwk import public_jwk
from keys.private_keys.signer import SoftwareSigner
from wallet.credential import claims, days, inference
from wallet.credential.claims import ClaimPath, Identity
from wallet.credential.evidence import Assurance
from wallet.credential.inference import Fact, SharedClaim
from wallet.models import Credential, IdentityVerification, Wallet
from wallet.sd_jwt import issuance
from wallet.status_lists import allocation

TYPE_PATH = "/credential-types/identity/v1"
TOKEN_LIFETIME = timedelta(hours=24)  # of what is presented
_WHOLE = [name for (name,) in claims.OBJECTS]
ROUNDING = 3600  # seconds; times of a token tell no more than the hour


class CredentialNotUsableError(Exception):
    """The credential is suspended, revoked or expired, or lacks a requested claim."""


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
    """Issue the wallet's credential for a verified identity, in the place of an earlier one.

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
    credential.sealed_identity = seal_column(credential, "sealed_identity", identity.to_json())
    credential.issued_at = now
    credential.revoked_at = credential.erased_at = None
    credential.notice = ""
    # To the day, so that the last tokens before the end do not single anybody out by their `exp`, and at the
    # hour at which documents end.
    credential.expires_at = days.rounded_down(now + settings.IDENTITY_VALIDITY)
    if ends is not None:
        credential.expires_at = min(credential.expires_at, days.end_of(ends))
    credential.save()
    return credential


def last_day(credential: Credential) -> date:
    """The last day on which it is valid."""
    return days.last_day_before(credential.expires_at)


def has_ended(credential: Credential, *, now: datetime) -> bool:
    """Whether it has expired."""
    return _rounded(credential.expires_at) <= now.timestamp()


def valid_credential(wallet: Wallet, *, now: datetime) -> Credential | None:
    """The credential that the wallet can present, or None. Queries only relations that are not loaded."""
    credential: Credential | None = getattr(wallet, "credential", None)
    return credential if credential and wallet.can_share and _is_usable(credential, now) else None


def held(
    credential: Credential, paths: Iterable[ClaimPath] = claims.CLAIMS, *, today: date | None = None
) -> list[ClaimPath]:
    """Those of `paths` whose claims the credential has, ages on the day `today`: see `claims.held`.

    Raises SealError.
    """
    return claims.held(_identity(credential), paths, today=today)


def has_whole_birth_date(credential: Credential) -> bool:
    """Whether the day of birth is known, so that it has every age; raises SealError."""
    return claims.has_whole_birth_date(_identity(credential))


def assurance(credential: Credential) -> Assurance | None:
    """How well its identity was verified; None if an earlier release did not write that. Raises SealError."""
    verification = _identity(credential).verification
    return verification.assurance if verification else None


def reaches(credential: Credential, demand: Collection[Assurance], details: Collection[str] = ()) -> bool:
    """Whether the identity was verified with one of the demanded assurances; any will do if there is none.

    details: groups of details that the identity must have. Raises SealError.
    """
    return set(details) <= details_of(credential) and (not demand or assurance(credential) in demand)


def details_of(credential: Credential) -> set[str]:
    """The groups of details that its identity has; raises SealError."""
    return set(_identity(credential).details)


def holds(credential: Credential, identity: Identity) -> bool:
    """Whether the credential is for this very identity; raises SealError."""
    return _identity(credential) == identity


def preview(credential: Credential, paths: Sequence[ClaimPath], *, today: date) -> list[claims.ClaimPreview]:
    """What presenting `paths` would disclose, in the same order.

    Raises CredentialNotUsableError and SealError.
    """
    return claims.preview(_identity(credential), _requested(paths, credential, today=today), today=today)


def full_name(credential: Credential) -> str:
    """The given and the family name, as the holder reads them; raises SealError."""
    identity = _identity(credential)
    return f"{identity.given_name} {identity.family_name}".strip()


def own_values(credential: Credential, *, today: date) -> list[claims.ClaimPreview]:
    """The values that holders see of their own identity: not those that follow from others, nor those of the
    identity check. Raises SealError."""
    identity = _identity(credential)
    return claims.preview(identity, [*claims.ORIGINAL, *claims.held_details(identity)], today=today)


def adds_up(
    credential: Credential,
    earlier: Collection[SharedClaim],
    requested: Collection[SharedClaim],
    *,
    today: date,
) -> list[Fact]:
    """What the answers of the holder say together, see `inference.facts`; raises SealError."""
    return inference.facts(_identity(credential), earlier, requested, today=today)


def says_again(credential: Credential, path: ClaimPath, before: date) -> bool:
    """Whether a claim says no more today than on an earlier day; a no to an age says more each day.

    Raises SealError.
    """
    return path[0] != inference.AGE or claims.claim(path).value(_identity(credential), before) is True


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


def whole(
    credential: Credential, paths: Iterable[ClaimPath], *, today: date, subject: str = ""
) -> dict[str, Any]:
    """The credential with the claims at `paths` disclosed, for matching a query; raises SealError.

    subject: the value of `claims.SUBJECT`, which all can present; empty unless the query demands a value.
    """
    number = {claims.SUBJECT[0]: subject or None}
    return plain_claims() | claims.values(_identity(credential), paths, today=today) | number


def disclosed(credential: Credential, *, today: date) -> dict[str, Any]:
    """The values of all its claims, for the holder; raises SealError if it cannot be opened or is erased."""
    if not credential.sealed_identity:
        raise SealError("The identity is erased.")
    return claims.values(_identity(credential), today=today)


@dataclass(frozen=True)
class Binding:
    """What a presentation is bound to: the relying party and its nonce, and what the holder approved.

    transaction_data: the strings as received. reference: the ID of what it is presented for, by which its
    status can be changed later. today: the day on which the holder was asked, which decides ages, so that the
    signed values are those that were shown, even after midnight. subject: the value of `claims.SUBJECT`,
    if that is presented.
    """

    audience: str
    nonce: str
    transaction_data: Sequence[str]
    today: date
    reference: UUID | None = None
    subject: str = ""


@dataclass(frozen=True)
class Term:
    """The signing key of a presentation and its expiry; they are stored with its status-list entry."""

    issuer_key: IssuerKey
    expires_at: datetime


def present(
    credential: Credential, wanted: Sequence[tuple[Sequence[ClaimPath], Binding]], *, now: datetime
) -> list[str]:
    """For each of `wanted` a presentation of the claims at these paths: a compact SD-JWT VC with key binding.

    All are issued, or none. Raises CredentialNotUsableError, NoSigningKeyError, BrokenChainError and
    SealError.
    """
    chosen = [
        (_presentable(credential, paths, today=binding.today, now=now), binding) for paths, binding in wanted
    ]
    references = [binding.reference for _paths, binding in wanted]
    term = _term(credential, now=now)
    try:
        places = _reserved(credential, term, references, now=now)
    except allocation.KeyMovedOnError:
        term = _term(credential, now=now, fresh=True)
        places = _reserved(credential, term, references, now=now)
    issued = zip(chosen, places, strict=True)
    return [_minted(credential, paths, binding, term, place, now=now) for (paths, binding), place in issued]


def present_at(
    place: tuple[int, int],
    credential: Credential,
    paths: Sequence[ClaimPath],
    binding: Binding,
    *,
    now: datetime,
) -> tuple[str, Term]:
    """As `present`, with a status-list entry that the caller takes before the presentation leaves."""
    paths = _presentable(credential, paths, today=binding.today, now=now)
    term = _term(credential, now=now)
    return _minted(credential, paths, binding, term, place, now=now), term


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
    digests: Mapping[issuance.Path, int] = {},
    rounding: int = ROUNDING,
) -> str:
    """A one-time SD-JWT VC of `payload` that discloses `paths`. Its holder key is not stored."""
    holder = SoftwareSigner.generate()
    issued = issuance.issue(
        {**payload, "iat": _rounded(now, rounding), "exp": _rounded(expires_at, rounding)},
        header=issuer_key.header_segment("dc+sd-jwt"),
        signer=issuer_key.signer,
        random_bytes=secrets.token_bytes,
        holder_jwk=public_jwk(holder.public_key),
        digests=digests,
    )
    return issuance.bind(
        issuance.select(issued, paths),
        audience=audience,
        nonce=nonce,
        holder=holder,
        now=now,
        transaction_data=transaction_data,
    )


def _presentable(
    credential: Credential, paths: Sequence[ClaimPath], *, today: date, now: datetime
) -> list[ClaimPath]:
    """The paths without repetitions; raises CredentialNotUsableError if they cannot be presented."""
    if not _is_usable(credential, now):
        raise CredentialNotUsableError("The credential is not valid now.")
    return _requested(paths, credential, today=today)


def _term(credential: Credential, *, now: datetime, fresh: bool = False) -> Term:
    """fresh: reads the signing key from the database. Raises CredentialNotUsableError and those of `keys`."""
    issuer_key = active_issuer_key(now=now, fresh=fresh)
    expires_at = min(now + TOKEN_LIFETIME, credential.expires_at, issuer_key.not_after)
    if _rounded(expires_at) <= now.timestamp():
        raise CredentialNotUsableError("The credential or the signing key expires within the hour.")
    return Term(issuer_key, expires_at)


def _reserved(
    credential: Credential, term: Term, references: Sequence[UUID | None], *, now: datetime
) -> list[tuple[int, int]]:
    """Reserves the status-list entries. Keep it last before signing: from here on it counts as issued.

    Together, so that a holder who takes back in the meantime takes back all of them or none.
    """
    facts: dict[str, Any] = {"kid": term.issuer_key.kid, "expires_at": term.expires_at, "now": now}
    try:
        with transaction.atomic() if len(references) > 1 else nullcontext():
            return [allocation.take(credential, reference=reference, **facts) for reference in references]
    except allocation.SetAsideError as error:
        raise CredentialNotUsableError("The credential was suspended or revoked just now.") from error


def _minted(
    credential: Credential,
    paths: Collection[ClaimPath],
    binding: Binding,
    term: Term,
    place: tuple[int, int],
    *,
    now: datetime,
) -> str:
    # Decoys stand for what is not in it, so all have as many digests.
    issued = dict.fromkeys((*claims.MANDATORY, *paths))
    values = claims.values(_identity(credential), issued, today=binding.today)
    if claims.SUBJECT in paths:
        if not binding.subject:
            raise CredentialNotUsableError("There is no number to present.")
        values[claims.SUBJECT[0]] = binding.subject
    opened = ((), *dict.fromkeys(path[:-1] for path in paths if len(path) > 1))
    facts = {"iss": settings.BASE_URL, "vct": credential_type(), "status": allocation.status_claim(*place)}
    return mint(
        {**facts, **issuance.all_withheld(values, whole=_WHOLE)},
        paths,
        issuer_key=term.issuer_key,
        expires_at=term.expires_at,
        audience=binding.audience,
        nonce=binding.nonce,
        transaction_data=binding.transaction_data,
        now=now,
        digests={path: claims.DIGESTS[path] for path in opened},
    )


def _is_usable(credential: Credential, now: datetime) -> bool:
    if not credential.sealed_identity:  # emptied after its sealing key was lost; a new verification is needed
        return False
    return credential.state == Credential.State.VALID and not has_ended(credential, now=now)


def _requested(paths: Sequence[ClaimPath], credential: Credential, *, today: date) -> list[ClaimPath]:
    """The paths without repetitions. Raises CredentialNotUsableError if the credential lacks one of them."""
    requested = list(dict.fromkeys(tuple(path) for path in paths))
    if len(held(credential, requested, today=today)) < len(requested):
        raise CredentialNotUsableError("The credential has no such claim.")
    return requested


def _identity(credential: Credential) -> Identity:
    """The unsealed identity, cached on this instance, which lives as long as one HTTP request.

    If `sealed_identity` was replaced, it is unsealed again. Raises SealError.
    """
    sealed, identity = credential.opened
    if identity is not None and sealed is credential.sealed_identity:
        return cast(Identity, identity)
    text = unseal_column(credential, "sealed_identity")
    opened = Identity.from_json(text, email=credential.wallet.email)
    credential.opened = credential.sealed_identity, opened
    return opened


def _rounded(moment: datetime, to: int = ROUNDING) -> int:
    """Seconds since 1970, rounded down to the hour (RFC 9901 §10.1)."""
    return int(moment.timestamp()) // to * to
