"""Details that only some identity checks verify: address, place of birth and document. Pure.

They have the members of OpenID Connect Core 1.0 §5.1.1 and OpenID Connect for Identity Assurance 1.0 §4.
"""

import unicodedata
from collections.abc import Mapping
from typing import Any

from wallet.credential.countries import country_code, country_name
from wallet.credential.evidence import COUNTRY, DOCUMENT_KINDS, Evidence, read_day

Details = Mapping[str, Mapping[str, str]]  # by group and member, each in the order of MEMBERS

MEMBERS: dict[str, tuple[str, ...]] = {
    "address": ("formatted", "street_address", "locality", "postal_code", "region", "country"),
    "place_of_birth": ("locality", "region", "country"),
    "document": ("type", "number", "issuing_country", "expiry_date"),
}
COUNTRIES = ("country", "issuing_country")  # members that are ISO 3166-1 alpha-2 codes
OF_LINES = ("formatted", "street_address")
MAX_TEXT = 200
MAX_FORMATTED = 1000


def check(details: Any) -> Details:
    """The details, which are as `read` gives them; raises ValueError, which repeats no value."""
    if not isinstance(details, dict):
        raise ValueError("details are not an object")
    for group, members in details.items():
        if group not in MEMBERS or not isinstance(members, dict) or not members:
            raise ValueError("details of no known group")
        if not members.keys() <= set(MEMBERS[group]):
            raise ValueError(f"{group} has an unknown member")
        if not all(_is_valid(name, value) for name, value in members.items()):
            raise ValueError(f"a member of {group} is invalid")
    return details


def read(written: Mapping[str, Any]) -> Details:
    """The groups as somebody else wrote them, in our form, without those in which nothing can be understood.

    A member that cannot be leaves its group out, because an address without its street is another one. Only a
    country that nobody knows is left out itself. An address always has its `formatted`.
    """
    groups = {group: _read(group, written[group]) for group in MEMBERS if written.get(group)}
    return {group: members for group, members in groups.items() if members}


def of_evidence(evidence: Evidence) -> Details:
    """The document that was shown."""
    ends = evidence.document_expires_on and evidence.document_expires_on.isoformat()
    said = (evidence.document_kind, evidence.document_number, evidence.issuing_country, ends)
    return read({"document": dict(zip(MEMBERS["document"], said, strict=True))})


def is_printable(text: str) -> bool:
    """Whether there are no control, format (bidi overrides), surrogate, private and unassigned characters.

    The two joiners are format characters that names in Persian, Hindi and other languages contain.
    """
    return text.isprintable() or all(c in "\u200c\u200d" or unicodedata.category(c)[0] != "C" for c in text)


def _read(group: str, values: Any) -> dict[str, str]:
    if not isinstance(values, Mapping):
        return {}
    written = {name: values[name] for name in MEMBERS[group] if values.get(name) not in (None, "")}
    if not all(isinstance(value, str) for value in written.values()):
        return {}
    ours = {name: _in_our_form(name, value) for name, value in written.items()}
    members = {name: value for name, value in ours.items() if value}
    if group == "address" and members and "formatted" not in members:
        members = {"formatted": _formatted(members), **members}
    return members if all(map(_is_valid, members, members.values())) else {}


def _is_valid(name: str, value: Any) -> bool:
    if not isinstance(value, str) or not 0 < len(value) <= (MAX_FORMATTED if name in OF_LINES else MAX_TEXT):
        return False
    if name in COUNTRIES:
        # `read` takes countries only. A code that ISO withdraws later must not close wallets that have it.
        return COUNTRY.fullmatch(value) is not None
    if name == "type":
        return value in DOCUMENT_KINDS
    if name == "expiry_date":
        return read_day(value) is not None
    lines = value.split("\n") if name in OF_LINES else [value]
    return all(line and line == line.strip() and is_printable(line) for line in lines)


def _in_our_form(name: str, value: str) -> str:
    """Composed, without spaces at the ends and double ones; empty for an unknown country."""
    if len(value) > 2 * MAX_FORMATTED:
        return value
    if name in COUNTRIES:
        return country_code(value) or ""
    lines = (" ".join(line.split()) for line in unicodedata.normalize("NFC", value).splitlines())
    return ("\n" if name in OF_LINES else " ").join(filter(None, lines))


def _formatted(address: Mapping[str, str]) -> str:
    """The address in lines, as on a letter."""
    place = " ".join(address[name] for name in ("postal_code", "locality") if name in address)
    country = country_name(address.get("country", ""), language="en")
    return "\n".join(filter(None, (address.get("street_address"), place, address.get("region"), country)))
