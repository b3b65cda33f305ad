"""Reads the files that a certificate authority sent (PEM, DER or PKCS#7) and puts the chain in order. Pure.

RFC 7468 §5 (PEM), RFC 5652 §5 (PKCS#7, certificates only). `chain` then checks whether the ordered
certificates are acceptable.
"""

from collections.abc import Iterator

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, pkcs7

from keys.certificates.chain import MAX_CERTIFICATES, MAX_PEM, UNREADABLE, BrokenChainError

_FOREIGN = {
    "PRIVATE KEY": "This holds a private key, which must stay with its owner. Send certificates only.",
    "CERTIFICATE REQUEST": "This is a certificate request. Send the certificate that the authority issued.",
}


def chain_pem(*files: bytes, public_key: bytes | memoryview) -> str:
    """The certificates in `files` as PEM: first the leaf for `public_key` (DER), each before its issuer.

    Raises BrokenChainError; the text names what is missing, ambiguous or does not belong to the chain.
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
    except UNREADABLE as error:
        raise BrokenChainError(f"A certificate cannot be read: {error}") from error
    return "".join(certificate.public_bytes(Encoding.PEM).decode("ascii") for certificate in ordered)


def _read(file: bytes) -> list[x509.Certificate]:
    if file[:1] == b"\x30":
        return _from_der(file)
    if b"-----BEGIN " in file:
        return list(_from_pem(file))
    raise BrokenChainError("This is not a chain of PEM certificates, nor of DER ones.")


def _from_pem(file: bytes) -> Iterator[x509.Certificate]:
    """The certificates of all blocks; text around them is ignored (`openssl` and some authorities add it)."""
    for block in file.split(b"-----BEGIN ")[1:]:
        label, _, _rest = block.partition(b"-----")
        name = label.decode("ascii", "replace")
        text, end, _rest = (b"-----BEGIN " + block).partition(b"-----END " + label + b"-----")
        if refusal := next((why for word, why in _FOREIGN.items() if name.endswith(word)), None):
            raise BrokenChainError(refusal)
        try:
            if name == "PKCS7":
                yield from pkcs7.load_pem_pkcs7_certificates(text + end + b"\n")
            elif name in ("CERTIFICATE", "X509 CERTIFICATE"):
                yield x509.load_pem_x509_certificate(text + end + b"\n")
            else:
                raise BrokenChainError(f"This holds “{name[:40]}”, which is no certificate.")
        except UNREADABLE as error:
            raise BrokenChainError(f"This is not a chain of PEM certificates: {error}") from error


def _from_der(file: bytes) -> list[x509.Certificate]:
    """The certificate in the file, or those of its PKCS#7 structure."""
    try:
        return [x509.load_der_x509_certificate(file)]
    except UNREADABLE:
        pass
    try:
        return pkcs7.load_der_pkcs7_certificates(file)
    except UNREADABLE as error:
        reason = "This is neither a DER certificate nor PKCS#7: it is cut off, or something else."
        raise BrokenChainError(reason) from error


def _in_order(certificates: list[x509.Certificate], public_key: bytes) -> list[x509.Certificate]:
    """Leaf first, each followed by its issuer. Raises BrokenChainError if a certificate is left over."""
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
    der = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    fitting = [c for c in certificates if c.public_key().public_bytes(*der) == public_key]
    if len(fitting) > 1:
        raise BrokenChainError(f"There are {len(fitting)} leaf certificates for this signing key. Send one.")
    if not fitting:
        names = ", ".join(_name(certificate) for certificate in certificates)
        raise BrokenChainError(
            f"No certificate here is for this signing key; each of these certifies another key: {names}."
        )
    return fitting[0]


def _issuer(child: x509.Certificate, left: list[x509.Certificate]) -> x509.Certificate:
    """The certificate that signed `child`; of several with the same key, the self-signed one."""
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


def _name(certificate: x509.Certificate) -> str:
    return f"“{certificate.subject.rfc4514_string()}”"
