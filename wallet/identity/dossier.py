"""All that the operator who has claimed an attempt sees of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import structlog

from infra.sealing import SealError
from infra.words import Words
from wallet.credential import birth_dates
from wallet.credential.claims import Identity
from wallet.credential.countries import country_name
from wallet.credential.evidence import DOCUMENT_KINDS, METHODS, Evidence
from wallet.identity import duplicates, review, sealed_findings
from wallet.models import IdentityVerification, Picture, Wallet
from wallet.providers.findings import REASONS

log = structlog.get_logger(__name__)


@dataclass(frozen=True, repr=False)
class Dossier:
    """An attempt in review, for people to read. `readable` is False if what was sealed does not open."""

    email: str
    why: Words
    identity: Identity | None
    typed: Mapping[str, str]  # by the person, where that is not the identity
    evidence: Evidence | None
    readable: bool
    earlier: Sequence[IdentityVerification]
    others: Sequence[Wallet]  # wallets that hold the same identity
    pictures: Sequence[Picture]  # without what is in them

    @property
    def birth_date(self) -> str:
        """As far as it is known."""
        return birth_dates.in_words(self.identity.birth_date) if self.identity else ""

    @property
    def nationalities(self) -> str:
        """By name, with the code: a wrong code is easily overlooked."""
        codes = self.identity.nationalities if self.identity else ()
        return ", ".join(f"{country_name(code)} ({code})" for code in codes)

    @property
    def method(self) -> Words:
        """How it was checked, in words."""
        return METHODS[self.evidence.method][0] if self.evidence else ""

    @property
    def document(self) -> Words:
        """The kind of the document, in words."""
        return DOCUMENT_KINDS[self.evidence.document_kind] if self.evidence else ""

    @property
    def country(self) -> str:
        """The country that issued the document."""
        return country_name(self.evidence.issuing_country) if self.evidence else ""


def dossier(verification: IdentityVerification) -> Dossier:
    """The dossier. The caller has checked the operator's permission and recorded the look."""
    wallet = verification.wallet
    readable, identity, evidence = True, None, None
    typed: Mapping[str, str] = {}
    try:
        identity, evidence = review.claims(verification)
        typed = sealed_findings.unseal(verification)[2]
    except SealError:  # sealed under a key that is gone
        log.exception("claims_in_review_do_not_open", verification=str(verification.id))
        readable = False
    earlier = IdentityVerification.objects.filter(wallet=wallet).exclude(id=verification.id)
    return Dossier(
        email=wallet.email,
        why=REASONS.get(verification.reason, ""),
        identity=identity,
        typed=typed,
        evidence=evidence,
        readable=readable,
        earlier=list(earlier.order_by("-created_at")[:20]),
        pictures=pictures_of(verification),
        others=duplicates.others(wallet, identity, evidence) if identity else [],
    )


def pictures_of(verification: IdentityVerification) -> list[Picture]:
    """The pictures of an attempt, without what is in them, the document before the face."""
    pictures = Picture.objects.filter(verification=verification).defer("sealed_jpeg")
    return sorted(pictures, key=lambda picture: ("front", "back", "face").index(picture.kind))
