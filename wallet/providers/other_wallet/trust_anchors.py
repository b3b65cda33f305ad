"""Whose PIDs are believed: certificates of authorities, from a folder that the operator keeps. Pure.

The key that signed a PID has to lead up to one of them by the certificates in `x5c` (HAIP 1.0 §6.1.1). Each
belongs to one country, and its issuers can vouch only for PIDs of that country.
"""

import re
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID, ObjectIdentifier
from cryptography.x509.verification import (
    Criticality,
    ExtensionPolicy,
    Policy,
    PolicyBuilder,
    Store,
    VerificationError,
)

from wallet.providers.other_wallet.access import UNREADABLE
from wallet.sd_jwt.issuance import SdJwtError

ENDINGS = (".pem", ".crt", ".cer", ".der")
MOST_ANCHORS = 500
MOST_IN_CHAIN = 4
MOST_BETWEEN = 2  # authorities between the anchor and the issuer


class AnchorError(ValueError):
    """The folder cannot be used; the text says what the setting must do."""


class UnknownIssuerError(SdJwtError):
    """The token may be genuine, but its issuer is none that the operator trusts."""

    def __init__(self) -> None:
        super().__init__("x5c does not lead up to a trust anchor", "certificate-chain")


@dataclass(frozen=True)
class Issuer:
    """Who signed, as the trust anchor vouches for it."""

    key: ec.EllipticCurvePublicKey
    country: str  # of the anchor
    name: str  # of the anchor, for people


class TrustAnchors:
    """The authorities that the operator trusts."""

    def __init__(self, certificates: tuple[x509.Certificate, ...]) -> None:
        """Raises `AnchorError` if one of them cannot be an anchor, or if there are none."""
        if not 1 <= len(certificates) <= MOST_ANCHORS:
            raise AnchorError(f"must hold 1 to {MOST_ANCHORS} certificates, in files {' '.join(ENDINGS)}")
        for certificate in certificates:
            country = _name(certificate, NameOID.COUNTRY_NAME)
            if not _COUNTRY.fullmatch(country) or not _is_authority(certificate):
                raise AnchorError("must hold only certificates of authorities that name their country")
        self._store = Store(list(certificates))

    @classmethod
    def from_folder(cls, folder: str) -> "TrustAnchors":
        """The certificates in its files, PEM or DER. Raises `AnchorError`."""
        try:
            files = sorted(path for path in Path(folder).iterdir() if path.suffix in ENDINGS)
            return cls(tuple(certificate for path in files for certificate in _read(path)))
        except AnchorError:
            raise
        except (OSError, Warning, *UNREADABLE):
            raise AnchorError("must be a folder of certificates that can be read, as PEM or DER") from None

    def issuer(self, header: Mapping[str, Any], now: datetime) -> Issuer:
        """The issuer of a token with this header. Raises `UnknownIssuerError`, or `SdJwtError` for no x5c."""
        leaf, *between = _chain(header.get("x5c"))
        verifier = (
            PolicyBuilder()
            .store(self._store)
            .time(now)
            .max_chain_depth(MOST_BETWEEN)
            .extension_policies(ca_policy=ExtensionPolicy.webpki_defaults_ca(), ee_policy=_LEAF)
            .build_client_verifier()
        )
        try:
            anchor = verifier.verify(leaf, between).chain[-1]
            key = leaf.public_key()
        except (VerificationError, Warning, *UNREADABLE):
            raise UnknownIssuerError from None
        if not isinstance(key, ec.EllipticCurvePublicKey):
            raise SdJwtError("the issuer's key is not on an elliptic curve", "x5c")
        name = _name(anchor, NameOID.ORGANIZATION_NAME) or _name(anchor, NameOID.COMMON_NAME)
        return Issuer(key, _name(anchor, NameOID.COUNTRY_NAME), name)


def _may_sign(policy: Policy, certificate: x509.Certificate, usage: x509.KeyUsage) -> None:
    if not usage.digital_signature:
        raise ValueError("a key that may not sign")


# The library's own rules for leaves are those of TLS; a PID issuer has another purpose.
_LEAF = ExtensionPolicy.permit_all().require_present(x509.KeyUsage, Criticality.AGNOSTIC, _may_sign)
_COUNTRY = re.compile(r"[A-Z]{2}", re.ASCII)


def _chain(x5c: Any) -> list[x509.Certificate]:
    if not isinstance(x5c, list) or not 1 <= len(x5c) <= MOST_IN_CHAIN:
        raise SdJwtError(f"x5c is not 1 to {MOST_IN_CHAIN} certificates", "x5c")
    try:
        return [x509.load_der_x509_certificate(b64decode(text, validate=True)) for text in x5c]
    except (Warning, *UNREADABLE):
        raise SdJwtError("x5c holds what is no certificate", "x5c") from None


def _read(path: Path) -> list[x509.Certificate]:
    data = path.read_bytes()
    if b"-----BEGIN" in data:
        return x509.load_pem_x509_certificates(data)
    return [x509.load_der_x509_certificate(data)]


def _name(certificate: x509.Certificate, part: ObjectIdentifier) -> str:
    """This part of the subject's name, as far as people can read it; "" if there is none."""
    found = certificate.subject.get_attributes_for_oid(part)
    text = found[0].value if found else ""
    return text[:200] if isinstance(text, str) and text.isprintable() else ""


def _is_authority(certificate: x509.Certificate) -> bool:
    try:
        found = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    except x509.ExtensionNotFound:
        return False
    return found.value.ca
