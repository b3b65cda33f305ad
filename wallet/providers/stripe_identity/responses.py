"""Reads what Stripe says of a VerificationSession, strictly: every type is looked at. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any

from wallet.credential import names
from wallet.credential.birth_dates import BirthDate, of_parts
from wallet.credential.details import Details, read
from wallet.providers.contract import ProviderError

STATUSES = ("requires_input", "processing", "verified", "canceled")
MAX_TEXT = 500
_ID = re.compile(r"vs_[A-Za-z0-9_]{1,100}", re.ASCII)
_CODE = re.compile(r"[a-z0-9_]{1,80}", re.ASCII)


class OddResponseError(ProviderError):
    """An answer that differs from Stripe's documentation; the text names the field, never its value."""

    def __init__(self, how: str) -> None:
        super().__init__(f"Stripe's answer makes no sense: {how}.")


@dataclass(frozen=True)
class Session:
    """A VerificationSession without what was read from the document.

    url: where the person submits, for a short time and once; never stored. error: the code of `last_error`.
    report: the id of the last VerificationReport, of which there is one per submission. redaction: its
    status, "" where nobody has asked for it; from then on the results in an answer are not real any more.
    """

    id: str
    live: bool
    status: str
    url: str = field(repr=False)
    error: str
    report: str
    redaction: str
    client_reference: str

    @property
    def is_over(self) -> bool:
        """Whether nothing can be submitted to this session or read from it any more."""
        return bool(self.redaction) or self.status == "canceled"

    @property
    def outcome(self) -> str:
        """Names one failure of this session; "" if there is none. A session keeps it until the next one."""
        return f"{self.report}:{self.error}" if self.error else ""


@dataclass(frozen=True, repr=False)
class Results:
    """What was read from the document. None or "" is what Stripe left out."""

    given_name: str
    family_name: str
    birth_date: BirthDate | None
    document_passed: bool
    selfie_passed: bool
    checked_at: datetime
    document_type: str
    issuing_country: str
    expires_on: date | None
    number: str
    end_is_odd: bool = False  # the document has a last day, which cannot be read or lacks a part
    details: Details = field(default_factory=dict)


def is_session_id(value: Any) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def session(facts: Any) -> Session:
    """The session in an answer of the API. Raises `OddResponseError`."""
    facts = _object(facts, "the answer")
    if not is_session_id(facts.get("id")):
        raise OddResponseError("id is not that of a session")
    if facts.get("status") not in STATUSES:
        raise OddResponseError("status is unknown")
    if type(facts.get("livemode")) is not bool:
        raise OddResponseError("livemode is neither true nor false")
    error, redaction = _optional(facts, "last_error"), facts.get("redaction")
    code = _text(error, "code") if error else ""
    if code and not _CODE.fullmatch(code):
        raise OddResponseError("last_error.code is not a code")
    report = facts.get("last_verification_report")
    return Session(
        id=facts["id"],
        live=facts["livemode"],
        status=facts["status"],
        url=_text(facts, "url", most=4000),
        error=code,
        report=_text(report if isinstance(report, Mapping) else {"id": report}, "id"),
        redaction="" if redaction is None else _text(_object(redaction, "redaction"), "status") or "unknown",
        client_reference=_text(facts, "client_reference_id"),
    )


def results(facts: Any) -> Results:
    """The results in the answer for a verified session. Raises `OddResponseError`."""
    facts = _object(facts, "the answer")
    outputs = _object(facts.get("verified_outputs"), "verified_outputs")
    report = _object(facts.get("last_verification_report"), "last_verification_report")
    document = _object(report.get("document"), "document")
    selfie = _optional(report, "selfie")
    end = _parts(document, "expiration_date")
    born = {"locality": outputs.get("unparsed_place_of_birth")}
    return Results(
        given_name=_name(outputs, "first_name"),
        family_name=_name(outputs, "last_name"),
        birth_date=of_parts(*_parts(outputs, "dob")),
        document_passed=document.get("status") == "verified",
        selfie_passed=selfie.get("status") == "verified",
        checked_at=_time(report, "created"),
        document_type=_text(document, "type"),
        issuing_country=_text(document, "issuing_country"),
        expires_on=_day(*end),
        number=_text(document, "number"),
        end_is_odd=_day(*end) is None and end != (None, None, None),
        details=read({"address": _address(outputs.get("address")), "place_of_birth": born}),
    )


def _address(facts: Any) -> Mapping[str, Any]:
    """The address under the names of OpenID Connect."""
    if not isinstance(facts, Mapping):
        return {}
    ours = {"locality": "city", "region": "state", "postal_code": "postal_code", "country": "country"}
    lines = [line for name in ("line1", "line2") if isinstance(line := facts.get(name), str)]
    return {name: facts.get(theirs) for name, theirs in ours.items()} | {"street_address": "\n".join(lines)}


def _object(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise OddResponseError(f"{name} is not an object")
    return value


def _optional(facts: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return {} if facts.get(name) is None else _object(facts[name], name)


def _text(facts: Mapping[str, Any], name: str, most: int = MAX_TEXT) -> str:
    value = facts.get(name)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > most:
        raise OddResponseError(f"{name} is not a text of at most {most} characters")
    return value


def _name(facts: Mapping[str, Any], name: str) -> str:
    return names.name(_text(facts, name))


def _day(year: int | None, month: int | None, day: int | None) -> date | None:
    """The day of this year, month and day; None if one is missing or there is none in the calendar."""
    if year is None or month is None or day is None:
        return None
    try:
        return date(year, month, day)
    except (ValueError, OverflowError):
        return None


def _parts(facts: Mapping[str, Any], name: str) -> tuple[int | None, int | None, int | None]:
    """Year, month and day of a date; None for what the document lacks."""
    parts = _optional(facts, name)
    year, month, day = (parts.get(part) for part in ("year", "month", "day"))
    if not all(number is None or type(number) is int for number in (year, month, day)):
        raise OddResponseError(f"{name} is not a date")
    return year, month, day


def _time(facts: Mapping[str, Any], name: str) -> datetime:
    seconds = facts.get(name)
    if type(seconds) is not int or not 0 < seconds < 2**33:
        raise OddResponseError(f"{name} is not a time")
    return datetime.fromtimestamp(seconds, UTC)
