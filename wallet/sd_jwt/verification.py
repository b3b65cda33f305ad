"""Verifying SD-JWTs in the order of RFC 9901 §7. Pure. Whatever does not fit raises SdJwtError, nothing else.

Whether a key binding must be there is decided by which function is called, never by the token (§7.3). Each
check has a name: `passed` is told it once it is passed, and `SdJwtError.check` is the one that was not.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from cryptography.hazmat.primitives.asymmetric import ec

from keys.jwk import public_key_of
from keys.jws import JwsError, take_apart
from wallet.sd_jwt.issuance import Disclosure, KeyBinding, SdJwt, SdJwtError, digest
from wallet.sd_jwt.parsing import UnverifiedSdJwt, parse
from wallet.sd_jwt.processing import FORM, Processing

LEEWAY = 60  # seconds that clocks may differ
KEY_BINDING_WINDOW = 300  # seconds before and after now in which a key binding may have been made
SD_JWT_VC_CLAIMS = ("exp", "iss", "vct")  # without which no credential of this kind is accepted

# The issuer's key, or what finds it by the header, which nobody vouches for yet; raises SdJwtError.
IssuerKey = ec.EllipticCurvePublicKey | Callable[[Mapping[str, Any]], ec.EllipticCurvePublicKey]
Passed = Callable[[str], object]
Believed = Callable[[Mapping[str, Any]], object]  # looks at the processed payload; raises SdJwtError


def _nobody(about: Any) -> None:
    """Who is told when nobody asked."""


class VerifiedSdJwt(NamedTuple):
    """A token that holds: header, payload with what is disclosed in its place, and whom it is bound to."""

    header: dict[str, Any]
    payload: dict[str, Any]
    sd_jwt: SdJwt
    key_binding: KeyBinding | None = None

    def __repr__(self) -> str:
        return "<VerifiedSdJwt>"


def verify_issued(
    token: str,
    *,
    issuer_key: IssuerKey,
    now: datetime,
    typ: str = "dc+sd-jwt",
    required: Collection[str] = SD_JWT_VC_CLAIMS,
    passed: Passed = _nobody,
) -> VerifiedSdJwt:
    """An SD-JWT as its issuer hands it out (§7.1, §7.2): a key binding in it is refused.

    `issuer_key` says that the caller found this key to be that of an issuer it trusts.
    """
    received = parse(token)
    if received.key_binding:
        raise SdJwtError("a key binding where none may be")
    return _verify_issuer_signed(received, issuer_key, now, typ, required, passed)


def verify(
    token: str,
    *,
    issuer_key: IssuerKey,
    audience: str,
    nonce: str,
    now: datetime,
    transaction_data: Sequence[str] = (),
    typ: str = "dc+sd-jwt",
    required: Collection[str] = SD_JWT_VC_CLAIMS,
    passed: Passed = _nobody,
    believed: Believed = _nobody,
) -> VerifiedSdJwt:
    """A presentation made for this audience and request (§7.3); a key binding must be there and fit.

    `transaction_data` are the strings that were sent with the request, in order; all must be bound.
    """
    received = parse(token)
    if not received.key_binding:
        raise SdJwtError("there is no key binding")
    verified = _verify_issuer_signed(received, issuer_key, now, typ, required, passed)
    believed(verified.payload)
    claims = _key_binding_claims(received.key_binding, verified.payload, passed)
    _check_binding_time(claims.get("iat"), now)
    passed("kb-iat")
    _compare(claims, "nonce", nonce, "the key binding has another nonce", "kb-nonce")
    passed("kb-nonce")
    _compare(claims, "aud", audience, "the key binding is for another audience", "kb-aud")
    _check_own_audience(verified.payload, audience)
    passed("kb-aud")
    _compare(claims, "sd_hash", received.sd_hash, "the key binding is over other disclosures", "kb-sd-hash")
    passed("kb-sd-hash")
    hashes = _transaction_data_hashes(claims, transaction_data)
    passed("transaction-data")
    binding = KeyBinding(claims["iat"], audience, nonce, received.sd_hash, hashes)
    return verified._replace(key_binding=binding)


def _verify_issuer_signed(
    received: UnverifiedSdJwt,
    issuer_key: IssuerKey,
    now: datetime,
    typ: str,
    required: Collection[str],
    passed: Passed,
) -> VerifiedSdJwt:
    """§7.1: the signature, the disclosures, then the claims as they stand with what is disclosed."""
    header, signed = _verify_signature(received.jwt, issuer_key, typ, passed)
    if signed.pop("_sd_alg", "sha-256") != "sha-256":
        raise SdJwtError("digests other than sha-256", "sd-alg")
    passed("sd-alg")
    processing = Processing(received.disclosures)
    payload = processing.object(signed, ())
    passed(FORM)
    if received.repeats or processing.repeats:
        raise SdJwtError("a disclosure or digest occurs twice", "digests-once")
    passed("digests-once")
    if processing.waiting:
        raise SdJwtError("a disclosure that no digest refers to", "disclosures-referenced")
    passed("disclosures-referenced")
    if "exp" in required and "exp" not in payload:
        raise SdJwtError("exp missing", "exp")
    _check_times(payload, now)
    passed("exp")
    if missing := [name for name in required if name not in payload]:
        raise SdJwtError(f"{', '.join(missing)} missing", missing[0])
    # In the order received: `sd_hash` is over it.
    disclosures = {processing.found[key]: Disclosure(d.text) for key, d in received.disclosures.items()}
    return VerifiedSdJwt(header, payload, SdJwt(received.jwt, disclosures))


def _verify_signature(
    jwt: str, issuer_key: IssuerKey, typ: str, passed: Passed
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and payload of the issuer-signed JWT; the key is looked for once the header makes sense."""
    check = "structure"
    try:
        unverified = take_apart(jwt)
        passed(check)
        header = unverified.header
        for check, expected in (("alg", "ES256"), ("typ", typ)):
            if header.get(check) != expected:
                raise JwsError(f"{check} is not {expected}")
            passed(check)
        key = issuer_key(header) if callable(issuer_key) else issuer_key
        check = "issuer-signature"
        signed = unverified.verified(key, typ=typ)
    except JwsError as error:
        raise SdJwtError(f"issuer-signed JWT: {error}", check) from error
    passed(check)
    return header, signed


def _key_binding_claims(key_binding: str, payload: dict[str, Any], passed: Passed) -> dict[str, Any]:
    """What the key in `cnf` signed, and no other key."""
    check = "kb-typ"
    try:
        unverified = take_apart(key_binding)
        for name, expected in (("typ", "kb+jwt"), ("alg", "ES256")):
            if unverified.header.get(name) != expected:
                raise JwsError(f"{name} is not {expected}")
        passed(check)
        check = "kb-signature"
        confirmation = payload.get("cnf")
        jwk = confirmation.get("jwk") if isinstance(confirmation, dict) else None
        if not isinstance(jwk, dict):
            raise JwsError("cnf holds no key")
        claims = unverified.verified(public_key_of(jwk), typ="kb+jwt")
    except JwsError as error:
        raise SdJwtError(f"key binding: {error}", check) from error
    passed(check)
    return claims


def _check_binding_time(issued_at: Any, now: datetime) -> None:
    if not _is_number(issued_at):
        raise SdJwtError("the key binding lacks a claim: iat", "kb-iat")
    if not -KEY_BINDING_WINDOW <= issued_at - int(now.timestamp()) <= KEY_BINDING_WINDOW:
        raise SdJwtError("the key binding was not made just now", "kb-iat")


def _compare(claims: dict[str, Any], name: str, expected: str, reason: str, check: str) -> None:
    """A claim of the key binding with what it has to be, a text."""
    said = claims.get(name)
    if not isinstance(said, str):
        raise SdJwtError(f"the key binding lacks a claim: {name}", check)
    if said != expected:
        raise SdJwtError(reason, check)


def _transaction_data_hashes(claims: dict[str, Any], transaction_data: Sequence[str]) -> tuple[str, ...]:
    """One hash for each string that was sent, in order, by the only algorithm there is (OpenID4VP §B.3.3)."""
    hashes = claims.get("transaction_data_hashes", [])
    if not isinstance(hashes, list) or claims.get("transaction_data_hashes_alg", "sha-256") != "sha-256":
        raise SdJwtError("the hashes of transaction data are not understood", "transaction-data")
    if not all(map(str.isascii, transaction_data)):
        raise SdJwtError("transaction data is not base64url", "transaction-data")
    if hashes != [digest(value) for value in transaction_data]:
        raise SdJwtError("the key binding is over other transaction data", "transaction-data")
    return tuple(hashes)


def _check_times(payload: dict[str, Any], now: datetime) -> None:
    moment = now.timestamp()
    for name in ("iat", "nbf", "exp"):
        if name in payload and not _is_number(payload[name]):
            raise SdJwtError(f"{name} is not a time", "exp")
    if payload.get("exp", math.inf) <= moment - LEEWAY:
        raise SdJwtError("expired", "exp")
    if max(payload.get("nbf", 0), payload.get("iat", 0)) > moment + LEEWAY:
        raise SdJwtError("not valid yet", "exp")


def _check_own_audience(payload: dict[str, Any], audience: str) -> None:
    """`aud` in the issuer-signed JWT restricts to whom it may be shown (RFC 7519 §4.1.3)."""
    allowed = payload.get("aud", audience)
    if audience not in (allowed if isinstance(allowed, list) else [allowed]):
        raise SdJwtError("issued for another audience", "kb-aud")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
