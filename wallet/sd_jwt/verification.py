"""Verifies SD-JWTs in the order of RFC 9901 §7. Pure. Every refusal is an SdJwtError.

Each check has a name. `passed` is called with the name of each check that is passed, and `SdJwtError.check`
is the name of the one that failed.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec

from keys.jwk import public_key_of
from keys.jws import JwsError, audiences_in, is_of_type, take_apart
from wallet.sd_jwt.issuance import SdJwtError, digest
from wallet.sd_jwt.parsing import UnverifiedSdJwt, parse
from wallet.sd_jwt.processing import FORM, Processing

LEEWAY = 60  # seconds by which clocks may differ
KEY_BINDING_WINDOW = 300  # seconds before and after now in which a key binding may have been made
SD_JWT_VC_CLAIMS = ("exp", "iss", "vct")  # required in every credential

# The issuer's key, or a function that finds it by the unverified header, or raises SdJwtError.
IssuerKey = ec.EllipticCurvePublicKey | Callable[[Mapping[str, Any]], ec.EllipticCurvePublicKey]
Passed = Callable[[str], object]
PayloadCheck = Callable[[Mapping[str, Any]], object]  # checks the processed payload; raises SdJwtError


def _ignore(about: Any) -> None:
    """The default of `passed` and `check_payload`."""


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
    passed: Passed = _ignore,
    check_payload: PayloadCheck = _ignore,
) -> dict[str, Any]:
    """Verify a presentation (§7.3) and return its payload with the disclosed claims; raises SdJwtError.

    A key binding for this audience and request is required, whatever the token says. issuer_key: the key of
    an issuer that the caller trusts. transaction_data: the strings of the request in order, all of which must
    be bound.
    """
    received = parse(token)
    if not received.key_binding:
        raise SdJwtError("there is no key binding")
    payload = verify_issuer_signed(received, issuer_key, now, typ, required, passed)
    check_payload(payload)
    claims = _key_binding_claims(received.key_binding, payload, passed)
    _check_binding_time(claims.get("iat"), now)
    passed("kb-iat")
    _compare(claims, "nonce", nonce, "the key binding has another nonce", "kb-nonce")
    passed("kb-nonce")
    _compare(claims, "aud", audience, "the key binding is for another audience", "kb-aud")
    _check_own_audience(payload, audience)
    passed("kb-aud")
    _compare(claims, "sd_hash", received.sd_hash, "the key binding is over other disclosures", "kb-sd-hash")
    passed("kb-sd-hash")
    _check_transaction_data(claims, transaction_data)
    passed("transaction-data")
    return payload


def verify_issuer_signed(
    received: UnverifiedSdJwt,
    issuer_key: IssuerKey,
    now: datetime,
    typ: str,
    required: Collection[str],
    passed: Passed,
) -> dict[str, Any]:
    """Verify everything but the key binding (§7.1), and return the payload with the disclosed claims."""
    signed = _verify_signature(received.jwt, issuer_key, typ, passed)
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
    return payload


def _verify_signature(jwt: str, issuer_key: IssuerKey, typ: str, passed: Passed) -> dict[str, Any]:
    """The payload of the issuer-signed JWT; the key is looked up after `alg` and `typ` were checked."""
    check = "structure"
    try:
        unverified = take_apart(jwt)
        passed(check)
        header = unverified.header
        check = "alg"
        _demand_algorithm(header)
        passed(check)
        check = "typ"
        _demand_type(header, typ)
        passed(check)
        key = issuer_key(header) if callable(issuer_key) else issuer_key
        check = "issuer-signature"
        signed = unverified.verified(key, typ=typ)
    except JwsError as error:
        raise SdJwtError(f"issuer-signed JWT: {error}", check) from error
    passed(check)
    return signed


def _key_binding_claims(key_binding: str, payload: dict[str, Any], passed: Passed) -> dict[str, Any]:
    """The claims of the Key Binding JWT, which the key in `cnf` must have signed."""
    check = "kb-typ"
    try:
        unverified = take_apart(key_binding)
        _demand_type(unverified.header, "kb+jwt")
        _demand_algorithm(unverified.header)
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


def _demand_algorithm(header: Mapping[str, Any]) -> None:
    if header.get("alg") != "ES256":
        raise JwsError("alg is not ES256")


def _demand_type(header: Mapping[str, Any], typ: str) -> None:
    if not is_of_type(header, typ):
        raise JwsError(f"typ is not {typ}")


def _check_binding_time(issued_at: Any, now: datetime) -> None:
    if not _is_number(issued_at):
        raise SdJwtError("the key binding lacks a claim: iat", "kb-iat")
    if not -KEY_BINDING_WINDOW <= issued_at - int(now.timestamp()) <= KEY_BINDING_WINDOW:
        raise SdJwtError("the key binding was not made just now", "kb-iat")


def _compare(claims: dict[str, Any], name: str, expected: str, reason: str, check: str) -> None:
    """Check that a claim of the key binding is the expected text.

    So is `aud`, which may be no array there (RFC 9901 §4.3).
    """
    said = claims.get(name)
    if not isinstance(said, str):
        raise SdJwtError(f"the key binding lacks a claim: {name}", check)
    if said != expected:
        raise SdJwtError(reason, check)


def _check_transaction_data(claims: dict[str, Any], transaction_data: Sequence[str]) -> None:
    """One SHA-256 hash for each string of the request, in order (OpenID4VP 1.0 §B.3.3)."""
    hashes = claims.get("transaction_data_hashes", [])
    if not isinstance(hashes, list) or claims.get("transaction_data_hashes_alg", "sha-256") != "sha-256":
        raise SdJwtError("the hashes of transaction data are not understood", "transaction-data")
    if not all(map(str.isascii, transaction_data)):
        raise SdJwtError("transaction data is not base64url", "transaction-data")
    if hashes != [digest(value) for value in transaction_data]:
        raise SdJwtError("the key binding is over other transaction data", "transaction-data")


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
    """`aud` in the issuer-signed JWT restricts its recipients (RFC 7519 §4.1.3)."""
    if "aud" in payload and audience not in audiences_in(payload):
        raise SdJwtError("issued for another audience", "kb-aud")


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)  # `bool` is a kind of `int`
