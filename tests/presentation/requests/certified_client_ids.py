"""Client IDs that a certificate proves, and such certificates."""

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography.hazmat.primitives.serialization import Encoding

from presentation.models import CertifiedClientID, RelyingParty
from tests.keys.certificates import Made, issuing, make, root
from tests.relying_party import encode

DNS = "x509_san_dns:shop.example"
DAY = timedelta(days=1)


def now() -> datetime:
    return datetime.now(UTC)


def valid() -> dict[str, Any]:
    """Times between which a certificate is valid now."""
    return {"begins": now() - DAY, "ends": now() + DAY}


def authority() -> Made:
    """An issuing authority under a root of its own."""
    return issuing(root(**valid()), **valid())


def certificate_of(name: str = "shop.example", above: Made | None = None, **changes: Any) -> Made:
    """A certificate for requests that is valid now."""
    facts = {"ca": False, "uses": {"digital_signature"}, "host": name, **valid()}
    return make(name or "nameless", above or authority(), **facts | changes)


def certified(party: RelyingParty, text: str, client_id: str = "") -> CertifiedClientID:
    """The client ID, registered as the admin does it."""
    row = CertifiedClientID(relying_party=party, client_id=client_id, certificates=text)
    row.full_clean()
    row.save()
    return row


def hash_of(certificate: Made) -> str:
    """The client ID that the standard derives from the certificate."""
    der = certificate.certificate.public_bytes(Encoding.DER)
    return "x509_hash:" + encode(hashlib.sha256(der).digest())
