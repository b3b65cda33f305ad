"""Certificates in the header of a token (x5c), and the trust anchor that they lead up to. Pure.

RFC 7515 §4.1.6, RFC 5280 §6. Only anchors that somebody has registered count, never public ones. The client
libraries have the same rules; `clients/tests/chains.py` is the list of chains on which all of them agree.
"""

from base64 import b64decode, b64encode
from collections.abc import Collection, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import (
    Criticality,
    ExtensionPolicy,
    Policy,
    PolicyBuilder,
    Store,
    VerificationError,
)

from keys.certificates.chain import UNREADABLE, extension, is_issued_by_another_key, may_certify_with

MOST_IN_CHAIN = 4
MOST_BETWEEN = 2  # authorities between the anchor and the leaf


class PathError(ValueError):
    """There is no such path of certificates; the text says why."""


def certificates_in(x5c: Any, *, most: int = MOST_IN_CHAIN) -> list[x509.Certificate]:
    """The certificates of a header, leaf first; raises PathError."""
    if not isinstance(x5c, list) or not 1 <= len(x5c) <= most:
        raise PathError(f"x5c is not 1 to {most} certificates")
    try:
        return [x509.load_der_x509_certificate(_octets(text)) for text in x5c]
    except (Warning, *UNREADABLE):
        raise PathError("x5c holds what is no certificate") from None


def anchors_in(pem: bytes) -> list[x509.Certificate]:
    """All certificates of a file as PEM, each of an authority that may certify; raises PathError."""
    try:
        anchors = x509.load_pem_x509_certificates(pem)
        useless = [str(number) for number, anchor in enumerate(anchors, 1) if not _may_be_above(anchor)]
    except (Warning, *UNREADABLE):
        raise PathError("this is no certificate as PEM, or one of several is none") from None
    if useless:
        raise PathError(f"certificate {', '.join(useless)} is not of an authority that may certify")
    return anchors


def anchor_above(
    chain: Sequence[x509.Certificate],
    anchors: Collection[x509.Certificate],
    now: datetime,
    *,
    most_between: int = MOST_BETWEEN,
) -> x509.Certificate:
    """The anchor to which the certificates lead up, leaf first; raises PathError.

    The leaf may sign and is no authority. Above it are at most `most_between` authorities that may certify,
    each within the path length and the name constraints of those above, and each with a key that
    `may_certify_with` allows. Nothing critical is unknown.
    """
    leaf, *between = chain
    try:
        if not _each_certifies_the_one_before(chain):
            raise PathError("x5c is not in order: each certificate must certify the one before")
        verifier = (
            PolicyBuilder()
            .store(Store([anchor for anchor in anchors if _fits_above(anchor, chain)]))
            .time(now)
            .max_chain_depth(most_between)
            .extension_policies(ca_policy=_AUTHORITY, ee_policy=_LEAF)
            .build_client_verifier()
        )
        _, *authorities = verifier.verify(leaf, between).chain
        if not all(may_certify_with(authority.public_key()) for authority in authorities):
            raise PathError("x5c has an authority with a key that is too weak")
        return authorities[-1]
    except PathError:
        raise
    except (VerificationError, Warning, *UNREADABLE):
        raise PathError("x5c does not lead up to a trust anchor") from None


def _fits_above(anchor: x509.Certificate, chain: Sequence[x509.Certificate]) -> bool:
    """Whether the anchor has the name of an issuer in the chain, whose key identifier may not be another."""
    issued = [certificate for certificate in chain if certificate.issuer == anchor.subject]
    return bool(issued) and not any(is_issued_by_another_key(certificate, anchor) for certificate in issued)


def _may_be_above(certificate: x509.Certificate) -> bool:
    usage = extension(certificate, x509.KeyUsage)
    return is_authority(certificate) and usage is not None and usage.key_cert_sign


def _octets(text: Any) -> bytes:
    """What is written in standard base64 with padding, in its only canonical form (RFC 7515 §4.1.6)."""
    octets = b64decode(text, validate=True)
    if b64encode(octets).decode() != text:
        raise ValueError("not canonical base64")
    return octets


def _each_certifies_the_one_before(chain: Sequence[x509.Certificate]) -> bool:
    """By name and key identifier, and no name twice, so that there is only one path (RFC 7515 §4.1.6)."""
    names = [certificate.subject for certificate in chain]
    linked = all(
        lower.issuer == upper.subject and not is_issued_by_another_key(lower, upper)
        for lower, upper in pairwise(chain)
    )
    return linked and len(set(names)) == len(names)


def is_authority(certificate: x509.Certificate) -> bool:
    constraints = extension(certificate, x509.BasicConstraints)
    return constraints is not None and constraints.ca


def _may_sign(policy: Policy, certificate: x509.Certificate, usage: x509.KeyUsage) -> None:
    if not usage.digital_signature or usage.key_cert_sign:
        raise ValueError("a key that may not sign, or that may certify")


def _is_no_authority(
    policy: Policy, certificate: x509.Certificate, constraints: x509.BasicConstraints | None
) -> None:
    if constraints is not None and constraints.ca:
        raise ValueError("an authority in the place of a leaf")


# The library's own rules for leaves are those of TLS; these sign tokens.
_LEAF = (
    ExtensionPolicy.permit_all()
    .require_present(x509.KeyUsage, Criticality.AGNOSTIC, _may_sign)
    .may_be_present(x509.BasicConstraints, Criticality.AGNOSTIC, _is_no_authority)
    .require_not_present(x509.NameConstraints)
)


def _may_certify(policy: Policy, certificate: x509.Certificate, usage: x509.KeyUsage) -> None:
    if not usage.key_cert_sign:
        raise ValueError("a key that may not certify")


def _is_an_authority(
    policy: Policy, certificate: x509.Certificate, constraints: x509.BasicConstraints
) -> None:
    if not constraints.ca:
        raise ValueError("no authority")


def _for_any_purpose(
    policy: Policy, certificate: x509.Certificate, purposes: x509.ExtendedKeyUsage | None
) -> None:
    if purposes is not None and _PURPOSES.isdisjoint(purposes):
        raise ValueError("an authority for another purpose, such as servers")


def _constrains_no_subjects(
    policy: Policy, certificate: x509.Certificate, constraints: x509.NameConstraints | None
) -> None:
    bases = (
        [*(constraints.permitted_subtrees or ()), *(constraints.excluded_subtrees or ())]
        if constraints
        else []
    )
    if any(isinstance(base, x509.DirectoryName) for base in bases):
        raise ValueError("a constraint on names of subjects, which nobody here applies")


_PURPOSES = {ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE, ExtendedKeyUsageOID.CLIENT_AUTH}
# The library itself sees to path lengths, name constraints and unknown critical extensions. Its other rules
# for authorities differ from release to release, so all that we demand stands here.
_AUTHORITY = (
    ExtensionPolicy.permit_all()
    .require_present(x509.BasicConstraints, Criticality.AGNOSTIC, _is_an_authority)
    .require_present(x509.KeyUsage, Criticality.AGNOSTIC, _may_certify)
    .may_be_present(x509.ExtendedKeyUsage, Criticality.AGNOSTIC, _for_any_purpose)
    .may_be_present(x509.NameConstraints, Criticality.AGNOSTIC, _constrains_no_subjects)
)
