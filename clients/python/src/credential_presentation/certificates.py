"""The certificate chain of a token in `x5c`, up to the trusted root (RFC 5280 §6, RFC 7515 §4.1.6)."""

import base64
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec

from credential_presentation.errors import Rejected, demand
from credential_presentation.jose import Jwt

MOST = 5  # certificates below the root
UNREADABLE = (ValueError, TypeError, UnsupportedAlgorithm, x509.DuplicateExtension, x509.ExtensionNotFound)


def read_root(pem: str | bytes) -> x509.Certificate:
    """The trusted root certificate of a service, which its operator hands over."""
    return x509.load_pem_x509_certificate(pem.encode() if isinstance(pem, str) else pem)


def certified_key(jwt: Jwt, issuer: str, root: x509.Certificate, now: float) -> ec.EllipticCurvePublicKey:
    """The key of the first certificate, if the chain leads to the root and is for the host of the issuer."""
    sent = jwt.header.get("x5c")
    if not isinstance(sent, list) or not 1 <= len(sent) <= MOST:
        raise Rejected("x5c", "there is no chain of certificates")
    try:
        chain = [x509.load_der_x509_certificate(base64.b64decode(each, validate=True)) for each in sent]
        _check_path([*chain, root], datetime.fromtimestamp(now, UTC))
        names = chain[0].extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        named = urlsplit(issuer).hostname in {str(name.value) for name in names}
        key = chain[0].public_key()
    except UNREADABLE:
        raise Rejected(
            "certificate-chain", "a certificate cannot be read, or not by the next issued"
        ) from None
    demand(named, "certificate-chain", "the certificate is for another host")
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise Rejected("certificate-key", "the key is not on the curve P-256")
    return key


def _check_path(path: Sequence[x509.Certificate], moment: datetime) -> None:
    check = "certificate-chain"
    for each in path:
        in_time = each.not_valid_before_utc <= moment <= each.not_valid_after_utc
        demand(in_time, check, "a certificate is not valid at this time")
    for below, (lower, upper) in enumerate(pairwise(path)):
        try:
            lower.verify_directly_issued_by(upper)
        except InvalidSignature:
            raise Rejected(check, "a certificate was not issued by the next") from None
        limits = upper.extensions.get_extension_for_class(x509.BasicConstraints).value
        deep = limits.path_length is None or limits.path_length >= below
        demand(limits.ca and deep, check, "an issuer is not a certificate authority for this chain")
