"""JWS and JWE on the curve P-256: ES256 (RFC 7518 §3.4) and ECDH-ES with AES-GCM (RFC 7518 §4.6, §5.3)."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.concatkdf import ConcatKDFHash

from credential_presentation.errors import Rejected, demand

CONTENT_KEYS = {"A128GCM": 16, "A256GCM": 32}  # bytes of the key, by `enc`
LONGEST_RESPONSE = 131_072  # characters of an encrypted answer


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
    return encode(hashlib.sha256(text.encode()).digest())


def read_object(text: str | bytes) -> dict[str, Any]:
    """The object of a JSON text."""
    if not isinstance(found := read_json(text), dict):
        raise Rejected("structure", "a part is not a JSON object")
    return found


def read_json(text: str | bytes) -> Any:
    """The value of a JSON text in which no object has a name twice."""
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        raise Rejected("structure", "a part is not JSON") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(found := dict(pairs)) != len(pairs):
        raise ValueError
    return found


def at(node: object, *names: str) -> Any:
    """The value at a path of names, or None if there is none."""
    for name in names:
        node = node.get(name) if isinstance(node, dict) else None
    return node


def whole_number(value: object) -> int | None:
    """The value if it is an integer; `True` is none here, though it is one in Python."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


class Jwt:
    """A compact JWS (RFC 7515 §7.1) that carries an object. The constructor verifies no signature."""

    def __init__(self, text: object) -> None:
        parts = text.split(".") if isinstance(text, str) else []
        demand(len(parts) == 3, "structure", "a JWT has three parts")
        self.header, self.payload = read_object(decode(parts[0])), read_object(decode(parts[1]))
        self.signed, self.signature = f"{parts[0]}.{parts[1]}".encode(), decode(parts[2])

    def verify(self, key: ec.EllipticCurvePublicKey, check: str) -> None:
        """Verifies the signature with ES256, the only algorithm that is accepted."""
        demand(self.header.get("alg") == "ES256" and "crit" not in self.header, check, "alg is not ES256")
        demand(len(self.signature) == 64, check, "a signature has 64 bytes")
        r, s = (int.from_bytes(half, "big") for half in (self.signature[:32], self.signature[32:]))
        try:
            key.verify(utils.encode_dss_signature(r, s), self.signed, ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            raise Rejected(check, "the signature does not verify") from None


def public_key(jwk: object, check: str) -> ec.EllipticCurvePublicKey:
    """The public key of a JWK on the curve P-256 (RFC 7518 §6.2.1)."""
    if not isinstance(jwk, dict) or (jwk.get("kty"), jwk.get("crv")) != ("EC", "P-256") or "d" in jwk:
        raise Rejected(check, "there is no public key on the curve P-256")
    x, y = (int.from_bytes(decode(jwk.get(name)), "big") for name in ("x", "y"))
    try:
        return ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()
    except ValueError:
        raise Rejected(check, "the point is not on the curve") from None


def private_key(jwk: Mapping[str, Any]) -> ec.EllipticCurvePrivateKey:
    """The private key of a JWK of the application itself."""
    return ec.derive_private_key(int.from_bytes(decode(jwk["d"]), "big"), ec.SECP256R1())


def new_key(kid: str) -> dict[str, str]:
    """A fresh private key for one encrypted answer, as a JWK."""
    key = ec.generate_private_key(ec.SECP256R1())
    numbers = key.private_numbers()
    point = {"x": numbers.public_numbers.x, "y": numbers.public_numbers.y, "d": numbers.private_value}
    coordinates = {name: encode(number.to_bytes(32, "big")) for name, number in point.items()}
    return {"kty": "EC", "crv": "P-256", "kid": kid, "use": "enc", "alg": "ECDH-ES", **coordinates}


def sign(payload: Mapping[str, Any], jwk: Mapping[str, Any]) -> str:
    """A JWT signed with ES256 by the private key of a JWK."""
    header = {"alg": "ES256", "kid": jwk["kid"]}
    signed = ".".join(encode(json.dumps(part).encode()) for part in (header, payload))
    r, s = utils.decode_dss_signature(private_key(jwk).sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{signed}.{encode(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def jwe_header(compact: object) -> dict[str, Any]:
    """The protected header of a compact JWE (RFC 7516 §7.1)."""
    demand(isinstance(compact, str) and len(compact) <= LONGEST_RESPONSE, "encryption", "it is too long")
    return read_object(decode(str(compact).partition(".")[0]))


def decrypt(compact: object, jwk: Mapping[str, Any]) -> dict[str, Any]:
    """The object in a compact JWE that was encrypted to the private key of a JWK."""
    header, parts = jwe_header(compact), str(compact).split(".")
    demand(len(parts) == 5 and not parts[1], "encryption", "it is not a JWE for direct key agreement")
    size = CONTENT_KEYS.get(str(header.get("enc")))
    if header.get("alg") != "ECDH-ES" or not size or {"crit", "zip"} & set(header):
        raise Rejected("encryption", "the header names another algorithm")
    shared = private_key(jwk).exchange(ec.ECDH(), public_key(header.get("epk"), "encryption"))
    texts = [str(header["enc"]).encode(), decode(header.get("apu", "")), decode(header.get("apv", ""))]
    info = b"".join(len(each).to_bytes(4, "big") + each for each in texts) + (size * 8).to_bytes(4, "big")
    key = ConcatKDFHash(hashes.SHA256(), size, info).derive(shared)  # RFC 7518 §4.6.2
    initial, sealed, tag = map(decode, parts[2:])
    demand((len(initial), len(tag)) == (12, 16), "encryption", "a part has another length")
    try:
        return read_object(AESGCM(key).decrypt(initial, sealed + tag, parts[0].encode()))
    except InvalidTag:
        raise Rejected("encryption", "it was not encrypted to this key, or it was changed") from None
