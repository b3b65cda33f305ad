"""How an identity was verified, in the terms of OpenID Connect for Identity Assurance 1.0 (§5). Pure."""

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, TypeGuard

from django.utils.translation import gettext_lazy as _

from infra.words import Words
from wallet.credential import days

MAX_TEXT = 200
COUNTRY = re.compile(r"[A-Z]{2}", re.ASCII)  # the form only; `countries` knows those of countries
_IDENTIFIER = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}", re.ASCII)

# How an identity can be verified: our name → its `check_method` (identifiers of OpenID Identity Assurance).
METHODS: dict[str, tuple[Words, str]] = {
    "in_person": (_("Document shown in person"), "vpip"),
    "remote_pictures": (_("Pictures of a document and of the person, seen by an operator"), "vri"),
    "remote_automatic": (_("Pictures of a document and of the person, checked automatically"), "vri"),
    "electronic": (_("Sign-in with a bank or a public authority"), "auth"),
    "wallet": (_("Identity from another wallet"), "vcrypt"),
    "simulated": (_("Simulated check of the sandbox"), "auth"),
}

EVIDENCE = ("document", "electronic_record")  # types

# Kinds of documents, by the `document_details.type` of OpenID Identity Assurance.
DOCUMENT_KINDS: dict[str, Words] = {
    "": _("none"),
    "passport": _("passport"),
    "idcard": _("identity card"),
    "driving_permit": _("driving licence"),
    "residence_permit": _("residence permit"),
    "pid": _("identity data in a wallet"),
    "other": _("another document"),
}


# Levels of the registered trust frameworks, the lowest first, and of the operator's own.
LADDERS = {
    "eidas": ("low", "substantial", "high"),
    "nist_800_63A": ("ial1", "ial2", "ial3"),
    "uk_diatf": ("low", "medium", "high", "very_high"),
}
OWN_LADDER = ("simulated", "automatic", "remote", "in_person")


class EvidenceError(ValueError):
    """These are not the facts of evidence; the text names the field, never its value."""


@dataclass(frozen=True)
class Assurance:
    """How sure an identity is: a level within a trust framework. Levels of two frameworks do not compare.

    `level` is empty where a framework has no levels.
    """

    trust_framework: str
    level: str = ""

    def __post_init__(self) -> None:
        if not _is_identifier(self.trust_framework):
            raise EvidenceError("trust_framework is not 1 to 200 visible characters")
        if self.level and not _is_identifier(self.level):
            raise EvidenceError("level is not visible characters")

    def __str__(self) -> str:
        return f"{self.trust_framework} {self.level}".strip()

    @classmethod
    def parse(cls, text: str) -> "Assurance":
        """The assurance written as "framework level" or "framework". Raises `EvidenceError`."""
        framework, *rest = text.split(" ")
        if len(rest) > 1:
            raise EvidenceError("more than a trust framework and a level")
        return cls(framework, *rest)


def at_least(minimum: Assurance, actual: Assurance) -> bool:
    """Whether `actual` is the minimum or above it. Levels of different frameworks never compare."""
    if minimum.trust_framework != actual.trust_framework:
        return False
    ladder = LADDERS.get(minimum.trust_framework, OWN_LADDER)
    if minimum.level in ladder and actual.level in ladder:
        return ladder.index(actual.level) >= ladder.index(minimum.level)
    return not minimum.level or minimum.level == actual.level


@dataclass(frozen=True)
class Verification:
    """What a credential can disclose of its evidence. The day only: a time would link presentations."""

    assurance: Assurance
    day: date
    method: str  # a key of METHODS

    def to_dict(self) -> dict[str, str]:
        """As JSON has it, to be sealed with the identity."""
        return {
            "trust_framework": self.assurance.trust_framework,
            "assurance_level": self.assurance.level,
            "day": self.day.isoformat(),
            "method": self.method,
        }

    @classmethod
    def from_dict(cls, facts: Any) -> "Verification":
        """What `to_dict` gave; raises `EvidenceError` for anything else."""
        try:
            assurance = Assurance(facts["trust_framework"], facts["assurance_level"])
            method = facts["method"]
            if len(facts) != 4 or method not in METHODS:
                raise EvidenceError("not the facts of a verification")
            return cls(assurance, date.fromisoformat(facts["day"]), method)
        except (ValueError, TypeError, KeyError) as error:
            raise EvidenceError("not the facts of a verification") from error

    @property
    def evidence(self) -> list[dict[str, Any]]:
        """The method as `evidence` (OpenID Connect for Identity Assurance 1.0 §5.1.1)."""
        kind = EVIDENCE[self.method in ("electronic", "wallet")]
        return [{"type": kind, "check_details": [{"check_method": METHODS[self.method][1]}]}]


@dataclass(frozen=True, repr=False)
class Evidence:
    """How one identity was verified. Raises `EvidenceError` when a field does not fit.

    method: a key of `METHODS`. verified_by: the organisation, for people. document_number stays sealed: it
    serves to recognise the same document in another wallet, and is a claim where a provider is set to verify
    documents. subject: by what the provider always knows this person, made unique among providers; never
    disclosed.
    """

    method: str
    assurance: Assurance
    verified_by: str
    verified_at: datetime
    document_kind: str = ""
    issuing_country: str = ""
    document_expires_on: date | None = None
    document_number: str = field(default="", compare=False)
    subject: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise EvidenceError("method is unknown")
        if self.document_kind not in DOCUMENT_KINDS:
            raise EvidenceError("document_kind is unknown")
        if self.issuing_country and not COUNTRY.fullmatch(self.issuing_country):
            raise EvidenceError("issuing_country is not a two-letter country code")
        if type(self.verified_at) is not datetime or self.verified_at.tzinfo is None:
            raise EvidenceError("verified_at is not a time with a time zone")
        if not 1900 < self.verified_at.year < 9999:  # other years leave the calendar in some time zone
            raise EvidenceError("verified_at is not a time of our days")
        if self.document_expires_on is not None and type(self.document_expires_on) is not date:
            raise EvidenceError("document_expires_on is not a date")
        for name in ("verified_by", "document_number", "subject"):
            if not is_text(getattr(self, name)):
                raise EvidenceError(f"{name} is not at most {MAX_TEXT} printable characters")

    def __repr__(self) -> str:
        return "<Evidence>"

    def verification(self) -> Verification:
        """What the credential can disclose of it."""
        return Verification(self.assurance, self.verified_at.astimezone(UTC).date(), self.method)

    def has_expired(self, now: datetime) -> bool:
        """Whether the document has ended, see `days`."""
        return self.document_expires_on is not None and days.is_over(self.document_expires_on, now)

    def to_json(self) -> str:
        """As JSON, to be sealed."""
        expires_on = self.document_expires_on
        facts = vars(self) | vars(self.assurance)
        facts["verified_at"] = self.verified_at.astimezone(UTC).isoformat()
        facts["document_expires_on"] = expires_on.isoformat() if expires_on else None
        del facts["assurance"]
        return json.dumps(facts, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> "Evidence":
        """The evidence in `text`, as `to_json` writes it; raises `EvidenceError` for anything else."""
        try:
            facts: dict[str, Any] = json.loads(text)
            expires_on = facts.pop("document_expires_on")
            return cls(
                assurance=Assurance(facts.pop("trust_framework"), facts.pop("level")),
                verified_at=datetime.fromisoformat(facts.pop("verified_at")),
                document_expires_on=date.fromisoformat(expires_on) if expires_on is not None else None,
                **facts,
            )
        except EvidenceError:
            raise
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise EvidenceError("not the fields of evidence") from error


def read_day(text: Any) -> date | None:
    """The day that is written YYYY-MM-DD; None for anything else, also other notations of ISO 8601."""
    try:
        day = date.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return day if day.isoformat() == text else None


def is_text(value: Any) -> TypeGuard[str]:
    """Whether evidence can have it: at most MAX_TEXT printable characters."""
    return isinstance(value, str) and len(value) <= MAX_TEXT and value.isprintable()


def _is_identifier(text: Any) -> bool:
    return isinstance(text, str) and _IDENTIFIER.fullmatch(text) is not None
