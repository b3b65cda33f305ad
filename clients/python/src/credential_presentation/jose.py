"""JWS, JWE and their certificates: ES256 (RFC 7518 §3.4), ECDH-ES with AES-GCM (§4.6, §5.3), `x5c`."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, TypeVar
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.exceptions import InvalidSignature, InvalidTag, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.concatkdf import ConcatKDFHash

from credential_presentation.errors import Rejected, demand

LONGEST_RESPONSE, MOST = 131_072, 5  # characters of an encrypted answer, and certificates below the root
PublicKey = ec.EllipticCurvePublicKey
Kind = TypeVar("Kind")
UNREADABLE = (ValueError, TypeError, UnsupportedAlgorithm, x509.DuplicateExtension, x509.ExtensionNotFound)
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
    """The value of a JSON text, which is of this kind and has no object with a name twice."""
    try:
        if isinstance(found := json.loads(text, object_pairs_hook=_unique), kind):
            return found
    except (ValueError, RecursionError):
        pass
    raise Rejected("structure", f"a part is not JSON of the kind {kind.__name__}")


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
        self.header, self.payload = (read_json(decode(part), dict) for part in parts[:2])
        self.signed, self.signature = f"{parts[0]}.{parts[1]}".encode(), decode(parts[2])

    def verify(self, key: PublicKey, typ: str, check: str, of_type: str = "", of_alg: str = "") -> None:
        """Verifies type and signature; ES256 is the only algorithm that is accepted.

        `check` names what fails; `of_type` and `of_alg` if it is the type or the algorithm.
        """
        demand(self.header.get("typ") == typ, of_type or check, f"it is not of the type {typ}")
        es256 = self.header.get("alg") == "ES256" and "crit" not in self.header
        demand(es256, of_alg or check, "alg is not ES256")
        r, s = (int.from_bytes(half, "big") for half in (self.signature[:32], self.signature[32:]))
        try:
            key.verify(utils.encode_dss_signature(r, s), self.signed, ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            raise Rejected(check, "the signature does not verify") from None


def public_key(jwk: object, check: str) -> PublicKey:
    """The public key of a JWK on the curve P-256 (RFC 7518 §6.2.1)."""
    if not isinstance(jwk, dict) or (jwk.get("kty"), jwk.get("crv")) != ("EC", "P-256") or "d" in jwk:
        raise Rejected(check, "there is no public key on the curve P-256")
    x, y = (int.from_bytes(decode(jwk.get(name)), "big") for name in ("x", "y"))
    try:
        return ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()
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
        head, _none, initial, sealed, tag = str(compact).split(".")
        opened = AESGCM(key).decrypt(decode(initial), decode(sealed) + decode(tag), head.encode())
    except (InvalidTag, ValueError):
        raise Rejected("encryption", "it was not encrypted to this key, or it was changed") from None
    return read_json(opened, dict)


def read_root(pem: str | bytes) -> x509.Certificate:
    """The trusted root certificate of a service, which its operator hands over."""
    try:
        return x509.load_pem_x509_certificate(pem.encode() if isinstance(pem, str) else pem)
    except (ValueError, AttributeError, TypeError):
        raise ValueError("root is not a certificate in PEM: give the content of the file") from None


def certified_key(jwt: Jwt, issuer: str, root: x509.Certificate, now: float) -> PublicKey:
    """The key of the first certificate in `x5c`, if the chain leads to the root and is for the issuer's host.

    RFC 5280 §6.
    """
    sent, check, moment = at(jwt.header, "x5c"), "certificate-chain", datetime.fromtimestamp(now, UTC)
    demand(isinstance(sent, list) and 1 <= len(sent) <= MOST, "x5c", "there is no chain of certificates")
    try:
        chain = [x509.load_der_x509_certificate(base64.b64decode(each, validate=True)) for each in sent]
        for each in [*chain, root]:
            in_time = each.not_valid_before_utc <= moment <= each.not_valid_after_utc
            demand(in_time, check, "a certificate is not valid at this time")
        for lower, upper in pairwise([*chain, root]):
            lower.verify_directly_issued_by(upper)
            limits = upper.extensions.get_extension_for_class(x509.BasicConstraints).value
            demand(limits.ca, check, "an issuer is not a certificate authority")
        names = chain[0].extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        named, key = {str(name.value) for name in names}, chain[0].public_key()
        demand(urlsplit(issuer).hostname in named, check, "the certificate is for another host")
    except (*UNREADABLE, InvalidSignature):
        raise Rejected(check, "a certificate was not issued by the next; is the root right?") from None
    if not isinstance(key, PublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise Rejected("certificate-key", "the key is not on the curve P-256")
    return key
