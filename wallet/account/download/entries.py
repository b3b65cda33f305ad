"""The parts of a holder’s download that the wallet’s own tables give. Their members are documented in
docs/data-protection.md; a test compares."""

from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

from django.utils.timezone import localdate
from django.utils.translation import gettext_lazy as _

from infra.personal_data import Entry, Person, Section, in_batches
from infra.sealing import SealError
from wallet import credentials
from wallet.claims import CLAIMS, GROUPS
from wallet.evidence import DOCUMENT_KINDS, METHODS
from wallet.models import Credential, Evidence, IdentityVerification, Picture, Wallet

BATCH = 200


def time(when: datetime | date | None) -> str | None:
    """As JSON has it: ISO 8601, times in UTC."""
    return when.isoformat() if when else None


def wallet_entries(person: Person, *, now: datetime) -> Iterator[Entry]:
    """The wallet itself: one entry."""
    for wallet in Wallet.objects.filter(id=person.id):
        yield {
            "id": str(wallet.id),
            "email": wallet.email,
            "state": "closing" if wallet.closes_at else wallet.state,
            "opened_at": time(wallet.created_at),
            "closes_at": time(wallet.closes_at),
            "share_emails": wallet.share_emails,
        }


def identity_entries(person: Person, *, now: datetime) -> Iterator[Entry]:
    """The verified identity with its values: one entry, or none."""
    for credential in Credential.objects.filter(wallet=person.id):
        try:
            values: dict[str, Any] | None = credentials.disclosed(credential, today=localdate(now))
        except SealError:  # its key is lost, or it is erased
            values = None
        yield {
            "state": credential.state,
            "issued_at": time(credential.issued_at),
            "expires_at": time(credential.expires_at),
            "revoked_at": time(credential.revoked_at),
            "erased_at": time(credential.erased_at),
            "values": values,
        }


def check_entries(person: Person, *, now: datetime) -> Iterator[Entry]:
    """The identity checks, the newest first."""
    checks = IdentityVerification.objects.filter(wallet=person.id).select_related("evidence")
    for check in in_batches(checks, "-created_at", "pk", batch=BATCH):
        yield {
            "id": str(check.id),
            "begun_at": time(check.created_at),
            "state": check.state,
            "changed_at": time(check.changed_at),
            "provider": check.provider,
            "provider_reference": check.provider_reference or None,
            "reason": check.reason or None,
            "pictures": [
                {"kind": kind, "uploaded_at": time(at)}
                for kind, at in check.pictures.order_by("kind").values_list("kind", "uploaded_at")
            ],
            "evidence": _evidence(getattr(check, "evidence", None)),
        }


def _evidence(evidence: Evidence | None) -> dict[str, Any] | None:
    if evidence is None:
        return None
    return {
        "method": evidence.method,
        "method_in_words": str(METHODS[evidence.method][0]) if evidence.method in METHODS else None,
        "trust_framework": evidence.trust_framework,
        "assurance_level": evidence.assurance_level or None,
        "verified_by": evidence.verified_by,
        "verified_at": time(evidence.verified_at),
        "document": str(DOCUMENT_KINDS.get(evidence.document_kind, "")) if evidence.document_kind else None,
        "issuing_country": evidence.issuing_country or None,
        "document_expires_on": time(evidence.document_expires_on),
    }


SECTIONS = (
    Section(
        "wallet",
        _("Your wallet"),
        wallet_entries,
        {
            "id": _("Number of the wallet"),
            "email": _("E-mail address"),
            "state": _("State"),
            "opened_at": _("Opened"),
            "closes_at": _("Closes"),
            "share_emails": _("An e-mail each time you share something"),
        },
        codes={"state": {**dict(Wallet.State.choices), "closing": _("about to close")}},
    ),
    Section(
        "identity",
        _("Your verified identity"),
        identity_entries,
        {
            "state": _("State"),
            "issued_at": _("Issued"),
            "expires_at": _("Valid until"),
            "revoked_at": _("Revoked"),
            "erased_at": _("Erased"),
            "values": _("Values"),
            **{path[-1]: claim.label for path, claim in CLAIMS.items()},
            **{path[-1]: label for path, (label, _description) in GROUPS.items()},
        },
        codes={"state": dict(Credential.State.choices)},
    ),
    Section(
        "identity_checks",
        _("Your identity checks"),
        check_entries,
        {
            "id": _("Number of the check"),
            "begun_at": _("Begun"),
            "state": _("State"),
            "changed_at": _("Last change"),
            "provider": _("Checked with"),
            "provider_reference": _("Number there"),
            "reason": _("Reason for the outcome"),
            "pictures": _("Pictures that are kept"),
            "kind": _("Picture"),
            "uploaded_at": _("Sent"),
            "evidence": _("How your identity was verified"),
            "method": _("Method"),
            "method_in_words": _("Method in words"),
            "trust_framework": _("Rules of the identity check"),
            "assurance_level": _("Assurance level of the identity check"),
            "verified_by": _("Verified by"),
            "verified_at": _("Verified"),
            "document": _("Document"),
            "issuing_country": _("Issuing country"),
            "document_expires_on": _("Document expires"),
        },
        codes={
            "state": dict(IdentityVerification.State.choices),
            "kind": dict(Picture.Kind.choices),
        },
    ),
)
