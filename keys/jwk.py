"""Public keys as JSON Web Keys (RFC 7517): on P-256 (RFC 7518 §6.2.1), and RSA (§6.3.1) of our own. Pure."""

from collections.abc import Mapping
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_public_key

from infra import base64url
from keys.jws import JwsError, octets

_P256 = ec.SECP256R1()
PublicKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey


def public_jwk(public_key: ec.EllipticCurvePublicKey) -> dict[str, str]:
    """`kty`, `crv`, `x` and `y` of a key on P-256."""
    point = public_key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    x, y = base64url.encode(point[1:33]), base64url.encode(point[33:])
    return {"kty": "EC", "crv": "P-256", "x": x, "y": y}


def public_rsa_jwk(public_key: rsa.RSAPublicKey) -> dict[str, str]:
    """`kty`, `alg`, `n` and `e` of an RSA key for RS256. `alg` is named, because the key fits others too."""
    numbers = public_key.public_numbers()
    n, e = (
        base64url.encode(number.to_bytes((number.bit_length() + 7) // 8)) for number in (numbers.n, numbers.e)
    )
    return {"kty": "RSA", "alg": "RS256", "n": n, "e": e}


def public_key_of(jwk: Mapping[str, Any]) -> ec.EllipticCurvePublicKey:
    """The key of a JWK; raises JwsError unless it is a public key on P-256 with full-length coordinates."""
    x, y = jwk.get("x"), jwk.get("y")
    if (
        jwk.get("kty") != "EC"
        or jwk.get("crv") != "P-256"
        or not isinstance(x, str)
        or not isinstance(y, str)
    ):
        raise JwsError("not a P-256 key")
    if "d" in jwk:
        raise JwsError("a private key in the place of a public key")
    point = b"\x04", octets(x), octets(y)
    if [len(part) for part in point] != [1, 32, 32]:
        raise JwsError("not the coordinates of a P-256 key")
    try:
        return ec.EllipticCurvePublicKey.from_encoded_point(_P256, b"".join(point))
    except ValueError:
        raise JwsError("not a point on P-256") from None


def public_key_from_der(subject_public_key_info: bytes | memoryview) -> ec.EllipticCurvePublicKey:
    """The key of a SubjectPublicKeyInfo (DER); raises ValueError unless it is on an elliptic curve."""
    key = load_der_public_key(bytes(subject_public_key_info))
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise ValueError("not an elliptic-curve key")
    return key


def any_public_key_from_der(subject_public_key_info: bytes | memoryview) -> PublicKey:
    """The key of a SubjectPublicKeyInfo (DER), on an elliptic curve or RSA; raises ValueError for others."""
    key = load_der_public_key(bytes(subject_public_key_info))
    if not isinstance(key, PublicKey):
        raise ValueError("neither an elliptic-curve nor an RSA key")
    return key


def public_der(public_key: PublicKey) -> bytes:
    """The key as SubjectPublicKeyInfo (DER)."""
    return public_key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
