"""Compact JWS (RFC 7515) with ES256 only, and the members that every JWT has (RFC 7519). Pure.

Verification is strict (RFC 8725 §3): canonical base64url, JSON without duplicate names, `alg` exactly ES256,
no `crit`.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from infra import base64url, strict_json
from infra.base64url import Base64urlError
from infra.strict_json import NoNumberError, RepeatedNameError, StrictJsonError
from keys.private_keys.signer import Signer

MAX_LENGTH = 65_536  # of a received token
_ES256 = ec.ECDSA(SHA256())
# json.dumps with arguments would make an encoder at every call.
_to_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


class JwsError(ValueError):
    """A token is not a compact JWS that this service accepts; the text says why."""


def encode_segment(value: Mapping[str, Any]) -> str:
    """A JSON object as a segment of a token; raises ValueError for values that JSON lacks, such as NaN."""
    return base64url.encode(_to_json(value).encode())


def decode_segment(segment: str) -> dict[str, Any]:
    """The JSON object in a segment; raises JwsError for anything else, duplicate names included."""
    try:
        value = strict_json.read(octets(segment))
    except RepeatedNameError:
        raise JwsError("a name occurs twice in a JSON object") from None
    except NoNumberError as error:
        raise JwsError(f"{error.written} is not JSON") from None
    except StrictJsonError:
        raise JwsError("not JSON") from None
    if not isinstance(value, dict):
        raise JwsError("not a JSON object")
    return value


def octets(text: str) -> bytes:
    """The bytes that base64url text in a token or key encodes; raises JwsError when it is not base64url."""
    try:
        return base64url.decode(text)
    except Base64urlError as error:
        raise JwsError(str(error)) from None


def sign_segments(header: str, payload: str, signer: Signer) -> str:
    """The signed token. It takes encoded segments, so that a constant header is encoded only once."""
    signed = f"{header}.{payload}"
    return f"{signed}.{base64url.encode(signer.sign(signed.encode('ascii')))}"


def is_of_type(header: Mapping[str, Any], typ: str | None) -> bool:
    """Whether the header names this media type, written without `application/`; None: it names none.

    A `typ` without a slash stands for one with `application/` before it (RFC 7515 §4.1.9). Upper and lower
    case are the same (RFC 2045 §5.1), in ASCII alone: no other letter becomes one of these.
    """
    named = header.get("typ")
    if named is None or typ is None:
        return named is typ
    return isinstance(named, str) and named.isascii() and _short_type(named) == _short_type(typ)


def _short_type(typ: str) -> str:
    return typ.lower().removeprefix("application/")


def audiences_in(claims: Mapping[str, Any]) -> tuple[str, ...]:
    """The recipients that a token names in `aud`: one text, or several in an array (RFC 7519 §4.1.3).

    Empty if it names none, or if `aud` is neither. The caller decides whether others may be named beside it.
    """
    aud = claims.get("aud")
    named = aud if isinstance(aud, list) else [aud]
    texts = tuple(one for one in named if isinstance(one, str))
    return texts if len(texts) == len(named) else ()


class UnverifiedJws(NamedTuple):
    """A token split into its parts. Use the header only to find the key."""

    header: dict[str, Any]
    signed: str
    payload_segment: str
    signature_segment: str

    def verified(self, public_key: ec.EllipticCurvePublicKey, *, typ: str | None) -> dict[str, Any]:
        """The payload, if the `typ` (None: it has none) and the signature are right; raises JwsError."""
        if self.header.get("alg") != "ES256":
            raise JwsError("alg is not ES256")
        if not is_of_type(self.header, typ):
            raise JwsError(f"typ is not {typ}")
        if "crit" in self.header or "b64" in self.header:
            raise JwsError("the header asks for an extension")
        signature = octets(self.signature_segment)
        if not verify_signature(signature, self.signed.encode("ascii"), public_key):
            raise JwsError("the signature does not verify")
        return decode_segment(self.payload_segment)

    def __repr__(self) -> str:
        return "<UnverifiedJws>"


def take_apart(token: str, *, longest: int = MAX_LENGTH) -> UnverifiedJws:
    """The parts of a token, before its signature is verified; raises JwsError."""
    if len(token) > longest:
        raise JwsError(f"longer than {longest} characters")
    # The signature covers ASCII (RFC 7515 §5.2) and is verified before the payload is decoded.
    if not token.isascii():
        raise JwsError("a character that no token has")
    signed, _, signature = token.rpartition(".")
    header, dot, payload = signed.partition(".")
    if not dot or "." in payload:
        raise JwsError("not three segments")
    return UnverifiedJws(dict(_header(header)), signed, payload, signature)


def verify_signature(signature: bytes, message: bytes, public_key: ec.EllipticCurvePublicKey) -> bool:
    """Whether `signature` is the 64 bytes r‖s that the P-256 key made over `message` (RFC 7518 §3.4)."""
    if len(signature) != 64 or not isinstance(public_key.curve, ec.SECP256R1):
        return False
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
    try:
        public_key.verify(encode_dss_signature(r, s), message, _ES256)
    except InvalidSignature:
        return False
    return True


def is_signed_by(
    public_key: ec.EllipticCurvePublicKey | rsa.RSAPublicKey, signature: bytes, message: bytes
) -> bool:
    """Whether this key made the signature, by its own algorithm. Received tokens are verified with ES256."""
    if isinstance(public_key, ec.EllipticCurvePublicKey):
        return verify_signature(signature, message, public_key)
    try:
        public_key.verify(signature, message, PKCS1v15(), SHA256())
    except InvalidSignature:
        return False
    return True


@lru_cache(maxsize=64)
def _header(segment: str) -> dict[str, Any]:
    """The decoded header, cached because an issuer's tokens share it. Callers must not change it."""
    return decode_segment(segment)
