"""The key and the certificate with which this service asks wallets for a PID (OpenID4VP 1.0 §5.9). Pure.

Registrars call it the access certificate. It has nothing to do with the keys that sign credentials.
"""

from base64 import b64encode
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from itertools import pairwise
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

from infra import base64url
from keys.certificates.chain import UNREADABLE, extension
from keys.jws import encode_segment, sign_segments
from keys.private_keys.signer import SoftwareSigner
from wallet.providers.options import Options

PREFIXES = ("x509_hash", "x509_san_dns")
MOST_CERTIFICATES = 4


@dataclass(frozen=True)
class AccessCertificate:
    """Signs requests to wallets, and knows what this service is called there (`client_id`)."""

    client_id: str
    chain: tuple[x509.Certificate, ...]  # without the trust anchor (HAIP 1.0 §5)
    signer: SoftwareSigner = field(repr=False)

    @classmethod
    def load(cls, options: Options, *, host: str) -> "AccessCertificate":
        """From PEM: a key, and its certificate with those that lead up to an anchor. Raises `OptionError`.

        host: this service's own, which the certificate has to name for the prefix x509_san_dns.
        """
        signer = SoftwareSigner(_private_key(options))
        chain = _chain(options)
        prefix = options.choice("client_id_prefix", PREFIXES, PREFIXES[0])
        if chain[0].public_key() != signer.public_key:
            raise options.error("request_key", "must be the private key of the first access certificate")
        if prefix == "x509_hash":
            fingerprint = base64url.encode(sha256(chain[0].public_bytes(Encoding.DER)).digest())
            return cls(f"{prefix}:{fingerprint}", chain, signer)
        if host not in _dns_names(chain[0]):
            raise options.error("access_certificate", "must name the host of BASE_URL for x509_san_dns")
        return cls(f"{prefix}:{host}", chain, signer)

    def is_valid(self, now: datetime) -> bool:
        """Whether wallets can believe it at this time."""
        return all(
            certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc
            for certificate in self.chain
        )

    def sign(self, typ: str, payload: dict[str, Any]) -> str:
        """A JWS of this type that carries the certificates."""
        x5c = [b64encode(certificate.public_bytes(Encoding.DER)).decode() for certificate in self.chain]
        header = encode_segment({"alg": "ES256", "typ": typ, "x5c": x5c})
        return sign_segments(header, encode_segment(payload), self.signer)


def _private_key(options: Options) -> ec.EllipticCurvePrivateKey:
    pem = options.file("request_key")
    try:
        key = load_pem_private_key(pem, password=None)
    except UNREADABLE:
        key = None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise options.error("request_key", "must hold an unencrypted private key on P-256, as PEM")
    return key


def _chain(options: Options) -> tuple[x509.Certificate, ...]:
    """Leaf first; a self-signed certificate at the end is an anchor, and left out."""
    name, pem = "access_certificate", options.file("access_certificate")
    try:
        chain = x509.load_pem_x509_certificates(pem)
        if len(chain) > 1 and chain[-1].issuer == chain[-1].subject:
            chain.pop()
        for child, parent in pairwise(chain):
            child.verify_directly_issued_by(parent)
        is_own_issuer = chain[0].issuer == chain[0].subject
    except (*UNREADABLE, InvalidSignature):
        raise options.error(name, "must hold a chain of PEM certificates, leaf first") from None
    if is_own_issuer:
        raise options.error(name, "must not be self-signed: wallets refuse it")
    if len(chain) > MOST_CERTIFICATES:
        raise options.error(name, f"must hold at most {MOST_CERTIFICATES} certificates")
    return tuple(chain)


def _dns_names(certificate: x509.Certificate) -> list[str]:
    try:
        names = extension(certificate, x509.SubjectAlternativeName)
    except UNREADABLE:
        names = None
    return names.get_values_for_type(x509.DNSName) if names else []
