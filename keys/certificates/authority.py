"""The sandbox's own certificate authority, and requests (PKCS#10) for a real one.

Profile after RFC 5280 §4.2 and HAIP 1.0 §6.1.1: root → issuing CA → leaf, no CRL on purpose. Every subject
says SANDBOX.
"""

import ipaddress
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from django.conf import settings
from django.db import IntegrityError, transaction

from infra.sealing import seal, unseal
from keys.jwk import public_key_from_der
from keys.models import Authority
from keys.private_keys.signer import Signer, SignersPrivateKey, SoftwareSigner

ROOT_LIFETIME = timedelta(days=20 * 365)
ISSUING_LIFETIME = timedelta(days=10 * 365)
LEAF_LIFETIME = timedelta(days=365)
CLOCK_SKEW = timedelta(minutes=5)
_ROOT_KEY, _ISSUING_KEY = Authority.SEALED["sealed_root_key"], Authority.SEALED["sealed_issuing_key"]


class SubjectError(Exception):
    """CERTIFICATE_SUBJECT is no distinguished name."""

    def __str__(self) -> str:
        return "CERTIFICATE_SUBJECT is no distinguished name such as “O=Example Ltd,C=GB”."


def authority(*, now: datetime) -> Authority:
    """The sandbox's authority, made on first use; any number of callers at once get the same one."""
    existing = Authority.objects.first()
    if existing:
        return existing
    try:
        with transaction.atomic():
            made = _new_authority(now)
            made.save(force_insert=True)
            return made
    except IntegrityError:  # another instance was faster
        return Authority.objects.get()


def certify(public_key: bytes | memoryview, *, now: datetime) -> str:
    """The PEM chain (leaf, issuing CA, root) for a public key (DER), issued by the sandbox's authority."""
    own = authority(now=now)
    issuing = x509.load_pem_x509_certificate(own.issuing_pem.encode())
    issuing_key = SoftwareSigner.from_der(unseal(own.sealed_issuing_key, context=_ISSUING_KEY))
    place = Place.of(settings.BASE_URL)
    ends = min(now + LEAF_LIFETIME, issuing.not_valid_after_utc)
    builder = _certificate(place.subject("SANDBOX"), public_key_from_der(public_key), now, ends)
    builder = (
        builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(certificates=False), critical=True)
        .add_extension(place.alternative_name, critical=False)
    )
    leaf = _issue(builder, issuing.subject, issuing_key)
    return _pem(leaf) + own.issuing_pem + own.root_pem


def root_fingerprint() -> str:
    """The SHA-256 of the root as people compare it; empty while there is no authority of our own."""
    own = Authority.objects.first()
    return fingerprint(x509.load_pem_x509_certificate(own.root_pem.encode())) if own else ""


def fingerprint(certificate: x509.Certificate) -> str:
    """A certificate's SHA-256, in pairs of hexadecimal digits."""
    return certificate.fingerprint(SHA256()).hex(" ").upper()


def names_this_issuer(chain_pem: str) -> bool:
    """Whether the leaf was issued for the base address this service has now."""
    leaf = x509.load_pem_x509_certificates(chain_pem.encode())[0]
    try:
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return False
    return settings.BASE_URL in names.get_values_for_type(x509.UniformResourceIdentifier)


def certificate_request(signer: Signer) -> str:
    """A PKCS#10 request in PEM for a real authority (RFC 2986): digitalSignature, subject from settings.

    The names are those of BASE_URL, as DNS and URI. Raises SubjectError, SignerUnavailableError.
    """
    place = Place.of(settings.BASE_URL)
    builder = x509.CertificateSigningRequestBuilder(requested_subject(place))
    builder = builder.add_extension(place.alternative_name, critical=False)
    builder = builder.add_extension(_usage(certificates=False), critical=True)
    request = builder.sign(SignersPrivateKey(signer), SHA256())
    return request.public_bytes(Encoding.PEM).decode("ascii")


def requested_subject(place: "Place") -> x509.Name:
    """CERTIFICATE_SUBJECT (RFC 4514, as `O=Example Ltd,C=GB`) and the host as its common name.

    Raises SubjectError when the setting is no distinguished name.
    """
    try:
        said = x509.Name.from_rfc4514_string(settings.CERTIFICATE_SUBJECT)
    except ValueError as error:
        raise SubjectError from error
    if said.get_attributes_for_oid(NameOID.COMMON_NAME):
        return said
    return x509.Name([*said.rdns, *place.subject().rdns])


@dataclass(frozen=True)
class Place:
    """Where the issuer lives, as a certificate says it."""

    host: str
    base_url: str

    @classmethod
    def of(cls, base_url: str) -> "Place":
        return cls(urlsplit(base_url).hostname or "", base_url)

    def subject(self, *organisation: str) -> x509.Name:
        """The distinguished name: the organisation, when given, and the host (64 characters at most)."""
        names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, name) for name in organisation]
        common = " ".join([*organisation, self.host])[:64]
        return x509.Name([*names, x509.NameAttribute(NameOID.COMMON_NAME, common)])

    @property
    def alternative_name(self) -> x509.SubjectAlternativeName:
        """The host and the issuer identifier: some verifiers compare the latter with `iss`."""
        host: x509.GeneralName
        try:
            host = x509.IPAddress(ipaddress.ip_address(self.host))
        except ValueError:
            host = x509.DNSName(self.host)
        return x509.SubjectAlternativeName([host, x509.UniformResourceIdentifier(self.base_url)])


def _new_authority(now: datetime) -> Authority:
    series = secrets.token_hex(3).upper()  # two sandboxes in one trust store stay apart
    root_name, issuing_name = _name(f"SANDBOX Root CA {series}"), _name(f"SANDBOX Issuing CA {series}")
    root_key, issuing_key = SoftwareSigner.generate(), SoftwareSigner.generate()
    root = _certificate(root_name, root_key.public_key, now, now + ROOT_LIFETIME)
    issuing = _certificate(issuing_name, issuing_key.public_key, now, now + ISSUING_LIFETIME)
    return Authority(
        root_pem=_pem(_issue(_as_authority(root, path_length=1), root_name, root_key)),
        issuing_pem=_pem(_issue(_as_authority(issuing, path_length=0), root_name, root_key)),
        sealed_root_key=seal(root_key.to_der(), context=_ROOT_KEY),
        sealed_issuing_key=seal(issuing_key.to_der(), context=_ISSUING_KEY),
        created_at=now,
    )


def _name(common: str) -> x509.Name:
    organisation = x509.NameAttribute(NameOID.ORGANIZATION_NAME, "SANDBOX")
    return x509.Name([organisation, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _as_authority(builder: x509.CertificateBuilder, *, path_length: int) -> x509.CertificateBuilder:
    constraints = x509.BasicConstraints(ca=True, path_length=path_length)
    return builder.add_extension(constraints, critical=True).add_extension(
        _usage(certificates=True), critical=True
    )


def _certificate(
    subject: x509.Name, public_key: ec.EllipticCurvePublicKey, now: datetime, ends: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder(
            subject_name=subject, public_key=public_key, serial_number=x509.random_serial_number()
        )
        .not_valid_before(now.replace(microsecond=0) - CLOCK_SKEW)
        .not_valid_after(ends.replace(microsecond=0))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    )


def _issue(builder: x509.CertificateBuilder, issuer: x509.Name, key: SoftwareSigner) -> x509.Certificate:
    key_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key)
    return builder.issuer_name(issuer).add_extension(key_id, critical=False).sign(key.private_key, SHA256())


def _usage(*, certificates: bool) -> x509.KeyUsage:
    """digitalSignature for a leaf; keyCertSign and cRLSign for an authority."""
    return x509.KeyUsage(
        digital_signature=not certificates,
        key_cert_sign=certificates,
        crl_sign=certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode("ascii")
