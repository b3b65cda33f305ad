"""From a provider's claims to an identity, and from its evidence to a document. Pure."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from babel import Locale
from babel.core import get_global

from wallet.credential import details
from wallet.credential.claims import MAX_NATIONALITIES, Identity, IdentityError
from wallet.credential.evidence import EvidenceError, is_text, read_day
from wallet.providers.openid_connect.settings import CLAIMED
from wallet.providers.openid_connect.verified_claims import Path, at

# ICAO Doc 9303-3 §5 has codes of its own; those of people without a known nationality stand for none.
_ICAO = {"D": "DE", "RKS": "XK", **dict.fromkeys(("GBD", "GBN", "GBO", "GBP", "GBS"), "GB")}
_NO_COUNTRIES = {"EU", "EZ", "QO", "UN", "XA", "XB", "ZZ"}  # of Unicode's territories
_NONE = {"XXA", "XXB", "XXC", "XXX", "QS", "QU"}
_KINDS = {"passport", "idcard", "driving_permit", "residence_permit"}
_OLD_KINDS = {"residence_title": "residence_permit", "de_idcard": "idcard", "id_card": "idcard"}


def identity(claims: Mapping[str, Any], paths: Mapping[str, Path], *, today: date) -> Identity:
    """The person whom the claims describe. Raises `IdentityError`."""
    birth_date = read_day(at(claims, paths["birth_date"]))
    if birth_date is None or birth_date > today:
        raise IdentityError("birth_date is not a date in the past")
    return Identity(
        given_name=_name(at(claims, paths["given_name"])),
        family_name=_name(at(claims, paths["family_name"])),
        birth_date=birth_date,
        nationalities=_countries(at(claims, paths["nationalities"])) if "nationalities" in paths else (),
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
    for each in evidence:
        details = each.get("document_details", each.get("document"))
        if each.get("type") in ("document", "id_document") and isinstance(details, Mapping):
            return _document(details)
    for each in evidence:
        record = each.get("record")
        if each.get("type") == "electronic_record" and isinstance(record, Mapping):
            return {"document_expires_on": _expiry(record)}
    return {}


def country(code: Any) -> str | None:
    """The two letters of a country, from two or three; None if there is no such country."""
    if not isinstance(code, str) or not code.isascii() or not code.isalpha() or not code.isupper():
        return None
    found = get_global("territory_aliases").get(code, ()) if len(code) == 3 else (code,)
    short = _ICAO.get(code) or (found[0] if len(found) == 1 else "")
    return short if short in Locale("en").territories and short not in _NO_COUNTRIES else None


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
    if not isinstance(value, str):
        raise IdentityError("a name is not a text")
    return value.strip()


def _countries(value: Any) -> tuple[str, ...]:
    codes = [] if value is None else value if isinstance(value, list) else [value]
    if not all(isinstance(code, str) for code in codes):
        raise IdentityError("nationalities are not texts")
    known = [country(code) for code in codes[: MAX_NATIONALITIES + 1] if code not in _NONE]
    if None in known:
        raise IdentityError("nationalities are not countries")
    return tuple(dict.fromkeys(code for code in known if code))
