"""Compact JWS (RFC 7515) with ES256 and nothing else; strict on the way in, fast on the way out. Pure.

Strict (RFC 8725 §3): canonical base64url, JSON without duplicate names, `alg` exactly ES256, no `crit`.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from infra import base64url, strict_json
from infra.base64url import Base64urlError
from infra.strict_json import NoNumberError, RepeatedNameError, StrictJsonError
from keys.private_keys.signer import Signer

MAX_LENGTH = 65_536  # of a token taken in
_ES256 = ec.ECDSA(SHA256())
# An encoder made once: json.dumps with arguments would make one for every call.
_to_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


class JwsError(ValueError):
    """A token is not a compact JWS that this service accepts; the text says why."""


def encode_segment(value: Mapping[str, Any]) -> str:
    """A JSON object as one segment of a token; raises ValueError for what JSON cannot say (NaN)."""
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
    """What stands in base64url in a token or a key; raises JwsError for what is no base64url."""
    try:
        return base64url.decode(text)
    except Base64urlError as error:
        raise JwsError(str(error)) from None


def sign_compact(header: Mapping[str, Any], payload: Mapping[str, Any], signer: Signer) -> str:
    """The signed token; `header` carries `alg` ES256 and whatever else the token's kind asks for."""
    if header.get("alg") != "ES256":
        raise ValueError("this room signs with ES256 only")
    return sign_segments(encode_segment(header), encode_segment(payload), signer)


def sign_segments(header: str, payload: str, signer: Signer) -> str:
    """The signed token from segments encoded already: a header that never changes is encoded once."""
    signed = f"{header}.{payload}"
    return f"{signed}.{base64url.encode(signer.sign(signed.encode('ascii')))}"


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
        signature = octets(self.signature_segment)
        if not verify_signature(signature, self.signed.encode("ascii"), public_key):
            raise JwsError("the signature does not verify")
        return decode_segment(self.payload_segment)

    def __repr__(self) -> str:
        return "<UnverifiedJws>"


def take_apart(token: str, *, longest: int = MAX_LENGTH) -> UnverifiedJws:
    """The token before any signature was looked at; raises JwsError."""
    if len(token) > longest:
        raise JwsError(f"longer than {longest} characters")
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
