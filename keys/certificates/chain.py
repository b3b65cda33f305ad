"""A signing key's certificate chain, leaf first; an object of it is always a valid chain. Pure.

RFC 5280 §6.1 (path validation), RFC 7515 §4.1.6 (x5c), HAIP 1.0 §6.1.1 (no trust anchor in x5c).
"""

from base64 import b64encode
from dataclasses import dataclass
from datetime import datetime
from typing import TypeGuard, TypeVar

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import SHA256, SHA384, SHA512
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from infra.moments import moment

MAX_PEM = 65_536
MIN_CERTIFICATES, MAX_CERTIFICATES = 3, 6  # leaf, issuing CA, root, and up to 3 CAs between them
_HASHES = (SHA256, SHA384, SHA512)
_CA_CURVES = (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)
UNREADABLE = (  # the errors of `cryptography` about malformed certificates
    *(ValueError, TypeError, UnsupportedAlgorithm),
    *(x509.InvalidVersion, x509.DuplicateExtension, x509.UnsupportedGeneralNameType),
)
Extension = TypeVar("Extension", bound=x509.ExtensionType)


class BrokenChainError(Exception):
    """A certificate chain is not valid; the text names the certificates and the reason."""


@dataclass(frozen=True)
class CertificateChain:
    """Leaf, issuing CA(s), root: each signed by the next, all valid at `at`, the leaf for `public_key`.

    The constructor raises BrokenChainError.
    """

    certificates: tuple[x509.Certificate, ...]
    public_key: bytes  # SubjectPublicKeyInfo (DER) that the leaf must carry
    at: datetime

    def __post_init__(self) -> None:
        try:
            _check_length(self.certificates)
            for position, certificate in enumerate(self.certificates):
                _check_dates(certificate, self._name(position), self.at)
                _check_extensions_known(certificate, self._name(position))
            _check_leaf(self.leaf, self._name(0), self.public_key)
            for position in range(1, len(self.certificates)):
                _check_authority(self.certificates[position], self._name(position), below=position - 1)
                self._check_link(position - 1, position)
            self._check_link(-1, -1)
        except UNREADABLE as error:
            raise BrokenChainError(f"A certificate cannot be read: {error}") from error

    @classmethod
    def from_pem(cls, pem: str, *, public_key: bytes | memoryview, now: datetime) -> "CertificateChain":
        """The chain in `pem`, leaf first and root last, for `public_key` (DER); raises BrokenChainError."""
        if len(pem) > MAX_PEM:
            raise BrokenChainError(f"The chain is longer than {MAX_PEM} characters.")
        try:
            certificates = tuple(x509.load_pem_x509_certificates(pem.encode()))
        except UNREADABLE as error:
            raise BrokenChainError(f"This is not a chain of PEM certificates: {error}") from error
        return cls(certificates, bytes(public_key), now)

    @property
    def leaf(self) -> x509.Certificate:
        return self.certificates[0]

    @property
    def root(self) -> x509.Certificate:
        return self.certificates[-1]

    @property
    def x5c(self) -> list[str]:
        """For the header of a token: all but the root, which verifiers must have (RFC 7515 §4.1.6)."""
        return self.x5c_with_root[:-1]

    @property
    def x5c_with_root(self) -> list[str]:
        """For the key set: leaf, issuing CA, root; padded standard base64 of DER (RFC 7517 §4.7)."""
        return [b64encode(c.public_bytes(Encoding.DER)).decode("ascii") for c in self.certificates]

    @property
    def not_after(self) -> datetime:
        """When the first of the certificates expires; nothing is signed from then on."""
        return min(c.not_valid_after_utc for c in self.certificates)

    def by_name(self) -> dict[str, x509.Certificate]:
        """Each certificate under a short name: leaf, issuing CA (issuing CA 2, …), root."""
        named = {"leaf": self.leaf}
        for number, authority in enumerate(self.certificates[1:-1], 1):
            named["issuing CA" if number == 1 else f"issuing CA {number}"] = authority
        return {**named, "root": self.root}

    def _name(self, position: int) -> str:
        last = len(self.certificates) - 1
        role = "leaf" if position == 0 else "root" if position in (-1, last) else "issuing CA"
        return f"the {role} “{self.certificates[position].subject.rfc4514_string()}”"

    def _check_link(self, child_at: int, parent_at: int) -> None:
        """Checks that the child names the parent as its issuer, by name and key id, and that it signed it."""
        child, parent = self.certificates[child_at], self.certificates[parent_at]
        names = f"{self._name(child_at)} and {self._name(parent_at)}"
        if child is parent:
            names = self._name(child_at)
            if child.issuer != child.subject:
                raise BrokenChainError(f"The last certificate must be a self-signed root; {names} is not.")
        elif child.issuer != parent.subject:
            issuer = child.issuer.rfc4514_string()
            raise BrokenChainError(
                f"Wrong order or a gap between {names}: the first was issued by “{issuer}”."
            )
        if is_issued_by_another_key(child, parent):
            raise BrokenChainError(
                f"{_first(self._name(child_at))} was issued by another key with the name of "
                f"{self._name(parent_at)}."
            )
        if not isinstance(child.signature_hash_algorithm, _HASHES):
            raise BrokenChainError(f"{_first(self._name(child_at))} is not signed over SHA-256 or better.")
        try:
            child.verify_directly_issued_by(parent)
        except InvalidSignature:
            raise BrokenChainError(
                f"{_first(self._name(child_at))} was not signed by {self._name(parent_at)}."
            ) from None


def _check_length(certificates: tuple[x509.Certificate, ...]) -> None:
    if not MIN_CERTIFICATES <= len(certificates) <= MAX_CERTIFICATES:
        raise BrokenChainError(
            f"A chain is {MIN_CERTIFICATES} to {MAX_CERTIFICATES} certificates: leaf, issuing CA, root; "
            f"this has {len(certificates)}."
        )


def _check_dates(certificate: x509.Certificate, name: str, at: datetime) -> None:
    if at < certificate.not_valid_before_utc:
        raise BrokenChainError(
            f"{_first(name)} is valid only from {moment(certificate.not_valid_before_utc)}."
        )
    if at >= certificate.not_valid_after_utc:
        raise BrokenChainError(f"{_first(name)} ended on {moment(certificate.not_valid_after_utc)}.")


def _check_extensions_known(certificate: x509.Certificate, name: str) -> None:
    """Refuses critical extensions that we do not process (RFC 5280 §4.2)."""
    for extension in certificate.extensions:
        if extension.critical and isinstance(extension.value, x509.UnrecognizedExtension):
            oid = extension.oid.dotted_string
            raise BrokenChainError(f"{_first(name)} has a critical extension that is not understood: {oid}.")


def _check_leaf(leaf: x509.Certificate, name: str, public_key: bytes) -> None:
    key = leaf.public_key()
    if not _is_like_ours(key):
        raise BrokenChainError(
            f"The key of {name} is neither on the curve P-256 nor RSA of 3072 bits or more."
        )
    if key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo) != public_key:
        raise BrokenChainError(f"{_first(name)} certifies another key than this signing key.")
    constraints = extension(leaf, x509.BasicConstraints)
    if constraints and constraints.ca:
        raise BrokenChainError(f"{_first(name)} is a certificate authority (basic constraints).")
    usage = extension(leaf, x509.KeyUsage)
    if not usage or not usage.digital_signature or usage.key_cert_sign:
        raise BrokenChainError(f"The key usage of {name} must be digitalSignature, and not keyCertSign.")


def _check_authority(certificate: x509.Certificate, name: str, *, below: int) -> None:
    """`below`: how many certificate authorities stand between this one and the leaf."""
    constraints = extension(certificate, x509.BasicConstraints)
    if not constraints or not constraints.ca:
        raise BrokenChainError(f"{_first(name)} is not a certificate authority (basic constraints).")
    if constraints.path_length is not None and constraints.path_length < below:
        raise BrokenChainError(
            f"The path length of {name} allows {constraints.path_length} authorities below, not {below}."
        )
    usage = extension(certificate, x509.KeyUsage)
    if not usage or not usage.key_cert_sign:
        raise BrokenChainError(f"The key usage of {name} lacks keyCertSign.")
    if not may_certify_with(certificate.public_key()):
        raise BrokenChainError(
            f"The key of {name} is neither on P-256, P-384 or P-521 nor RSA of 2048 bits or more."
        )


def _is_like_ours(key: object) -> TypeGuard[ec.EllipticCurvePublicKey | rsa.RSAPublicKey]:
    """Whether it is such a key as ours: on P-256, or RSA, which signs ID tokens only."""
    if isinstance(key, ec.EllipticCurvePublicKey):
        return isinstance(key.curve, ec.SECP256R1)
    return isinstance(key, rsa.RSAPublicKey) and key.key_size >= 3072


def may_certify_with(key: object) -> bool:
    """Whether an authority's key is strong enough: on P-256, P-384 or P-521, or RSA of 2048 bits or more."""
    if isinstance(key, ec.EllipticCurvePublicKey):
        return isinstance(key.curve, _CA_CURVES)
    return isinstance(key, rsa.RSAPublicKey) and key.key_size >= 2048


def is_issued_by_another_key(child: x509.Certificate, parent: x509.Certificate) -> bool:
    """Whether the key identifiers say that another key than the parent's issued it (RFC 5280 §4.2.1.1).

    They say nothing if one of them is missing.
    """
    issuer_id = extension(child, x509.AuthorityKeyIdentifier)
    own_id = extension(parent, x509.SubjectKeyIdentifier)
    return bool(issuer_id and own_id and issuer_id.key_identifier not in (None, own_id.digest))


def extension(certificate: x509.Certificate, kind: type[Extension]) -> Extension | None:
    """The certificate's extension of this kind, or None."""
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None


def _first(name: str) -> str:
    return name[0].upper() + name[1:]
