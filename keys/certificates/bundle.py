"""What a certificate authority sends, read and put in order: PEM, DER or PKCS#7, in any order. Pure.

RFC 7468 §5 (PEM), RFC 5652 §5 (PKCS#7, certificates only). Whether the ordered certificates are good enough
is not judged here but by `chain`.
"""

from collections.abc import Iterator

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, pkcs7

from keys.certificates.chain import MAX_CERTIFICATES, MAX_PEM, BrokenChainError

_UNREADABLE = (
    *(ValueError, TypeError, UnsupportedAlgorithm),
    *(x509.InvalidVersion, x509.DuplicateExtension, x509.UnsupportedGeneralNameType),
)
_PKCS7 = ("PKCS7", "CMS")
_FOREIGN = {
    "PRIVATE KEY": "This holds a private key, which belongs to nobody but its owner. Send certificates only.",
    "CERTIFICATE REQUEST": "This is a certificate request. What is wanted is what the authority made of it.",
}


def chain_pem(*files: bytes, public_key: bytes | memoryview) -> str:
    """The certificates in `files` as PEM: the leaf for `public_key` (DER) first, then who signed which.

    Raises BrokenChainError, saying what is missing, doubled or a stranger.
    """
    if sum(len(file) for file in files) > MAX_PEM:
        raise BrokenChainError(f"The chain is longer than {MAX_PEM} bytes.")
    try:
        certificates = list(dict.fromkeys(certificate for file in files for certificate in _read(file)))
        if len(certificates) > MAX_CERTIFICATES:
            raise BrokenChainError(
                f"A chain is {MAX_CERTIFICATES} certificates at most, not {len(certificates)}."
            )
        ordered = _in_order(certificates, bytes(public_key))
    except _UNREADABLE as error:
        raise BrokenChainError(f"A certificate cannot be read: {error}") from error
    return "".join(certificate.public_bytes(Encoding.PEM).decode("ascii") for certificate in ordered)


def _read(file: bytes) -> list[x509.Certificate]:
    if file[:1] == b"\x30":
        return list(_from_der(file))
    if b"-----BEGIN " in file:
        return list(_from_pem(file))
    raise BrokenChainError("This is not a chain of PEM certificates, nor of DER ones.")


def _from_pem(file: bytes) -> Iterator[x509.Certificate]:
    """Every block, whatever text stands around (`openssl` and some authorities write some)."""
    for block in file.split(b"-----BEGIN ")[1:]:
        label, _, _rest = block.partition(b"-----")
        name = label.decode("ascii", "replace")
        text, end, _rest = (b"-----BEGIN " + block).partition(b"-----END " + label + b"-----")
        if refusal := next((why for word, why in _FOREIGN.items() if name.endswith(word)), None):
            raise BrokenChainError(refusal)
        try:
            if name in _PKCS7:
                yield from pkcs7.load_pem_pkcs7_certificates(text + end + b"\n")
            elif name in ("CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"):
                yield x509.load_pem_x509_certificate(text + end + b"\n")
            else:
                raise BrokenChainError(f"This holds “{name[:40]}”, which is no certificate.")
        except _UNREADABLE as error:
            raise BrokenChainError(f"This is not a chain of PEM certificates: {error}") from error


def _from_der(file: bytes) -> Iterator[x509.Certificate]:
    """Certificates one after the other, or one PKCS#7 structure that holds them."""
    rest = file
    while rest.strip(b"\r\n"):
        value, rest = _first_value(rest)
        try:
            yield x509.load_der_x509_certificate(value)
        except _UNREADABLE as error:
            yield from _from_pkcs7(value, error)


def _from_pkcs7(value: bytes, no_certificate: Exception) -> list[x509.Certificate]:
    try:
        return pkcs7.load_der_pkcs7_certificates(value)
    except _UNREADABLE:
        reason = f"This is not a chain of DER certificates: {no_certificate}"
        raise BrokenChainError(reason) from no_certificate


def _first_value(der: bytes) -> tuple[bytes, bytes]:
    """The SEQUENCE at the front, and what follows it (X.690 §8.1.3, definite lengths only)."""
    size = der[1] if len(der) > 1 else 0
    begins = 2
    if size > 0x80:
        begins += size - 0x80
        size = int.from_bytes(der[2:begins], "big")
    if der[:1] != b"\x30" or size == 0x80 or begins > 6 or len(der) < begins + size:
        raise BrokenChainError("This is not a chain of DER certificates: it is cut off, or something else.")
    return der[: begins + size], der[begins + size :]


def _in_order(certificates: list[x509.Certificate], public_key: bytes) -> list[x509.Certificate]:
    """Leaf first, each followed by the one that signed it; every certificate must have its place."""
    ordered = [_leaf(certificates, public_key)]
    left = [certificate for certificate in certificates if certificate != ordered[0]]
    while not _signed(ordered[-1], ordered[-1]):
        ordered.append(_issuer(ordered[-1], left))
        left.remove(ordered[-1])
    if left:
        names = ", ".join(_name(certificate) for certificate in left)
        raise BrokenChainError(f"Not part of the chain, so leave out: {names}.")
    return ordered


def _leaf(certificates: list[x509.Certificate], public_key: bytes) -> x509.Certificate:
    fitting = [c for c in certificates if _key(c) == public_key]
    if len(fitting) > 1:
        raise BrokenChainError(f"There are {len(fitting)} leaf certificates for this signing key. Send one.")
    if not fitting:
        names = ", ".join(_name(certificate) for certificate in certificates)
        raise BrokenChainError(
            f"No certificate here is for this signing key; each of these certifies another key: {names}."
        )
    return fitting[0]


def _issuer(child: x509.Certificate, left: list[x509.Certificate]) -> x509.Certificate:
    """Who signed `child`; of several with the same key, the one that ends the chain."""
    named = [c for c in left if c.subject == child.issuer]
    signers = [c for c in named if _signed(child, c)]
    if signers:
        return next((c for c in signers if c.subject == c.issuer), signers[0])
    if named:
        raise BrokenChainError(
            f"The signature does not fit: {_name(child)} names {_name(named[0])} as its issuer, "
            "but another key signed it."
        )
    raise BrokenChainError(
        f"A certificate is missing: {_name(child)} was issued by “{child.issuer.rfc4514_string()}”, "
        "which is not here."
    )


def _signed(child: x509.Certificate, parent: x509.Certificate) -> bool:
    if child.issuer != parent.subject:
        return False
    try:
        child.verify_directly_issued_by(parent)
    except InvalidSignature:
        return False
    return True


def _key(certificate: x509.Certificate) -> bytes:
    return certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _name(certificate: x509.Certificate) -> str:
    return f"“{certificate.subject.rfc4514_string()}”"
