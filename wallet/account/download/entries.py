"""The parts of a holder’s download that the wallet’s own tables give. Their members are documented in
docs/data-protection.md; a test compares."""

from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from operator import attrgetter
from typing import Any

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from infra.personal_data import Entry, Person, Section, in_batches
from infra.sealing import SealError
from wallet.account import pairwise
from wallet.credential import credentials, days
from wallet.credential.claims import CLAIMS, GROUPS
from wallet.credential.evidence import DOCUMENT_KINDS, METHODS
from wallet.models import Credential, IdentityVerification, Picture, Subject, Wallet

BATCH = 200
# The members of an entry in their order: for each what people read in its place, and its value from the row.
Members = Mapping[str, tuple[Any, Callable[[Any], Any]]]


def time(when: datetime | date | None) -> str | None:
    """As JSON has it: ISO 8601, times in UTC."""
    return when.isoformat() if when else None


def at(name: str) -> Callable[[Any], str | None]:
    """The value of a member that is a time or a day."""
    return lambda row: time(getattr(row, name))


def value_or_null(name: str) -> Callable[[Any], Any]:
    """The value of a member that is null where the row has nothing."""
    return lambda row: getattr(row, name) or None


def described(row: Any, members: Members) -> Entry:
    """The entry of a row."""
    return {name: value(row) for name, (_label, value) in members.items()}


def labels(members: Members) -> dict[str, Any]:
    """What people read in place of the names of the members."""
    return {name: label for name, (label, _value) in members.items()}


WALLET: Members = {
    "id": (_("Number of the wallet"), lambda wallet: str(wallet.id)),
    "email": (_("E-mail address"), attrgetter("email")),
    "state": (_("State"), lambda wallet: "closing" if wallet.closes_at else wallet.state),
    "opened_at": (_("Opened"), at("created_at")),
    "closes_at": (_("Closes"), at("closes_at")),
    "share_emails": (_("An e-mail each time you share something"), attrgetter("share_emails")),
}
IDENTITY: Members = {
    "state": (_("State"), attrgetter("state")),
    "issued_at": (_("Issued"), at("issued_at")),
    "expires_at": (_("Valid until"), at("expires_at")),
    "revoked_at": (_("Revoked"), at("revoked_at")),
    "erased_at": (_("Erased"), at("erased_at")),
}
SUBJECT: Members = {
    "sector": (_("Who gets it"), attrgetter("sector")),
    "created_at": (_("Made"), at("created_at")),
}
PICTURE: Members = {
    "kind": (_("Picture"), attrgetter("kind")),
    "uploaded_at": (_("Sent"), at("uploaded_at")),
}
EVIDENCE: Members = {
    "method": (_("Method"), attrgetter("method")),
    "method_in_words": (
        _("Method in words"),
        lambda row: str(METHODS[row.method][0]) if row.method in METHODS else None,
    ),
    "trust_framework": (_("Rules of the identity check"), attrgetter("trust_framework")),
    "assurance_level": (_("Assurance level of the identity check"), value_or_null("assurance_level")),
    "verified_by": (_("Verified by"), attrgetter("verified_by")),
    "verified_at": (_("Verified"), at("verified_at")),
    "document": (
        _("Document"),
        lambda row: str(DOCUMENT_KINDS.get(row.document_kind, "")) if row.document_kind else None,
    ),
    "issuing_country": (_("Issuing country"), value_or_null("issuing_country")),
    "document_expires_on": (_("Document expires"), at("document_expires_on")),
}
CHECK: Members = {
    "id": (_("Number of the check"), lambda check: str(check.id)),
    "begun_at": (_("Begun"), at("created_at")),
    "state": (_("State"), attrgetter("state")),
    "changed_at": (_("Last change"), at("changed_at")),
    "provider": (_("Checked with"), attrgetter("provider")),
    "provider_reference": (_("Number there"), value_or_null("provider_reference")),
    "reason": (_("Reason for the outcome"), value_or_null("reason")),
    "pictures": (
        _("Pictures that are kept"),
        lambda check: [
            described(one, PICTURE) for one in check.pictures.order_by("kind").defer("sealed_jpeg")
        ],
    ),
    "evidence": (
        _("How your identity was verified"),
        lambda check: described(check.evidence, EVIDENCE) if hasattr(check, "evidence") else None,
    ),
}


def wallet_entries(person: Person, *, now: datetime) -> Iterator[Entry]:
    """The wallet itself: one entry."""
    for wallet in Wallet.objects.filter(id=person.id):
        yield described(wallet, WALLET)


def identity_entries(person: Person, *, now: datetime) -> Iterator[Entry]:
    """The verified identity with its values: one entry, or none."""
    today = days.of_ages(now, settings.AGE_TIME_ZONE)
    for credential in Credential.objects.filter(wallet=person.id):
        try:
            values: dict[str, Any] | None = credentials.disclosed(credential, today=today)
        except SealError:  # its key is lost, or it is erased
            values = None
        yield {**described(credential, IDENTITY), "values": values}


def subject_entries(person: Person, *, now: datetime) -> Iterator[Entry]:
    """The numbers by which requesters recognise the holder."""
    for row in in_batches(Subject.objects.filter(wallet=person.id), "created_at", "pk", batch=BATCH):
        try:
            number: str | None = pairwise.number(row)
        except SealError:
            number = None
        yield {**described(row, SUBJECT), "value": number}


def check_entries(person: Person, *, now: datetime) -> Iterator[Entry]:
    """The identity checks, the newest first."""
    checks = IdentityVerification.objects.filter(wallet=person.id).select_related("evidence")
    for check in in_batches(checks, "-created_at", "pk", batch=BATCH):
        yield described(check, CHECK)


SECTIONS = (
    Section(
        "wallet",
        _("Your wallet"),
        wallet_entries,
        labels(WALLET),
        codes={"state": {**dict(Wallet.State.choices), "closing": _("about to close")}},
    ),
    Section(
        "identity",
        _("Your verified identity"),
        identity_entries,
        {
            **labels(IDENTITY),
            "values": _("Values"),
            **{path[-1]: claim.label for path, claim in CLAIMS.items()},
            **{path[-1]: label for path, (label, _description) in GROUPS.items()},
        },
        codes={"state": dict(Credential.State.choices)},
    ),
    Section(
        "pairwise_subjects",
        _("Numbers to recognise you by"),
        subject_entries,
        {**labels(SUBJECT), "value": _("Number")},
    ),
    Section(
        "identity_checks",
        _("Your identity checks"),
        check_entries,
        labels({**CHECK, **PICTURE, **EVIDENCE}),
        codes={
            "state": dict(IdentityVerification.State.choices),
            "kind": dict(Picture.Kind.choices),
        },
    ),
)
