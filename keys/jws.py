"""Compact JWS (RFC 7515) with ES256 and nothing else; strict on the way in, fast on the way out. Pure.

Strict (RFC 8725 §3): canonical base64url, JSON without duplicate names, `alg` exactly ES256, no `crit`.
"""

import json
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from keys.private_keys.signer import Signer

MAX_LENGTH = 65_536  # of a token taken in
_ES256 = ec.ECDSA(SHA256())
_URL_SAFE = bytes.maketrans(b"+/", b"-_")
# What base64 has and base64url has not becomes what neither has.
_FROM_URL_SAFE = bytes.maketrans(b"-_+/=", b"+/!!!")
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
# What a segment may end with, by its length modulo 4: the bits that stand for nothing are 0 (RFC 4648 §3.5).
_LAST = {0: frozenset(_ALPHABET), 2: frozenset(_ALPHABET[::16]), 3: frozenset(_ALPHABET[::4])}
# An encoder made once: json.dumps with arguments would make one for every call.
_to_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


class JwsError(ValueError):
    """A token is not a compact JWS that this service accepts; the text says why."""


def b64url(data: bytes) -> str:
    """Base64url without padding (RFC 7515 §2); the shortest way to it, because every claim takes it twice."""
    return b2a_base64(data, newline=False).translate(_URL_SAFE, b"=").decode()


def from_b64url(text: str) -> bytes:
    """The bytes of canonical, unpadded base64url; raises JwsError for anything else."""
    data, over = text.encode("ascii", "replace"), len(text) % 4
    try:
        found = a2b_base64(data.translate(_FROM_URL_SAFE) + b"=" * (-over % 4), strict_mode=True)
    except Base64Error:
        raise JwsError("not base64url") from None
    if data and data[-1] not in _LAST[over]:
        raise JwsError("not canonical base64url")
    return found


def encode_segment(value: Mapping[str, Any]) -> str:
    """A JSON object as one segment of a token; raises ValueError for what JSON cannot say (NaN)."""
    return b64url(_to_json(value).encode())


def decode_segment(segment: str) -> dict[str, Any]:
    """The JSON object in a segment; raises JwsError for anything else, duplicate names included."""
    try:
        octets = from_b64url(segment)
        value = strict_json(octets)
        if b"\\u" in octets:
            _to_json(value).encode()  # half a character (a lone surrogate) cannot be written down again
    except (UnicodeDecodeError, RecursionError, ValueError) as error:
        raise error if isinstance(error, JwsError) else JwsError("not JSON") from None
    if not isinstance(value, dict):
        raise JwsError("not a JSON object")
    return value


def strict_json(octets: bytes) -> Any:
    """A JSON value in UTF-8 that can be read in one way only; raises ValueError or RecursionError.

    And it can be written: half a surrogate pair is a JSON string and yet no text, 1e999 a number and none.
    """
    try:
        value = orjson.loads(octets)
        if orjson.dumps(value) == octets:  # written again it is the same: no name is there twice, no NaN
            return value
    except (ValueError, TypeError):
        pass  # the other one has fewer limits, and finds out what is wrong
    value = _from_json(octets.decode())
    _to_json(value).encode()
    return value


def sign_compact(header: Mapping[str, Any], payload: Mapping[str, Any], signer: Signer) -> str:
    """The signed token; `header` carries `alg` ES256 and whatever else the token's kind asks for."""
    if header.get("alg") != "ES256":
        raise ValueError("this room signs with ES256 only")
    return sign_segments(encode_segment(header), encode_segment(payload), signer)


def sign_segments(header: str, payload: str, signer: Signer) -> str:
    """The signed token from segments encoded already: a header that never changes is encoded once."""
    signed = f"{header}.{payload}"
    return f"{signed}.{b64url(signer.sign(signed.encode('ascii')))}"


class UnverifiedJws(NamedTuple):
    """A token taken apart. The header is good for finding the key, and for nothing else."""

    header: dict[str, Any]
    signed: str
    payload_segment: str
    signature_segment: str

    def verified(self, public_key: ec.EllipticCurvePublicKey, *, typ: str | None) -> dict[str, Any]:
        """The payload of a token of kind `typ` (None: it says none) signed by `public_key`, or JwsError."""
        if self.header.get("alg") != "ES256":
            raise JwsError("alg is not ES256")
        if self.header.get("typ") != typ:
            raise JwsError(f"typ is not {typ}")
        if "crit" in self.header or "b64" in self.header:
            raise JwsError("the header asks for an extension")
        signature = from_b64url(self.signature_segment)
        if not verify_signature(signature, self.signed.encode("ascii"), public_key):
            raise JwsError("the signature does not verify")
        return decode_segment(self.payload_segment)

    def __repr__(self) -> str:
        return "<UnverifiedJws>"


def take_apart(token: str) -> UnverifiedJws:
    """The token before any signature was looked at; raises JwsError."""
    if len(token) > MAX_LENGTH:
        raise JwsError(f"longer than {MAX_LENGTH} characters")
    if not token.isascii():  # the signature is over ASCII (RFC 7515 §5.2), and looked at before the payload
        raise JwsError("a character that no token has")
    if token.count(".") != 2:
        raise JwsError("not three segments")
    signed, _, signature = token.rpartition(".")
    header, _, payload = signed.partition(".")
    return UnverifiedJws(dict(_header(header)), signed, payload, signature)


def verify_compact(token: str, public_key: ec.EllipticCurvePublicKey, *, typ: str) -> dict[str, Any]:
    """The payload of a token of kind `typ` signed by `public_key`; raises JwsError otherwise."""
    return take_apart(token).verified(public_key, typ=typ)


def verify_signature(signature: bytes, message: bytes, public_key: ec.EllipticCurvePublicKey) -> bool:
    """Whether `signature` is the 64 bytes r‖s of `public_key`, which is on P-256, over `message`."""
    if len(signature) != 64 or not isinstance(public_key.curve, ec.SECP256R1):
        return False
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
    try:
        public_key.verify(encode_dss_signature(r, s), message, _ES256)
    except InvalidSignature:
        return False
    return True


@lru_cache(maxsize=64)
def _header(segment: str) -> dict[str, Any]:
    """An issuer's tokens share their header, and it is most of what there is to decode. Not to be changed."""
    return decode_segment(segment)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise JwsError("a name occurs twice in a JSON object")
    return value


def _refuse_constant(name: str) -> None:
    raise JwsError(f"{name} is not JSON")


_from_json = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse_constant).decode
