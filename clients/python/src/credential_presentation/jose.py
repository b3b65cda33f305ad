"""JWS and JWE: ES256 (RFC 7518 §3.4), ECDH-ES with AES-GCM (§4.6, §5.3)."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.concatkdf import ConcatKDFHash

from credential_presentation.errors import Rejected, demand

LONGEST_RESPONSE = 131_072  # characters of an encrypted answer
DEEPEST = 500  # objects and arrays inside each other in JSON
LARGEST = 2**53  # from here on a number of JSON is not exact everywhere (RFC 8259 §6)
PublicKey = ec.EllipticCurvePublicKey
Kind = TypeVar("Kind")
# What the Concat KDF hashes beside the shared secret (RFC 7518 §4.6.2).
CONTEXT = b"\0\0\0\x07A256GCM\0\0\0\0\0\0\0\0\0\0\x01\0"


def encode(octets: bytes) -> str:
    """Base64url without padding (RFC 7515 §2)."""
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()


def decode(text: object) -> bytes:
    """The octets of base64url without padding, in its only canonical form."""
    if not (isinstance(text, str) and re.fullmatch("[A-Za-z0-9_-]*", text) and len(text) % 4 != 1):
        raise Rejected("structure", "a part is not base64url")
    octets = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    demand(encode(octets) == text, "structure", "a part is not canonical base64url")
    return octets


def digest(text: str) -> str:
    """The SHA-256 of a text, as `sd_hash`, disclosures and transaction data use it (RFC 9901 §4.2.3)."""
    return encode(hashlib.sha256(text.encode(errors="replace")).digest())


def read_json(text: str | bytes, kind: type[Kind]) -> Kind:
    """The value of a JSON text, which is of this kind, not too deep, and has no object with a name twice."""
    try:
        value = json.loads(text, object_pairs_hook=_unique)
        if isinstance(value, kind) and _is_flat(value):
            return value
    except (ValueError, RecursionError):
        pass
    raise Rejected("structure", f"a part is not JSON of the kind {kind.__name__}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(members := dict(pairs)) != len(pairs):
        raise ValueError
    return members


def _is_flat(value: object) -> bool:
    """Whether nothing is nested so deeply that a later step would exceed Python's stack."""
    level, depth = [value], 0
    while level and depth <= DEEPEST:
        level = [
            inner
            for node in level
            if isinstance(node, dict | list)
            for inner in (node.values() if isinstance(node, dict) else node)
        ]
        depth += 1
    return not level


def at(node: object, *names: str) -> Any:
    """The value at a path of names, or None if there is none."""
    for name in names:
        node = node.get(name) if isinstance(node, dict) else None
    return node


def whole_number(value: object) -> int | None:
    """The value if it is an exact integer; `True` is none here, though it is one in Python."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < LARGEST:
        return value
    return None


def is_of_type(header: Mapping[str, Any], typ: str) -> bool:
    """Whether the header names this media type, written without `application/` (RFC 7515 §4.1.9).

    Upper and lower case of ASCII are the same (RFC 2045 §5.1).
    """
    named = header.get("typ")
    if not (isinstance(named, str) and named.isascii()):
        return False
    return named.lower().removeprefix("application/") == typ.lower()


def is_for(claims: Mapping[str, Any], recipient: str) -> bool:
    """Whether `aud` names this recipient, as a text or in an array of texts (RFC 7519 §4.1.3)."""
    aud = claims.get("aud")
    named = aud if isinstance(aud, list) else [aud]
    return all(isinstance(one, str) for one in named) and recipient in named


class Jwt:
    """A compact JWS (RFC 7515 §7.1) that carries an object. The constructor verifies no signature."""

    def __init__(self, text: object) -> None:
        parts = text.split(".") if isinstance(text, str) else []
        demand(len(parts) == 3, "structure", "a JWT has three parts")
        self.header, self.payload = (read_json(decode(part), dict) for part in parts[:2])
        self.signed, self.signature = f"{parts[0]}.{parts[1]}".encode(), decode(parts[2])

    def verify(self, key: PublicKey, typ: str, check: str, of_type: str = "", of_alg: str = "") -> None:
        """Verifies type and signature; ES256 is the only algorithm that is accepted.

        `check` names what fails; `of_type` and `of_alg` if it is the type or the algorithm.
        """
        demand(is_of_type(self.header, typ), of_type or check, f"it is not of the type {typ}")
        demand(len(self.signature) == 64, check, "the signature has not 64 bytes")
        demand(self.header.get("alg") == "ES256", of_alg or check, "alg is not ES256")
        plain = not {"crit", "b64"} & self.header.keys()  # RFC 7515 §4.1.11, RFC 7797 §3
        demand(plain, of_alg or check, "the header asks for an extension")
        r, s = (int.from_bytes(half, "big") for half in (self.signature[:32], self.signature[32:]))
        try:
            key.verify(utils.encode_dss_signature(r, s), self.signed, ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            raise Rejected(check, "the signature does not verify") from None


def public_key(jwk: object, check: str) -> PublicKey:
    """The public key of a JWK on the curve P-256 (RFC 7518 §6.2.1)."""
    if not isinstance(jwk, dict) or (jwk.get("kty"), jwk.get("crv")) != ("EC", "P-256") or "d" in jwk:
        raise Rejected(check, "there is no public key on the curve P-256")
    x, y = (decode(jwk.get(name)) for name in ("x", "y"))
    demand(len(x) == len(y) == 32, check, "a coordinate has not 32 bytes")
    try:
        return PublicKey.from_encoded_point(ec.SECP256R1(), b"\4" + x + y)
    except ValueError:
        raise Rejected(check, "the point is not on the curve") from None


def new_key(kid: str) -> dict[str, str]:
    """A fresh private key for one encrypted answer, as a JWK."""
    numbers = ec.generate_private_key(ec.SECP256R1()).private_numbers()
    point = {"x": numbers.public_numbers.x, "y": numbers.public_numbers.y, "d": numbers.private_value}
    coordinates = {name: encode(number.to_bytes(32, "big")) for name, number in point.items()}
    return {"kty": "EC", "crv": "P-256", "kid": kid, "use": "enc", "alg": "ECDH-ES", **coordinates}


def jwe_header(compact: object) -> dict[str, Any]:
    """The protected header of a compact JWE (RFC 7516 §7.1) with direct key agreement: no second part."""
    short = isinstance(compact, str) and len(compact) <= LONGEST_RESPONSE
    demand(short and re.fullmatch(r"[^.]+\.(\.[^.]+){3}", str(compact)), "encryption", "it is no such JWE")
    return read_json(decode(str(compact).partition(".")[0]), dict)


def decrypt(compact: object, jwk: Mapping[str, Any]) -> dict[str, Any]:
    """The object in a compact JWE that was encrypted to the private key of a JWK."""
    epk = jwe_header(compact).get("epk")
    own = ec.derive_private_key(int.from_bytes(decode(jwk["d"]), "big"), ec.SECP256R1())
    shared = own.exchange(ec.ECDH(), public_key(epk, "encryption"))
    key = ConcatKDFHash(hashes.SHA256(), 32, CONTEXT).derive(shared)
    try:
        head, _none, *others = str(compact).split(".")
        initial, sealed, tag = map(decode, others)
        demand((len(initial), len(tag)) == (12, 16), "encryption", "it is not encrypted with A256GCM")
        opened = AESGCM(key).decrypt(initial, sealed + tag, head.encode())
    except (InvalidTag, ValueError):
        raise Rejected("encryption", "it was not encrypted to this key, or it was changed") from None
    return read_json(opened, dict)
