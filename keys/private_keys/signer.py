"""The interface of every signer, and the signers whose private key is in this process's memory.

ES256 (RFC 7518 §3.4): ECDSA over P-256 with SHA-256; the signature is r and s in 32 bytes each.
RS256 (§3.3): RSASSA-PKCS1-v1_5 with SHA-256.
"""

from hashlib import sha256
from typing import Any, NoReturn, Protocol

from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed, encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_private_key,
)

_DIGEST = ec.ECDSA(Prehashed(SHA256()))  # hashlib is faster than hashing inside `cryptography`


class SignerUnavailableError(Exception):
    """The private key cannot be used now; the text is one sentence and contains no secret."""


RSA_BITS = 3072  # as strong as P-256 (NIST SP 800-57)


class Signer(Protocol):
    """Signs with one private key, wherever that key is kept: on P-256 with ES256, or RSA with RS256."""

    @property
    def public_key(self) -> ec.EllipticCurvePublicKey | rsa.RSAPublicKey: ...

    def sign(self, message: bytes) -> bytes:
        """The signature over `message` as a JWS has it; raises SignerUnavailableError."""
        ...


class SoftwareSigner:
    """Signs with a private key in this process's memory."""

    __slots__ = ("_private_key", "_sign")

    def __init__(self, private_key: ec.EllipticCurvePrivateKey) -> None:
        """Raises ValueError when the key is not on P-256."""
        if not isinstance(private_key.curve, ec.SECP256R1):
            raise ValueError(f"ES256 needs a key on P-256, not on {private_key.curve.name}")
        self._private_key = private_key
        self._sign = private_key.sign

    @classmethod
    def generate(cls) -> "SoftwareSigner":
        """A signer with a new key."""
        return cls(ec.generate_private_key(ec.SECP256R1()))

    @classmethod
    def from_der(cls, pkcs8: bytes) -> "SoftwareSigner":
        """The signer of an unencrypted PKCS#8 key; raises ValueError unless it is on P-256."""
        private_key = load_der_private_key(pkcs8, password=None)
        if not isinstance(private_key, ec.EllipticCurvePrivateKey):
            raise ValueError("ES256 needs an elliptic-curve key")
        return cls(private_key)

    @property
    def private_key(self) -> ec.EllipticCurvePrivateKey:
        return self._private_key

    @property
    def public_key(self) -> ec.EllipticCurvePublicKey:
        return self._private_key.public_key()

    def to_der(self) -> bytes:
        """The key as unencrypted PKCS#8; seal it at once."""
        return self._private_key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())

    def sign(self, message: bytes) -> bytes:
        # SEQUENCE { INTEGER r, INTEGER s }; for P-256 every length is one byte. Slicing takes a third of the
        # time of `decode_dss_signature` and `int.to_bytes`.
        der = self._sign(sha256(message).digest(), _DIGEST)
        s_length_at = 5 + der[3]
        r, s = der[4 : s_length_at - 1], der[s_length_at + 1 :]
        return r[-32:].rjust(32, b"\0") + s[-32:].rjust(32, b"\0")

    def __repr__(self) -> str:
        return "<SoftwareSigner>"


class RsaSoftwareSigner:
    """Signs with an RSA private key in this process's memory."""

    __slots__ = ("_private_key",)

    def __init__(self, private_key: rsa.RSAPrivateKey) -> None:
        """Raises ValueError when the key is too short."""
        if private_key.key_size < RSA_BITS:
            raise ValueError(f"RS256 needs a key of {RSA_BITS} bits here, not of {private_key.key_size}")
        self._private_key = private_key

    @classmethod
    def generate(cls) -> "RsaSoftwareSigner":
        """A signer with a new key."""
        return cls(rsa.generate_private_key(public_exponent=65537, key_size=RSA_BITS))

    @classmethod
    def from_der(cls, pkcs8: bytes) -> "RsaSoftwareSigner":
        """The signer of an unencrypted PKCS#8 key; raises ValueError unless it is RSA."""
        private_key = load_der_private_key(pkcs8, password=None)
        if not isinstance(private_key, rsa.RSAPrivateKey):
            raise ValueError("RS256 needs an RSA key")
        return cls(private_key)

    @property
    def public_key(self) -> rsa.RSAPublicKey:
        return self._private_key.public_key()

    def to_der(self) -> bytes:
        """The key as unencrypted PKCS#8; seal it at once."""
        return self._private_key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())

    def sign(self, message: bytes) -> bytes:
        return self._private_key.sign(message, PKCS1v15(), SHA256())

    def __repr__(self) -> str:
        return "<RsaSoftwareSigner>"


SOFTWARE_SIGNERS: dict[str, type[SoftwareSigner] | type[RsaSoftwareSigner]] = {
    "ES256": SoftwareSigner,
    "RS256": RsaSoftwareSigner,
}


def private_key_of(signer: Signer) -> "SignersPrivateKey | SignersRsaPrivateKey":
    """The signer as the private key that `cryptography` needs to sign a certificate request."""
    public_key = signer.public_key
    if isinstance(public_key, rsa.RSAPublicKey):
        return SignersRsaPrivateKey(signer, public_key)
    return SignersPrivateKey(signer, public_key)


class SignersPrivateKey(ec.EllipticCurvePrivateKey):
    """A signer on P-256 as a private key."""

    def __init__(self, signer: Signer, public_key: ec.EllipticCurvePublicKey) -> None:
        self._signer, self._public_key = signer, public_key

    def sign(self, data: Any, signature_algorithm: ec.EllipticCurveSignatureAlgorithm) -> bytes:
        """The DER signature; raises ValueError for anything but ES256."""
        if not isinstance(signature_algorithm.algorithm, SHA256):
            raise ValueError("ES256 takes SHA-256")
        signature = self._signer.sign(bytes(data))
        return encode_dss_signature(int.from_bytes(signature[:32]), int.from_bytes(signature[32:]))

    def public_key(self) -> ec.EllipticCurvePublicKey:
        return self._public_key

    @property
    def curve(self) -> ec.EllipticCurve:
        return self.public_key().curve

    @property
    def key_size(self) -> int:
        return self.curve.key_size

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError("this key only signs")

    exchange = private_numbers = private_bytes = __copy__ = __deepcopy__ = _refuse


class SignersRsaPrivateKey(rsa.RSAPrivateKey):
    """An RSA signer as a private key."""

    def __init__(self, signer: Signer, public_key: rsa.RSAPublicKey) -> None:
        self._signer, self._public_key = signer, public_key

    def sign(self, data: Any, padding: Any, algorithm: Any) -> bytes:
        """The signature; raises ValueError for anything but RS256."""
        if not isinstance(padding, PKCS1v15) or not isinstance(algorithm, SHA256):
            raise ValueError("RS256 takes PKCS1-v1_5 and SHA-256")
        return self._signer.sign(bytes(data))

    def public_key(self) -> rsa.RSAPublicKey:
        return self._public_key

    @property
    def key_size(self) -> int:
        return self._public_key.key_size

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError("this key only signs")

    decrypt = private_numbers = private_bytes = __copy__ = __deepcopy__ = _refuse
