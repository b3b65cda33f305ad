"""Makes valid and invalid certificates; shares no code with `keys.certificates.authority`."""

from base64 import b64encode
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import NameOID
from django.conf import settings

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
CA_USAGE = {"key_cert_sign", "crl_sign"}


@dataclass
class Made:
    certificate: x509.Certificate
    key: Any

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    @property
    def x5c(self) -> str:
        return b64encode(self.certificate.public_bytes(Encoding.DER)).decode()

    @property
    def spki(self) -> bytes:
        return self.key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def usage(names: set[str]) -> x509.KeyUsage:
    every = (
        *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment"),
        *("key_agreement", "key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
    )
    return x509.KeyUsage(**{name: name in names for name in every})


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def make(
    name: str,
    issuer: Made | None = None,
    *,
    key: Any = None,
    ca: bool | None = None,
    path_length: int | None = None,
    uses: set[str] | None = None,
    begins: datetime = NOW - timedelta(days=1),
    ends: datetime = NOW + timedelta(days=100),
    hash_: Any = None,
    issuer_name: str | None = None,
    authority_key_id: bytes | None = None,
    extra: x509.UnrecognizedExtension | None = None,
    host: str = "",
    only_hosts_of: str = "",
) -> Made:
    """A certificate, self-signed without an issuer; `ca` or `uses` of None omits that extension.

    host: a domain or an IP address that it is for. only_hosts_of: the domain for which it may certify.
    """
    key = key or ec.generate_private_key(ec.SECP256R1())
    signed_by = issuer.key if issuer else key
    own = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    named = issuer.certificate.subject if issuer else own
    if issuer_name:
        named = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer_name)])
    builder = (
        x509.CertificateBuilder(named, own, key.public_key(), x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    if authority_key_id:
        builder = builder.add_extension(
            x509.AuthorityKeyIdentifier(authority_key_id, None, None), critical=False
        )
    if ca is not None:
        builder = builder.add_extension(x509.BasicConstraints(ca, path_length), critical=True)
    if uses is not None:
        builder = builder.add_extension(usage(uses), critical=True)
    if extra:
        builder = builder.add_extension(extra, critical=True)
    if only_hosts_of:
        only = x509.NameConstraints([x509.DNSName(only_hosts_of)], None)
        builder = builder.add_extension(only, critical=True)
    if host:
        builder = builder.add_extension(x509.SubjectAlternativeName([_general_name(host)]), critical=False)
    return Made(builder.sign(signed_by, hash_ or hashes.SHA256()), key)


def root(**differences: Any) -> Made:
    return make("Root", **{"ca": True, "uses": CA_USAGE, **differences})


def issuing(above: Made, **differences: Any) -> Made:
    return make("Issuing CA", above, **{"ca": True, "path_length": 0, "uses": CA_USAGE, **differences})


def leaf(above: Made, **differences: Any) -> Made:
    """For the host of the service."""
    usual = {"ca": False, "uses": {"digital_signature"}, "host": urlsplit(settings.BASE_URL).hostname}
    return make("wallet.example", above, **{**usual, **differences})


def chain() -> tuple[Made, Made, Made]:
    """A valid chain: leaf, issuing CA, root."""
    top = root()
    middle = issuing(top)
    return leaf(middle), middle, top


def pem(*certificates: Made) -> str:
    return "".join(certificate.pem for certificate in certificates)
