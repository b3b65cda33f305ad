"""From a provider's claims to an identity, and from its evidence to a document. Pure."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from wallet.credential import birth_dates, details
from wallet.credential.claims import MAX_NATIONALITIES, Identity, IdentityError
from wallet.credential.countries import country, nationalities
from wallet.credential.evidence import EvidenceError, is_text, read_day
from wallet.credential.names import name
from wallet.providers.openid_connect.settings import CLAIMED
from wallet.providers.openid_connect.verified_claims import Path, at

_KINDS = {"passport", "idcard", "driving_permit", "residence_permit"}
_OLD_KINDS = {"residence_title": "residence_permit", "de_idcard": "idcard", "id_card": "idcard"}


def identity(claims: Mapping[str, Any], paths: Mapping[str, Path], *, today: date) -> Identity:
    """The person whom the claims describe. Raises `IdentityError`."""
    birth_date = birth_dates.read(at(claims, paths["birth_date"]))
    if birth_date is None or birth_dates.earliest(birth_date) > today:
        raise IdentityError("birth_date is not a date in the past")
    return Identity(
        given_name=_name(at(claims, paths["given_name"])),
        family_name=_name(at(claims, paths["family_name"])),
        birth_date=birth_date,
        nationalities=_nationalities(at(claims, paths["nationalities"])) if "nationalities" in paths else (),
        details=details.read(
            {group: _with_short_code(at(claims, paths[group])) for group in CLAIMED if group in paths}
        ),
    )


def _with_short_code(place: Any) -> Any:
    """The place with two letters for its country, where that is written in three."""
    if not isinstance(place, Mapping):
        return place
    return {**place, "country": country(place.get("country")) or place.get("country")}


def document(evidence: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The first document among the evidence, or else the first record, as fields of
    `wallet.credential.evidence.Evidence`. Raises `EvidenceError`.

    Drafts of the specification, which real providers still follow, wrote `id_document` and `document` for
    `document` and `document_details`.
    """
    for element in evidence:
        details = element.get("document_details", element.get("document"))
        if element.get("type") in ("document", "id_document") and isinstance(details, Mapping):
            return _document(details)
    for element in evidence:
        record = element.get("record")
        if element.get("type") == "electronic_record" and isinstance(record, Mapping):
            return {"document_expires_on": _expiry(record)}
    return {}


def _document(details: Mapping[str, Any]) -> dict[str, Any]:
    kind, issuer = details.get("type"), details.get("issuer")
    number = details.get("document_number", details.get("number"))
    kind = kind if isinstance(kind, str) else ""
    code = issuer.get("country_code", issuer.get("country")) if isinstance(issuer, Mapping) else None
    return {
        "document_kind": kind if kind in _KINDS else _OLD_KINDS.get(kind, "other"),
        "issuing_country": country(code) or "",
        "document_expires_on": _expiry(details),
        "document_number": number if is_text(number) else "",
    }


def _expiry(details: Mapping[str, Any]) -> date | None:
    """The document's expiry. Raises `EvidenceError` for an unreadable date, which must not mean "never"."""
    value = details.get("date_of_expiry")
    expires_on = read_day(value)
    if value is not None and expires_on is None:
        raise EvidenceError("date_of_expiry is not a date")
    return expires_on


def _name(value: Any) -> str:
    try:
        return name(value)
    except ValueError as error:
        raise IdentityError(str(error)) from error


def _nationalities(value: Any) -> tuple[str, ...]:
    """Those in a list, or the one; none where the provider gives none."""
    codes = [] if value is None else value if isinstance(value, list) else [value]
    try:
        return nationalities(codes[: MAX_NATIONALITIES + 1])
    except ValueError as error:
        raise IdentityError(str(error)) from error
