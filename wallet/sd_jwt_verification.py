"""Verifying SD-JWTs in the order of RFC 9901 §7. Pure. Whatever does not fit raises SdJwtError, nothing else.

Whether a key binding must be there is decided by which function is called, never by the token (§7.3).
"""

import json
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec

from keys.jwk import public_key_of
from keys.jws import JwsError, unverified_header, verify_compact
from wallet.sd_jwt import ALWAYS_PLAIN, RESERVED, Disclosure, KeyBinding, Path, SdJwt, SdJwtError, digest
from wallet.sd_jwt_parsing import UnverifiedDisclosure, UnverifiedSdJwt, parse

MAX_DEPTH = 32  # of objects, arrays and disclosures within one another
LEEWAY = 60  # seconds that clocks may differ
KEY_BINDING_WINDOW = 300  # seconds before and after now in which a key binding may have been made
SD_JWT_VC_CLAIMS = ("iss", "vct", "exp")  # without which no credential of this kind is accepted


@dataclass(frozen=True, slots=True)
class VerifiedSdJwt:
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
    issuer_key: ec.EllipticCurvePublicKey,
    now: datetime,
    typ: str = "dc+sd-jwt",
    required: Collection[str] = SD_JWT_VC_CLAIMS,
) -> VerifiedSdJwt:
    """An SD-JWT as its issuer hands it out (§7.1, §7.2): a key binding in it is refused.

    `issuer_key` says that the caller found this key to be that of an issuer it trusts.
    """
    received = parse(token)
    if received.key_binding:
        raise SdJwtError("a key binding where none may be")
    return _verify_issuer_signed(received, issuer_key, now, typ, required)


def verify(
    token: str,
    *,
    issuer_key: ec.EllipticCurvePublicKey,
    audience: str,
    nonce: str,
    now: datetime,
    transaction_data: Sequence[str] = (),
    typ: str = "dc+sd-jwt",
    required: Collection[str] = SD_JWT_VC_CLAIMS,
) -> VerifiedSdJwt:
    """A presentation made for this audience and request (§7.3); a key binding must be there and fit.

    `transaction_data` are the strings that were sent with the request, in order; all must be bound.
    """
    received = parse(token)
    if not received.key_binding:
        raise SdJwtError("there is no key binding")
    verified = _verify_issuer_signed(received, issuer_key, now, typ, required)
    _check_own_audience(verified.payload, audience)
    binding = _verify_key_binding(received.key_binding, verified.payload, now)
    if binding.nonce != nonce:
        raise SdJwtError("the key binding has another nonce")
    if binding.audience != audience:
        raise SdJwtError("the key binding is for another audience")
    if binding.sd_hash != received.sd_hash:
        raise SdJwtError("the key binding is over other disclosures")
    if binding.transaction_data_hashes != tuple(digest(value) for value in transaction_data):
        raise SdJwtError("the key binding is over other transaction data")
    return replace(verified, key_binding=binding)


def _verify_issuer_signed(
    received: UnverifiedSdJwt,
    issuer_key: ec.EllipticCurvePublicKey,
    now: datetime,
    typ: str,
    required: Collection[str],
) -> VerifiedSdJwt:
    """§7.1: the signature, the disclosures, then the claims as they stand with what is disclosed."""
    try:
        signed = verify_compact(received.jwt, issuer_key, typ=typ)
        header = unverified_header(received.jwt)  # verified by the line above
    except JwsError as error:
        raise SdJwtError(f"issuer-signed JWT: {error}") from error
    if signed.pop("_sd_alg", "sha-256") != "sha-256":
        raise SdJwtError("digests other than sha-256")
    processing = _Processing(received.disclosures)
    payload = processing.object(signed, ())
    if processing.waiting:
        raise SdJwtError("a disclosure that no digest refers to")
    _check_writable(header, payload)
    if missing := [name for name in required if name not in payload]:
        raise SdJwtError(f"{', '.join(missing)} missing")
    _check_times(payload, now)
    # In the order received: `sd_hash` is over it.
    disclosures = {processing.found[key]: Disclosure(d.text) for key, d in received.disclosures.items()}
    return VerifiedSdJwt(header, payload, SdJwt(received.jwt, disclosures))


class _Processing:
    """Puts what is disclosed in the place of its digest (§7.1 step 3), and refuses what may not be."""

    def __init__(self, disclosures: dict[str, UnverifiedDisclosure]) -> None:
        self.waiting = dict(disclosures)
        self.found: dict[str, Path] = {}  # by digest
        self._seen: set[str] = set()

    def object(self, members: dict[str, Any], path: Path) -> dict[str, Any]:
        """The object with its withheld members that are disclosed, and without `_sd`."""
        digests = members.pop("_sd", [])
        if not isinstance(digests, list):
            raise SdJwtError("_sd is not an array")
        if RESERVED & members.keys():
            raise SdJwtError("a reserved name where none may be")
        result = {name: self._value(value, (*path, name)) for name, value in members.items()}
        for key in digests:
            if content := self._look_up(key, length=3):
                _, name, value = content
                self._check_name(name, result, path)
                result[name] = self._disclosed(key, value, (*path, name))
        return result

    def _value(self, value: Any, path: Path) -> Any:
        if len(path) > MAX_DEPTH:
            raise SdJwtError(f"deeper than {MAX_DEPTH}")
        if isinstance(value, dict):
            return self.object(value, path)
        if isinstance(value, list):
            return self._array(value, path)
        return value

    def _array(self, elements: list[Any], path: Path) -> list[Any]:
        result: list[Any] = []
        for element in elements:
            here = (*path, len(result))
            if isinstance(element, dict) and element.keys() == {"..."}:
                if content := self._look_up(element["..."], length=2):
                    result.append(self._disclosed(element["..."], content[1], here))
            else:
                result.append(self._value(element, here))
        return result

    def _look_up(self, key: Any, *, length: int) -> list[Any] | None:
        """The content a digest refers to; None when it is withheld, or a decoy."""
        if not isinstance(key, str):
            raise SdJwtError("a digest that is no text")
        if key in self._seen:
            raise SdJwtError("a digest occurs twice")
        self._seen.add(key)
        disclosure = self.waiting.get(key)
        if disclosure is None:
            return None
        if len(disclosure.content) != length:
            raise SdJwtError("a disclosed element where a member belongs, or the reverse")
        return disclosure.content

    def _disclosed(self, key: str, value: Any, path: Path) -> Any:
        self.found[key] = path
        del self.waiting[key]
        return self._value(value, path)

    def _check_name(self, name: Any, members: dict[str, Any], path: Path) -> None:
        if not isinstance(name, str) or name in RESERVED:
            raise SdJwtError("a disclosure without a proper name")
        if name in members:
            raise SdJwtError("a disclosure of a name that is there already")
        if not path and name in ALWAYS_PLAIN:
            raise SdJwtError(f"{name} may not be withheld")


def _verify_key_binding(key_binding: str, payload: dict[str, Any], now: datetime) -> KeyBinding:
    """§7.3 step 5: signed just now by the key in `cnf`; what it says is for the caller to compare."""
    confirmation = payload.get("cnf")
    jwk = confirmation.get("jwk") if isinstance(confirmation, dict) else None
    if not isinstance(jwk, dict):
        raise SdJwtError("cnf holds no key")
    try:
        claims = verify_compact(key_binding, public_key_of(jwk), typ="kb+jwt")
    except JwsError as error:
        raise SdJwtError(f"key binding: {error}") from error
    issued_at: Any = claims.get("iat")
    hashes = claims.get("transaction_data_hashes", [])
    texts = [claims.get(name) for name in ("aud", "nonce", "sd_hash")]
    if not all(isinstance(text, str) for text in texts) or not _is_number(issued_at):
        raise SdJwtError("the key binding lacks a claim")
    if not -KEY_BINDING_WINDOW <= issued_at - int(now.timestamp()) <= KEY_BINDING_WINDOW:
        raise SdJwtError("the key binding was not made just now")
    if not isinstance(hashes, list) or claims.get("transaction_data_hashes_alg", "sha-256") != "sha-256":
        raise SdJwtError("the key binding's hashes of transaction data are not understood")
    audience, nonce, sd_hash = texts
    return KeyBinding(issued_at, str(audience), str(nonce), str(sd_hash), tuple(hashes))


def _check_writable(*objects: dict[str, Any]) -> None:
    """Half a surrogate pair is a JSON string and yet no text; 1e999 is a JSON number and yet none here."""
    try:
        json.dumps(objects, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:
        raise SdJwtError("a value that cannot be written down") from error


def _check_times(payload: dict[str, Any], now: datetime) -> None:
    moment = now.timestamp()
    for name in ("iat", "nbf", "exp"):
        if name in payload and not _is_number(payload[name]):
            raise SdJwtError(f"{name} is not a time")
    if payload.get("exp", math.inf) <= moment - LEEWAY:
        raise SdJwtError("expired")
    if max(payload.get("nbf", 0), payload.get("iat", 0)) > moment + LEEWAY:
        raise SdJwtError("not valid yet")


def _check_own_audience(payload: dict[str, Any], audience: str) -> None:
    """`aud` in the issuer-signed JWT restricts to whom it may be shown (RFC 7519 §4.1.3)."""
    allowed = payload.get("aud", audience)
    if audience not in (allowed if isinstance(allowed, list) else [allowed]):
        raise SdJwtError("issued for another audience")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
