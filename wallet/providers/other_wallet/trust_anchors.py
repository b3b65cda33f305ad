"""Trusted issuers of PIDs: certificates of authorities, from a folder that the operator maintains. Pure.

The key that signed a PID has to lead up to one of them by the certificates in `x5c` (HAIP 1.0 §6.1.1). Each
belongs to one country, and its issuers can vouch only for PIDs of that country. An authority may certify
others than PID issuers, so each names what the certificate of a PID issuer has to say of its purpose.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID, ObjectIdentifier

from keys.certificates import path
from keys.certificates.chain import UNREADABLE, extension
from keys.certificates.path import PathError
from wallet.credential.evidence import COUNTRY
from wallet.sd_jwt.issuance import SdJwtError

ENDINGS = (".pem", ".crt", ".cer", ".der")
MOST_ANCHORS = 500
# Beside the certificate of an anchor: object identifiers (RFC 5280 §4.2.1.4, §4.2.1.12) between white space.
PURPOSES = ".purposes"
ANY = "any"  # in place of them, for an authority that certifies nobody but PID issuers
FOR_LISTS = "status:"  # before one that a certificate may have that signs status lists, and no PIDs
_PURPOSE = re.compile(rf"{ANY}|(?:{FOR_LISTS})?[0-2](?:\.(?:0|[1-9][0-9]*))+", re.ASCII)


class AnchorError(ValueError):
    """The folder cannot be used; the text says what the setting must do."""


class UnknownIssuerError(SdJwtError):
    """The operator does not trust the issuer of the token."""

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

    def __init__(self, anchors: Sequence[tuple[x509.Certificate, Collection[str]]]) -> None:
        """anchors: each with what its PURPOSES file says.

        Raises `AnchorError` if one of them cannot be an anchor, or if there are none.
        """
        if not 1 <= len(anchors) <= MOST_ANCHORS:
            raise AnchorError(f"must hold 1 to {MOST_ANCHORS} certificates, in files {' '.join(ENDINGS)}")
        for certificate, purposes in anchors:
            if not purposes or not all(map(_PURPOSE.fullmatch, purposes)):
                raise AnchorError(f"must hold beside each file one that ends in {PURPOSES}, with identifiers")
            country = _name(certificate, NameOID.COUNTRY_NAME)
            if not COUNTRY.fullmatch(country) or not path.is_authority(certificate):
                raise AnchorError("must hold only certificates of authorities that name their country")
        self._purposes = dict(anchors)

    @classmethod
    def from_folder(cls, folder: str) -> "TrustAnchors":
        """The certificates in its files, PEM or DER. Raises `AnchorError`."""
        try:
            files = sorted(path for path in Path(folder).iterdir() if path.suffix in ENDINGS)
            return cls([anchor for path in files for anchor in _read(path)])
        except AnchorError:
            raise
        except (OSError, Warning, *UNREADABLE):
            text = f"must be a folder of certificates, as PEM or DER, each with a {PURPOSES} file beside it"
            raise AnchorError(text) from None

    def issuer(self, header: Mapping[str, Any], now: datetime, *, lists: bool = False) -> Issuer:
        """The issuer of a token with this header. Raises `UnknownIssuerError`, or `SdJwtError` for no x5c.

        lists: the token is a status list.
        """
        try:
            chain = path.certificates_in(header.get("x5c"))
        except PathError as error:
            raise SdJwtError(str(error), "x5c") from None
        try:
            anchor = path.anchor_above(chain, self._purposes, now)
            key, purposes = chain[0].public_key(), _purposes(chain[0], lists=lists)
        except (Warning, *UNREADABLE):
            raise UnknownIssuerError from None
        if purposes.isdisjoint(self._purposes[anchor]):
            raise UnknownIssuerError
        if not isinstance(key, ec.EllipticCurvePublicKey):
            raise SdJwtError("the issuer's key is not on an elliptic curve", "x5c")
        name = _name(anchor, NameOID.ORGANIZATION_NAME) or _name(anchor, NameOID.COMMON_NAME)
        return Issuer(key, _name(anchor, NameOID.COUNTRY_NAME), name)


def _read(path: Path) -> list[tuple[x509.Certificate, Collection[str]]]:
    data, purposes = path.read_bytes(), path.with_suffix(PURPOSES).read_text("ascii").split()
    if b"-----BEGIN" in data:
        return [(certificate, purposes) for certificate in x509.load_pem_x509_certificates(data)]
    return [(x509.load_der_x509_certificate(data), purposes)]


def _purposes(leaf: x509.Certificate, *, lists: bool) -> set[str]:
    """Its extended key usages and policies, and ANY, as a PURPOSES file names them."""
    purposes = {ANY, *(usage.dotted_string for usage in extension(leaf, x509.ExtendedKeyUsage) or ())}
    purposes |= {
        policy.policy_identifier.dotted_string for policy in extension(leaf, x509.CertificatePolicies) or ()
    }
    return purposes | {FOR_LISTS + purpose for purpose in purposes if lists}


def _name(certificate: x509.Certificate, part: ObjectIdentifier) -> str:
    """This part of the subject's name, as far as people can read it; "" if there is none."""
    attributes = certificate.subject.get_attributes_for_oid(part)
    text = attributes[0].value if attributes else ""
    return text[:200] if isinstance(text, str) and text.isprintable() else ""
