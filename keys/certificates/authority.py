"""The sandbox's own certificate authority, and certificate requests (PKCS#10) to a real one.

The profile follows RFC 5280 §4.2 and HAIP 1.0 §6.1.1: root → issuing CA → leaf, deliberately without a CRL.
Every subject contains SANDBOX.
"""

import ipaddress
import secrets
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from django.conf import settings
from django.db import IntegrityError, transaction

from infra.sealing import seal_column, unseal_column
from keys.certificates.chain import extension
from keys.jwk import PublicKey, any_public_key_from_der
from keys.models import Authority
from keys.private_keys.signer import Signer, SoftwareSigner, private_key_of

ROOT_LIFETIME = timedelta(days=20 * 365)
ISSUING_LIFETIME = timedelta(days=10 * 365)
LEAF_LIFETIME = timedelta(days=365)
BACKDATED = timedelta(minutes=65)  # for clocks that differ, and since `iat` is rounded down to the hour
_LONGEST_NAME = 64  # characters of a common name (RFC 5280 appendix A.1)


class SubjectError(Exception):
    """CERTIFICATE_SUBJECT is no distinguished name; the text says so."""


def authority(*, now: datetime) -> Authority:
    """The sandbox's authority, made on first use; concurrent callers get the same one."""
    existing = Authority.objects.first()
    if existing:
        return existing
    try:
        with transaction.atomic():
            made = _new_authority(now)
            made.save(force_insert=True)
            return made
    except IntegrityError:  # another instance made it in the meantime
        return Authority.objects.get()


def certify(public_key: bytes | memoryview, *, now: datetime) -> str:
    """The PEM chain (leaf, issuing CA, root) for a public key (DER), issued by the sandbox's authority."""
    own = authority(now=now)
    issuing = x509.load_pem_x509_certificate(own.issuing_pem.encode())
    issuing_key = SoftwareSigner.from_der(unseal_column(own, "sealed_issuing_key"))
    ends = min(now + LEAF_LIFETIME, issuing.not_valid_after_utc)
    subject = _name(f"SANDBOX {_host()}"[:_LONGEST_NAME])
    builder = _certificate(subject, any_public_key_from_der(public_key), now, ends)
    names = x509.SubjectAlternativeName(_own_names())
    leaf = _issue(builder.add_extension(names, critical=False), issuing.subject, issuing_key)
    return _pem(leaf) + own.issuing_pem + own.root_pem


def root_fingerprint() -> str:
    """The SHA-256 of the sandbox's root for people to compare; empty if there is no such authority."""
    own = Authority.objects.first()
    return fingerprint(x509.load_pem_x509_certificate(own.root_pem.encode())) if own else ""


def fingerprint(certificate: x509.Certificate) -> str:
    """A certificate's SHA-256 as pairs of hexadecimal digits."""
    return certificate.fingerprint(SHA256()).hex(" ").upper()


def names_this_issuer(chain_pem: str) -> bool:
    """Whether the leaf, which the sandbox issued, is for this service's present base address."""
    leaf = x509.load_pem_x509_certificates(chain_pem.encode())[0]
    names = extension(leaf, x509.SubjectAlternativeName)
    return names is not None and all(name in names for name in _own_names())


def certificate_request(signer: Signer) -> str:
    """A PKCS#10 request in PEM to a real authority (RFC 2986), for digitalSignature.

    The subject is `requested_subject`, the alternative name is the host. Raises SubjectError,
    SignerUnavailableError.
    """
    builder = x509.CertificateSigningRequestBuilder(requested_subject())
    builder = builder.add_extension(_alternative_name(), critical=False)
    builder = builder.add_extension(_usage(certificates=False), critical=True)
    request = builder.sign(private_key_of(signer), SHA256())
    return request.public_bytes(Encoding.PEM).decode("ascii")


def requested_subject() -> x509.Name:
    """The subject of a certificate request: CERTIFICATE_SUBJECT (RFC 4514), with the host as common name.

    Raises SubjectError when the setting is no distinguished name.
    """
    try:
        subject = x509.Name.from_rfc4514_string(settings.CERTIFICATE_SUBJECT)
    except ValueError as error:
        text = "CERTIFICATE_SUBJECT is no distinguished name such as “O=Example Ltd,C=GB”."
        raise SubjectError(text) from error
    if subject.get_attributes_for_oid(NameOID.COMMON_NAME):
        return subject
    common_name = x509.NameAttribute(NameOID.COMMON_NAME, _host()[:_LONGEST_NAME])
    return x509.Name([*subject.rdns, x509.RelativeDistinguishedName([common_name])])


def _host() -> str:
    return urlsplit(settings.BASE_URL).hostname or ""


def _alternative_name() -> x509.SubjectAlternativeName:
    """The host and nothing else, because ACME refuses names that it cannot prove (RFC 8555 §7.4)."""
    try:
        host: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(_host()))
    except ValueError:
        host = x509.DNSName(_host())
    return x509.SubjectAlternativeName([host])


def _own_names() -> list[x509.GeneralName]:
    """The host and the issuer: some verifiers accept only an `iss` that stands in the certificate."""
    return [*_alternative_name(), x509.UniformResourceIdentifier(settings.BASE_URL)]


def _new_authority(now: datetime) -> Authority:
    series = secrets.token_hex(3).upper()  # tells sandboxes in one trust store apart
    root_name, issuing_name = _name(f"SANDBOX Root CA {series}"), _name(f"SANDBOX Issuing CA {series}")
    root_key, issuing_key = SoftwareSigner.generate(), SoftwareSigner.generate()
    root = _certificate(root_name, root_key.public_key, now, now + ROOT_LIFETIME, path_length=1)
    issuing = _certificate(issuing_name, issuing_key.public_key, now, now + ISSUING_LIFETIME, path_length=0)
    root_pem, issuing_pem = (
        _pem(_issue(certificate, root_name, root_key)) for certificate in (root, issuing)
    )
    made = Authority(root_pem=root_pem, issuing_pem=issuing_pem, created_at=now)
    made.sealed_root_key = seal_column(made, "sealed_root_key", root_key.to_der())
    made.sealed_issuing_key = seal_column(made, "sealed_issuing_key", issuing_key.to_der())
    return made


def _name(common: str) -> x509.Name:
    organisation = x509.NameAttribute(NameOID.ORGANIZATION_NAME, "SANDBOX")
    return x509.Name([organisation, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _certificate(
    subject: x509.Name,
    public_key: PublicKey,
    now: datetime,
    ends: datetime,
    *,
    path_length: int | None = None,
) -> x509.CertificateBuilder:
    """What all certificates share. One with a `path_length` is an authority's, the others are leaves."""
    is_authority = path_length is not None
    return (
        x509.CertificateBuilder(
            subject_name=subject, public_key=public_key, serial_number=x509.random_serial_number()
        )
        .not_valid_before(now.replace(microsecond=0) - BACKDATED)
        .not_valid_after(ends.replace(microsecond=0))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=path_length), critical=True)
        .add_extension(_usage(certificates=is_authority), critical=True)
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
