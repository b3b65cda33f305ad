"""The certificates in the header of a token (`x5c`), up to a root that you trust.

RFC 5280 §6, RFC 7515 §4.1.6. The rules are those of the service.
"""

import base64
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import reduce
from ipaddress import ip_address
from itertools import pairwise
from operator import add
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509 import verification
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import Criticality, ExtensionPolicy

from credential_presentation.errors import Rejected, demand
from credential_presentation.jose import Jwt, PublicKey, at

MOST = 5  # certificates below the root
PURPOSES = {ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE, ExtendedKeyUsageOID.CLIENT_AUTH}
CURVES = (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)  # of the keys of authorities
PEM: TypeAlias = str | bytes


class Roots:
    """The root certificates that you trust: one or, while a service changes its root, several."""

    def __init__(self, root: PEM | Sequence[PEM]) -> None:
        """Each is the content of a file (PEM), which may have several certificates.

        Raises `ValueError` if one of them cannot be a root. One that has ended may be there.
        """
        texts = [root] if isinstance(root, str | bytes) else root
        try:
            octets = [text.encode() if isinstance(text, str) else bytes(text) for text in texts]
            self._roots = reduce(add, map(x509.load_pem_x509_certificates, octets))
            fit = list(map(_may_be_above, self._roots))
        except Exception:
            raise ValueError("root is not a certificate in PEM: give the content of the file") from None
        if not all(fit):
            number = fit.index(False) + 1
            raise ValueError(f"certificate {number} of root is not of an authority that may certify")

    def key_of(self, jwt: Jwt, issuer: str, now: float) -> PublicKey:
        """The key of the first certificate in `x5c`. Raises `Rejected`.

        The chain leads to a root, and the certificate is for the issuer's host.
        """
        sent, check, moment = at(jwt.header, "x5c"), "certificate-chain", datetime.fromtimestamp(now, UTC)
        demand(isinstance(sent, list) and 1 <= len(sent) <= MOST, "x5c", "there is no chain of certificates")
        try:
            chain = list(map(_certificate, sent))
            for lower, upper in pairwise(chain):
                linked = lower.issuer == upper.subject and not _is_issued_by_another_key(lower, upper)
                demand(linked, check, "a certificate is not for the issuer of the one before")
            demand(
                len({certificate.subject for certificate in chain}) == len(chain),
                check,
                "two certificates have one name",
            )
            _, *authorities = self._verifier(chain, moment).verify(chain[0], chain[1:]).chain
            strong = all(_may_certify_with(authority.public_key()) for authority in authorities)
            demand(strong, check, "an authority has a weak key")
            named, key = _is_for_host_of(issuer, chain[0]), chain[0].public_key()
        except Rejected:
            raise
        except Exception:  # of many kinds, because strangers choose the certificates; also warnings
            raise Rejected(check, "the certificates do not lead to a root; is the root right?") from None
        demand(named, check, "the certificate is for another host")
        if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
            raise Rejected("certificate-key", "the key is not on the curve P-256")
        return key

    def _verifier(self, chain: Sequence[x509.Certificate], moment: datetime) -> verification.ClientVerifier:
        fit = [root for root in self._roots if _fits_above(root, chain)]
        return (
            verification.PolicyBuilder()
            .store(verification.Store(fit))
            .time(moment)
            .max_chain_depth(MOST - 1)
            .extension_policies(ca_policy=AUTHORITY, ee_policy=LEAF)
            .build_client_verifier()
        )


def _certificate(text: Any) -> x509.Certificate:
    """A certificate in padded standard base64, in its only canonical form."""
    octets = base64.b64decode(text, validate=True)
    demand(base64.b64encode(octets).decode() == text, "x5c", "a certificate is not canonical base64")
    return x509.load_der_x509_certificate(octets)


def _is_for_host_of(url: str, certificate: x509.Certificate) -> bool:
    host = urlsplit(url).hostname or ""
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    try:
        return ip_address(host) in names.get_values_for_type(x509.IPAddress)
    except ValueError:
        return host in [name.lower() for name in names.get_values_for_type(x509.DNSName)]


def _fits_above(root: x509.Certificate, chain: Sequence[x509.Certificate]) -> bool:
    """Whether it has the name of an issuer in the chain, whose key identifier may not be another."""
    issued = [certificate for certificate in chain if certificate.issuer == root.subject]
    return bool(issued) and not any(_is_issued_by_another_key(certificate, root) for certificate in issued)


def _is_issued_by_another_key(lower: x509.Certificate, upper: x509.Certificate) -> bool:
    """Whether the key identifiers, if both are there, say so (RFC 5280 §4.2.1.1)."""
    extensions = lower.extensions, upper.extensions
    try:
        named = extensions[0].get_extension_for_class(x509.AuthorityKeyIdentifier).value.key_identifier
        own = extensions[1].get_extension_for_class(x509.SubjectKeyIdentifier).value.digest
    except x509.ExtensionNotFound:
        return False
    return named not in (None, own)


def _may_certify_with(key: object) -> bool:
    if isinstance(key, ec.EllipticCurvePublicKey):
        return isinstance(key.curve, CURVES)
    return isinstance(key, rsa.RSAPublicKey) and key.key_size >= 2048


def _may_be_above(root: x509.Certificate) -> bool:
    constraints = root.extensions.get_extension_for_class(x509.BasicConstraints).value
    return constraints.ca and root.extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign


def _may_sign(_policy: Any, _certificate: x509.Certificate, usage: x509.KeyUsage) -> None:
    if not usage.digital_signature or usage.key_cert_sign:
        raise ValueError


def _is_no_authority(
    _policy: Any, _leaf: x509.Certificate, constraints: x509.BasicConstraints | None
) -> None:
    if constraints is not None and constraints.ca:
        raise ValueError


def _may_certify(_policy: Any, _certificate: x509.Certificate, usage: x509.KeyUsage) -> None:
    if not usage.key_cert_sign:
        raise ValueError


def _is_authority(_policy: Any, _certificate: x509.Certificate, constraints: x509.BasicConstraints) -> None:
    if not constraints.ca:
        raise ValueError


def _has_purpose(_policy: Any, _authority: x509.Certificate, purposes: x509.ExtendedKeyUsage | None) -> None:
    if purposes is not None and PURPOSES.isdisjoint(purposes):
        raise ValueError


def _constrains_no_subjects(
    _policy: Any, _authority: x509.Certificate, constraints: x509.NameConstraints | None
) -> None:
    bases = (
        [*(constraints.permitted_subtrees or ()), *(constraints.excluded_subtrees or ())]
        if constraints
        else []
    )
    if any(isinstance(base, x509.DirectoryName) for base in bases):
        raise ValueError  # `cryptography` does not apply these, and ignores them where they are not critical


# `cryptography` itself sees to path lengths, name constraints and unknown critical extensions.
LEAF = (
    ExtensionPolicy.permit_all()
    .require_present(x509.KeyUsage, Criticality.AGNOSTIC, _may_sign)
    .may_be_present(x509.BasicConstraints, Criticality.AGNOSTIC, _is_no_authority)
    .require_not_present(x509.NameConstraints)
)
AUTHORITY = (
    ExtensionPolicy.permit_all()
    .require_present(x509.BasicConstraints, Criticality.AGNOSTIC, _is_authority)
    .require_present(x509.KeyUsage, Criticality.AGNOSTIC, _may_certify)
    .may_be_present(x509.ExtendedKeyUsage, Criticality.AGNOSTIC, _has_purpose)
    .may_be_present(x509.NameConstraints, Criticality.AGNOSTIC, _constrains_no_subjects)
)
