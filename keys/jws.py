"""Compact JWS (RFC 7515) with ES256 and nothing else; strict on the way in, fast on the way out. Pure.

Strict (RFC 8725 §3): canonical base64url, JSON without duplicate names, `alg` exactly ES256, no `crit`.
"""

import json
import re
from binascii import a2b_base64, b2a_base64
from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from keys.signer import Signer

MAX_LENGTH = 65_536  # of a token taken in
_ES256 = ec.ECDSA(SHA256())
_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_SEGMENT = re.compile(r"[A-Za-z0-9_-]*", re.ASCII)
# An encoder made once: json.dumps with arguments would make one for every call.
_to_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


class JwsError(ValueError):
    """A token is not a compact JWS that this service accepts; the text says why."""


def b64url(data: bytes) -> str:
    """Base64url without padding (RFC 7515 §2); the shortest way to it, because every claim takes it twice."""
    return b2a_base64(data, newline=False).translate(_URL_SAFE, b"=").decode()


def from_b64url(text: str) -> bytes:
    """The bytes of canonical, unpadded base64url; raises JwsError for anything else."""
    if not _SEGMENT.fullmatch(text) or len(text) % 4 == 1:
        raise JwsError("not base64url")
    data = a2b_base64(text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4))
    if b64url(data) != text:
        raise JwsError("not canonical base64url")
    return data


def encode_segment(value: Mapping[str, Any]) -> str:
    """A JSON object as one segment of a token; raises ValueError for what JSON cannot say (NaN)."""
    return b64url(_to_json(value).encode())


def decode_segment(segment: str) -> dict[str, Any]:
    """The JSON object in a segment; raises JwsError for anything else, duplicate names included."""
    try:
        value = json.loads(
            from_b64url(segment).decode(), object_pairs_hook=_unique, parse_constant=_refuse_constant
        )
    except (UnicodeDecodeError, RecursionError, ValueError) as error:
        raise error if isinstance(error, JwsError) else JwsError("not JSON") from None
    if not isinstance(value, dict):
        raise JwsError("not a JSON object")
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


def unverified_header(token: str) -> dict[str, Any]:
    """The header, before any signature was looked at: good for finding the key, for nothing else."""
    return decode_segment(_split(token)[0])


def verify_compact(token: str, public_key: ec.EllipticCurvePublicKey, *, typ: str) -> dict[str, Any]:
    """The payload of a token of kind `typ` signed by `public_key`; raises JwsError otherwise."""
    header_segment, payload_segment, signature_segment = _split(token)
    header = decode_segment(header_segment)
    if header.get("alg") != "ES256":
        raise JwsError("alg is not ES256")
    if header.get("typ") != typ:
        raise JwsError(f"typ is not {typ}")
    if "crit" in header or "b64" in header:
        raise JwsError("the header asks for an extension")
    signed = f"{header_segment}.{payload_segment}".encode("ascii")
    if not verify_signature(from_b64url(signature_segment), signed, public_key):
        raise JwsError("the signature does not verify")
    return decode_segment(payload_segment)


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


def _split(token: str) -> tuple[str, str, str]:
    if len(token) > MAX_LENGTH:
        raise JwsError(f"longer than {MAX_LENGTH} characters")
    if token.count(".") != 2:
        raise JwsError("not three segments")
    header, payload, signature = token.split(".")
    return header, payload, signature


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise JwsError("a name occurs twice in a JSON object")
    return value


def _refuse_constant(name: str) -> None:
    raise JwsError(f"{name} is not JSON")
