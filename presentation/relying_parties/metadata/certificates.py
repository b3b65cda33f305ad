"""Client IDs that a certificate proves: `x509_hash` and `x509_san_dns` (OpenID4VP 1.0 §5.9.3). Pure.

An operator registers them with the certificates of the relying party, or for a DNS name with the authority
that issues them. No other authority counts.
"""

import re
from datetime import datetime
from hashlib import sha256
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from django.utils.translation import gettext_lazy as _

from infra import base64url
from infra.registering import NotRegistrableError
from keys.certificates.chain import UNREADABLE, extension
from keys.certificates.path import PathError, anchor_above, certificates_in, is_authority

HASH, DNS = PREFIXES = ("x509_hash", "x509_san_dns")
LONGEST = len(DNS) + 1 + 253
LONGEST_PEM = 32_768
MOST = 5  # certificates for one client ID
_BY_HASH, _BY_NAME = re.compile(rf"{HASH}:[\w-]{{43}}", re.ASCII), re.compile(rf"{DNS}:[a-z0-9.-]{{1,253}}")


def fitting(client_id: str, pem: str) -> str:
    """The client ID, if the certificates fit it; without one, the hash of the first certificate.

    Raises NotRegistrableError.
    """
    try:
        certificates = x509.load_pem_x509_certificates(pem.encode())
        possible = [_client_ids(certificate) for certificate in certificates]
        keys = [certificate.public_key() for certificate in certificates if not is_authority(certificate)]
    except (Warning, *UNREADABLE):
        raise NotRegistrableError(_("These are no certificates as PEM.")) from None
    if len(certificates) > MOST or len(pem) > LONGEST_PEM:
        raise NotRegistrableError(_("These are more than five certificates, or a text that is too long."))
    if not all(isinstance(key, ec.EllipticCurvePublicKey) and key.key_size == 256 for key in keys):
        raise NotRegistrableError(_("The key of its own certificate must be on the curve P-256."))
    client_id = client_id or possible[0][0]
    if _BY_HASH.fullmatch(client_id):
        fits = any(client_id in ids for ids in possible)
    elif _BY_NAME.fullmatch(client_id):
        pairs = zip(certificates, possible, strict=True)
        fits = all(is_authority(certificate) or client_id in ids for certificate, ids in pairs)
    else:
        raise NotRegistrableError(_("It must be x509_san_dns: and a DNS name, or x509_hash: and the hash."))
    if not fits:
        raise NotRegistrableError(_("The certificates have another hash or DNS name."))
    return client_id


def key_of(x5c: Any, *, client_id: str, registered: str, now: datetime) -> ec.EllipticCurvePublicKey:
    """The key of the leaf in the header, if it proves the client ID; raises PathError.

    registered: the PEM certificates that are registered for the client ID.
    """
    chain = certificates_in(x5c)
    leaf, registered_certificates = chain[0], x509.load_pem_x509_certificates(registered.encode())
    try:
        possible, key = _client_ids(leaf), leaf.public_key()
    except (Warning, *UNREADABLE):
        raise PathError("x5c holds what is no certificate") from None
    if client_id not in possible:
        raise PathError("x5c does not prove client_id: the certificate has another hash or DNS name")
    if leaf not in registered_certificates:
        anchor_above(chain, registered_certificates, now)  # only authorities can be above it
    elif not leaf.not_valid_before_utc <= now < leaf.not_valid_after_utc:
        raise PathError("x5c does not prove client_id: the certificate is not valid now")
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise PathError("x5c has a key that is not on the curve P-256")
    return key


def _client_ids(certificate: x509.Certificate) -> list[str]:
    """All client IDs that a certificate can prove, that with its hash first."""
    names = extension(certificate, x509.SubjectAlternativeName)
    of_names = [f"{DNS}:{name.lower()}" for name in names.get_values_for_type(x509.DNSName)] if names else []
    return [f"{HASH}:{base64url.encode(sha256(certificate.public_bytes(Encoding.DER)).digest())}", *of_names]
