"""The identity and evidence in a PID, and whether they match what the person typed. Pure."""

import unicodedata
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from wallet.credential import birth_dates
from wallet.credential.claims import Identity, IdentityError
from wallet.credential.countries import country, nationalities
from wallet.credential.details import read
from wallet.credential.evidence import Assurance, Evidence, EvidenceError, is_text, read_day
from wallet.credential.names import name

# Letters that Unicode does not take apart, as people type them who do not have them.
_LETTERS = str.maketrans(
    {"ł": "l", "đ": "d", "ð": "d", "ø": "o", "æ": "ae", "œ": "oe", "þ": "th", "ı": "i", "ħ": "h"}
)


def identity_of(person: Mapping[str, Any]) -> Identity:
    """The identity in a PID. Raises `IdentityError`: even a trusted issuer's data may not be valid here."""
    birth_date = birth_dates.read(person.get("birthdate"))
    if birth_date is None:
        raise IdentityError("birthdate is not a date of birth")
    return Identity(
        given_name=_name(person.get("given_name")),
        family_name=_name(person.get("family_name")),
        birth_date=birth_date,
        nationalities=_nationalities(person.get("nationalities")),
        details=read({**person, "address": _with_house_number(person.get("address"))}),
    )


def evidence_of(
    person: Mapping[str, Any], proof: Mapping[str, Any], *, assurance: Assurance, at: datetime
) -> Evidence:
    """Raises `EvidenceError`.

    The evidence ends with `date_of_expiry`, the administrative end of the PID. The `exp` of the copy that was
    shown says only until when that copy may be shown: wallets get new ones every few days.
    """
    ends = person.get("date_of_expiry")
    number = person.get("document_number")
    last_day = read_day(ends)
    if ends is not None and last_day is None:
        raise EvidenceError("date_of_expiry is not a day")
    return Evidence(
        method="wallet",
        assurance=assurance,
        verified_by=proof.get("issuer", ""),
        verified_at=at,
        document_kind="pid",
        issuing_country=country(proof.get("country")) or "",  # of a union there is none
        document_expires_on=last_day,
        document_number=number if is_text(number) else "",
    )


def fits(typed: Mapping[str, str], identity: Identity) -> bool:
    """Whether the person who typed this may be the one of the PID; some of the given names are enough.

    A single name is the same, whichever of the two fields it stands in. Who types a whole birth date may be
    the one of a PID with the year alone, but not the other way round.
    """
    if not typed.get("birth_date", "").startswith(identity.birth_date.isoformat()):
        return False
    given, family = _words(identity.given_name), _words(identity.family_name)
    typed_given, typed_family = _words(typed.get("given_name", "")), _words(typed.get("family_name", ""))
    if not (given and family) and not (typed_given and typed_family):
        swapped = (given | family) == (typed_given | typed_family)  # who has one name may have it in either
        return swapped or (not family and not typed_family and bool(typed_given) and typed_given <= given)
    return typed_family == family and typed_given <= given and bool(typed_given) == bool(given)


def _nationalities(codes: Any) -> tuple[str, ...]:
    """Those of a PID, which has two letters for each (PID Rulebook §2). Raises `IdentityError`."""
    if not isinstance(codes, list) or not all(isinstance(code, str) and len(code) == 2 for code in codes):
        raise IdentityError("nationalities are not a list of two-letter codes")
    try:
        return nationalities(codes)
    except ValueError as error:
        raise IdentityError(str(error)) from error


def _with_house_number(address: Any) -> Any:
    """The address with the number of the house after the street; a PID has them apart."""
    if not isinstance(address, Mapping) or not address.get("house_number"):
        return address
    return {**address, "street_address": f"{address.get('street_address', '')} {address['house_number']}"}


def _name(value: Any) -> str:
    try:
        return name(value)
    except ValueError as error:
        raise IdentityError(str(error)) from error


def _words(name: str) -> frozenset[str]:
    """The words of a name, without what people leave out when they type: accents, case, punctuation."""
    folded, base = [], " "
    for character in unicodedata.normalize("NFKD", name.casefold()).translate(_LETTERS):
        if unicodedata.category(character)[0] == "M":
            # In scripts other than these a mark is part of the letter, as a vowel in Devanagari is.
            if unicodedata.name(base, "").split(" ")[0] in ("LATIN", "GREEK", "CYRILLIC"):
                continue
        else:
            base = character
        is_part = character.isalnum() or unicodedata.category(character)[0] == "M"
        folded.append(character if is_part or character in "’'" else " ")
    return frozenset("".join(folded).replace("’", "").replace("'", "").split())
