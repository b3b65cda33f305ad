"""Certificates in the header of a token (x5c), and the trust anchor that they lead up to. Pure.

RFC 7515 §4.1.6, RFC 5280 §6. Only anchors that an operator has registered count, never public ones.
"""

from base64 import b64decode
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from cryptography import x509
from cryptography.x509.verification import (
    Criticality,
    ExtensionPolicy,
    Policy,
    PolicyBuilder,
    Store,
    VerificationError,
)

from keys.certificates.chain import UNREADABLE, extension

MOST_IN_CHAIN = 4
MOST_BETWEEN = 2  # authorities between the anchor and the leaf


class PathError(ValueError):
    """There is no such path of certificates; the text says why."""


def certificates_in(x5c: Any) -> list[x509.Certificate]:
    """The certificates of a header, leaf first; raises PathError."""
    if not isinstance(x5c, list) or not 1 <= len(x5c) <= MOST_IN_CHAIN:
        raise PathError(f"x5c is not 1 to {MOST_IN_CHAIN} certificates")
    try:
        return [x509.load_der_x509_certificate(b64decode(text, validate=True)) for text in x5c]
    except (Warning, *UNREADABLE):
        raise PathError("x5c holds what is no certificate") from None


def anchor_above(chain: Sequence[x509.Certificate], anchors: Store, now: datetime) -> x509.Certificate:
    """The anchor to which the certificates lead up, leaf first; raises PathError."""
    leaf, *between = chain
    verifier = (
        PolicyBuilder()
        .store(anchors)
        .time(now)
        .max_chain_depth(MOST_BETWEEN)
        .extension_policies(ca_policy=ExtensionPolicy.webpki_defaults_ca(), ee_policy=_LEAF)
        .build_client_verifier()
    )
    try:
        return verifier.verify(leaf, between).chain[-1]
    except (VerificationError, Warning, *UNREADABLE):
        raise PathError("x5c does not lead up to a trust anchor") from None


def is_authority(certificate: x509.Certificate) -> bool:
    found = extension(certificate, x509.BasicConstraints)
    return found is not None and found.ca


def _may_sign(policy: Policy, certificate: x509.Certificate, usage: x509.KeyUsage) -> None:
    if not usage.digital_signature:
        raise ValueError("a key that may not sign")


# The library's own rules for leaves are those of TLS; these sign tokens.
_LEAF = ExtensionPolicy.permit_all().require_present(x509.KeyUsage, Criticality.AGNOSTIC, _may_sign)
