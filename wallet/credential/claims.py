"""The claims of the identity credential; no other module names them. Pure.

For each claim: its name on the wire, its label for people, and its value for a verified identity on a day.
Most claims are in a table. Two families of them answer a question that their last name asks: any age in
years, and any country or union of countries. `claim` finds both kinds.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import Any

import orjson
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from infra import localised
from infra.words import Words
from wallet.credential import birth_dates, details
from wallet.credential.birth_dates import BirthDate, PartialDate
from wallet.credential.countries import (
    NO_NATIONALITY,
    country,
    country_name,
    members,
    name_in_page,
)
from wallet.credential.details import Details
from wallet.credential.evidence import COUNTRY, DOCUMENT_KINDS, METHODS, EvidenceError, Verification, read_day

ClaimPath = tuple[str, ...]

AGE_THRESHOLDS = (18, 21, 65)  # what a request for all of `age_equal_or_over` means
HIGHEST_AGE = 120
MOST_QUESTIONS = 3  # of one family in a presentation
# Its value belongs to a wallet and a requester together, and not to an identity: see `account.pairwise`.
SUBJECT: ClaimPath = ("pairwise_subject",)
# Registered trust frameworks and levels, as people know them; others are shown as they are written.
TRUST_FRAMEWORKS: dict[str, Words] = {
    "eidas": _("eIDAS, the European Union’s rules for electronic identity"),
    "uk_diatf": _("the United Kingdom’s trust framework for digital identity"),
    "nist_800_63A": _("NIST SP 800-63A, the rules of the United States"),
    "de_aml": _("Germany’s rules against money laundering"),
}
LEVELS: dict[str, Words] = {
    "low": _("low"),
    "medium": _("medium"),
    "substantial": _("substantial"),
    "high": _("high"),
    "very_high": _("very high"),
    "in_person": _("document shown in person"),
    "remote": _("pictures seen by an operator"),
    "automatic": _("pictures checked automatically"),
    "simulated": _("simulated"),
}
MAX_NAME = 150
MAX_NATIONALITIES = 10
_YEARS = re.compile(r"[1-9][0-9]{0,2}", re.ASCII)
_FIELDS = {"given_name", "family_name", "birth_date", "nationalities"}


class IdentityError(ValueError):
    """A field of an identity is invalid; the text names the field, never its value."""


@dataclass(frozen=True, repr=False)
class Identity:
    """The verified identity of a person.

    For a person with a single name, either name field is empty. nationalities: as `countries.nationalities`
    reads them; earlier releases stored any two letters. Raises IdentityError if a field is invalid.
    """

    given_name: str
    family_name: str
    birth_date: BirthDate
    nationalities: tuple[str, ...] = ()
    verification: Verification | None = field(default=None, compare=False)  # how it was found out
    email: str = field(default="", compare=False)  # of the wallet; not sealed with the identity
    details: Details = field(default_factory=dict, hash=False)  # that the provider verified as well

    def __post_init__(self) -> None:
        for name in ("given_name", "family_name"):
            if not _is_name(getattr(self, name)):
                raise IdentityError(f"{name} is not a name")
        if not self.given_name and not self.family_name:
            raise IdentityError("given_name and family_name are both empty")
        if type(self.birth_date) not in (date, PartialDate) or self.birth_date.year < 1875:
            raise IdentityError("birth_date is not a date of birth")
        if not _are_codes(self.nationalities):
            raise IdentityError("nationalities are not different two-letter codes")
        if self.details != {}:
            try:
                details.check(self.details)
            except ValueError as error:
                raise IdentityError(str(error)) from error

    def __repr__(self) -> str:
        return "<Identity>"

    def to_json(self) -> bytes:
        """The identity as JSON."""
        facts = {
            "given_name": self.given_name,
            "family_name": self.family_name,
            "birth_date": self.birth_date.isoformat(),
            "nationalities": self.nationalities,
            **({"details": self.details} if self.details else {}),
            **({"verification": self.verification.to_dict()} if self.verification else {}),
        }
        return json.dumps(facts, separators=(",", ":"), ensure_ascii=False).encode()

    @classmethod
    def from_json(cls, text: bytes | str, *, email: str = "") -> "Identity":
        """The identity in `text`; raises IdentityError unless it is exactly what `to_json` writes.

        email: the present address of the wallet, for the claim of that name.
        """
        try:
            facts = orjson.loads(text)
        except ValueError as error:
            raise IdentityError("not JSON") from error
        if not isinstance(facts, dict) or facts.keys() - {"details", "verification"} != _FIELDS:
            raise IdentityError("not the fields of an identity")
        if not isinstance(facts["nationalities"], list):
            raise IdentityError("nationalities are not a list")
        birth_date = read_day(facts["birth_date"]) or birth_dates.as_stored(facts["birth_date"])
        if birth_date is None:
            raise IdentityError("birth_date is not YYYY-MM-DD, YYYY-MM or YYYY")
        return cls(
            given_name=facts["given_name"],
            family_name=facts["family_name"],
            birth_date=birth_date,
            nationalities=tuple(facts["nationalities"]),
            details=facts.get("details", {}),
            verification=_verification(facts.get("verification")),
            email=email,
        )


@dataclass(frozen=True)
class Claim:
    """One claim that a relying party can request."""

    path: ClaimPath
    label: Words
    description: str  # for developers, in the type metadata
    value: Callable[[Identity, date], Any]  # from an identity, on a day; None if it has no such claim
    derived_from: ClaimPath | None = None  # the more telling claim it spares the holder
    optional: bool = False  # some identities do not have it


def _age_claim(threshold: int) -> Claim:
    """Whether somebody has reached an age."""
    return Claim(
        path=("age_equal_or_over", str(threshold)),
        label=format_lazy(_("Aged {age} or over"), age=threshold),
        description=f"Whether the person was {threshold} or older on the day of the presentation.",
        value=lambda identity, today: has_reached(threshold, identity.birth_date, today),
        derived_from=("birth_date",),
        optional=True,
    )


def _nationality_claim(code: str) -> Claim:
    """Whether one of somebody's nationalities is that of a country, or of a union of countries."""
    return Claim(
        path=("nationality_in", code),
        label=format_lazy(_("Nationality: {country}"), country=name_in_page(code)),
        description=f"Whether a nationality of the person is {code}.",
        value=lambda identity, today: _is_in(identity, members(code)),
        derived_from=("nationalities",),
        optional=True,
    )


def _of_verification(
    name: str, label: Words, description: str, value: Callable[[Verification], Any]
) -> Claim:
    """A claim about how the identity was verified; those verified by earlier releases do not have it."""
    return Claim(
        path=("verification", name),
        label=label,
        description=description,
        value=lambda identity, today: value(identity.verification) if identity.verification else None,
        optional=True,
    )


def _of_details(name: str, label: Words, description: str) -> Claim:
    """A claim that only some providers verify: a group of details, or a member of one."""
    group, *member = name.split(".")

    def value(identity: Identity, today: date) -> Any:
        members = identity.details.get(group, {})
        return members.get(member[0]) if member else members or None

    return Claim((group, *member), label, description, value, optional=True)


# In the order in which people read them. Each can be withheld on its own.
CLAIMS: dict[ClaimPath, Claim] = {
    claim.path: claim
    for claim in (
        Claim(
            path=("given_name",),
            label=_("Given name"),
            description="Given names as in the identity document; empty for somebody with a single name.",
            value=lambda identity, today: identity.given_name,
        ),
        Claim(
            path=("family_name",),
            label=_("Family name"),
            description="Family names as in the identity document; empty for somebody with a single name.",
            value=lambda identity, today: identity.family_name,
        ),
        Claim(
            path=("birth_date",),
            label=_("Date of birth"),
            description="Date of birth, YYYY-MM-DD; YYYY-MM or YYYY where no day, or no month, is known.",
            value=lambda identity, today: identity.birth_date.isoformat(),
        ),
        *(_age_claim(threshold) for threshold in AGE_THRESHOLDS),
        Claim(
            path=("nationalities",),
            label=_("Nationality"),
            description="All known nationalities as ISO 3166-1 alpha-2 codes; may be empty.",
            value=lambda identity, today: [
                code for code in identity.nationalities if code not in NO_NATIONALITY
            ],
        ),
        Claim(
            path=("email",),
            label=_("E-mail address"),
            description="The address with which the holder signs in here, proven by a code sent to it.",
            value=lambda identity, today: identity.email or None,
            optional=True,
        ),
        _of_details("address.formatted", _("Address"), "The whole address, in lines."),
        _of_details("address.street_address", _("Street and number"), "May have several lines."),
        _of_details("address.locality", _("Town"), "Town or city."),
        _of_details("address.postal_code", _("Postal code"), "Postal code."),
        _of_details("address.region", _("Region"), "State, province or region."),
        _of_details("address.country", _("Country"), "ISO 3166-1 alpha-2 code."),
        _of_details("place_of_birth", _("Place of birth"), "As far as known; country is an ISO 3166-1 code."),
        _of_details(
            "document.type", _("Kind of document"), f"One of {', '.join(filter(None, DOCUMENT_KINDS))}."
        ),
        _of_details("document.number", _("Number of the document"), "Number of the document."),
        _of_details("document.issuing_country", _("Issuing country"), "ISO 3166-1 alpha-2 code."),
        _of_details("document.expiry_date", _("Last day of the document"), "Last valid day, YYYY-MM-DD."),
        _of_verification(
            "trust_framework",
            _("Rules of the identity check"),
            "The rules under which the identity was verified, as in OpenID Connect for Identity Assurance.",
            lambda verification: verification.assurance.trust_framework,
        ),
        _of_verification(
            "assurance_level",
            _("Assurance level of the identity check"),
            "The level of assurance within the trust framework; absent where it has no levels.",
            lambda verification: verification.assurance.level or None,
        ),
        _of_verification(
            "time",
            _("Date of the identity check"),
            "The day on which the identity was verified, YYYY-MM-DDT00:00Z.",
            lambda verification: f"{verification.day.isoformat()}T00:00Z",
        ),
        _of_verification(
            "evidence",
            _("Kind of identity check"),
            "How the identity was verified, as one element with a type and the details of the check.",
            lambda verification: verification.evidence,
        ),
        Claim(
            path=SUBJECT,
            label=_("Number to recognise you by"),
            description="Stays the same for one relying party and one wallet; every other one gets another.",
            value=lambda identity, today: None,
            optional=True,
        ),
    )
}

# The claims that are arrays, and those that are objects, with the members that these can have. The others are
# text, true or false, so no path leads into them.
ARRAYS = (("nationalities",), ("verification", "evidence"))
OBJECTS: dict[ClaimPath, tuple[str, ...]] = {("place_of_birth",): details.MEMBERS["place_of_birth"]}

# What a person is: not what follows from it, such as an age, nor how it was verified.
ORIGINAL = tuple(path for path, claim in CLAIMS.items() if not claim.derived_from and not claim.optional)

# The label of the claim that can have several values, when it has.
IN_THE_PLURAL: dict[ClaimPath, Words] = {("nationalities",): _("Nationalities")}

# What operators and receipts call them: the path with dots.
NAMES: dict[str, ClaimPath] = {".".join(path): path for path in CLAIMS}

# What OpenID Connect Core 1.0 calls them where that is not the path with dots (§5.1), and its scopes (§5.4).
OPENID_NAMES: dict[ClaimPath, str] = {("birth_date",): "birthdate", SUBJECT: "sub"}
OPENID_SCOPES: dict[str, tuple[ClaimPath, ...]] = {
    "profile": (("given_name",), ("family_name",)),
    "email": (("email",),),
    "address": tuple(path for path in CLAIMS if path[0] == "address"),
}

# The whole name, which OpenID Connect has as one claim, and its parts in their order (§5.1).
OPENID_WHOLE_NAME: ClaimPath = ("name",)
OPENID_PARTS: dict[ClaimPath, tuple[ClaimPath, ...]] = {
    OPENID_WHOLE_NAME: (("given_name",), ("family_name",)),
}

OPENID_PROVEN = {"email": "email_verified"}  # true whenever the first is there: a wallet has no other address

# The claims that answer a question, by the first element of their path.
FAMILIES: dict[str, Words] = {"age_equal_or_over": _("Any age"), "nationality_in": _("Any nationality")}
# What may be allowed to relying parties beside single claims: a whole family.
WHOLE_FAMILIES: dict[str, ClaimPath] = {f"{family}.*": (family, "*") for family in FAMILIES}

# Objects that contain claims: selectively disclosable, as are their members (RFC 9901 §6.3).
GROUPS: dict[ClaimPath, tuple[Words, str]] = {
    ("age_equal_or_over",): (
        _("Age"),
        "Whether the person has reached an age, by threshold in years. A birthday counts once it has begun "
        "in the issuer's time zone for ages, by default UTC-12, where days begin last. For those born on "
        "29 February it is 1 March in other years. Absent if it depends on a day of birth that is not known.",
    ),
    ("nationality_in",): (
        _("Nationality"),
        "Whether a nationality of the person is that of a country, by ISO 3166-1 alpha-2 code, or one in EU, "
        "EEA or CH-EEA. Absent if no nationality is known, or not all are and none of these is.",
    ),
    ("address",): (_("Address"), "Where the person lives, if the provider verified it."),
    ("document",): (_("Document"), "The document that the person showed, if the provider verified it."),
    ("verification",): (_("Identity check"), "How, when and how well the identity was verified."),
}

# Every credential has these, as its type says. It is made for one presentation, so it has no others but those
# that are presented.
MANDATORY = tuple(path for path, claim in CLAIMS.items() if not claim.optional)

# How many digests the credential and each group has, so that their number says nothing about the person.
DIGESTS: dict[ClaimPath, int] = {
    (): len({path[0] for path in CLAIMS} | FAMILIES.keys()),
    **{
        group: sum(path[:-1] == group for path in CLAIMS) + (MOST_QUESTIONS if group[0] in FAMILIES else 0)
        for group in GROUPS
    },
}


def claim(path: Sequence[Any]) -> Claim:
    """The claim at this path; raises KeyError."""
    path = tuple(path)
    if known_claim := CLAIMS.get(path) or _question(path):
        return known_claim
    raise KeyError(path)


def is_question(path: Sequence[Any]) -> bool:
    """Whether it is the path of a claim of a family."""
    return _question(tuple(path)) is not None


@lru_cache(maxsize=1000)
def _question(path: tuple[Any, ...]) -> Claim | None:
    match path:
        case ("age_equal_or_over", str(years)) if _YEARS.fullmatch(years) and int(years) <= HIGHEST_AGE:
            return _age_claim(int(years))
        case ("nationality_in", str(code)) if members(code):
            return _nationality_claim(code)
        case _:
            return None


def named(name: str) -> ClaimPath:
    """The path of the claim of this name, such as `age_equal_or_over.18`; raises KeyError."""
    return NAMES.get(name) or claim(name.split(".")).path


def openid_named(name: str) -> ClaimPath:
    """As `named`, also by the names of OpenID Connect; raises KeyError. `openid_parts` may tell of more."""
    if (name,) in OPENID_PARTS:
        return (name,)
    return next((path for path, openid in OPENID_NAMES.items() if openid == name), None) or named(name)


def openid_parts(path: ClaimPath) -> tuple[ClaimPath, ...]:
    """The claims of a credential that this claim of OpenID Connect is made of; mostly itself alone."""
    return OPENID_PARTS.get(path, (path,))


def openid_value(path: ClaimPath, value: Any) -> Any:
    """The value as OpenID Connect has it: of a birth date the whole, or the year alone (Core 1.0 §5.1)."""
    is_month = path == ("birth_date",) and isinstance(value, str) and len(value) == len("YYYY-MM")
    return value[: len("YYYY")] if is_month else value


def openid_values(path: ClaimPath, value: Any) -> tuple[Any, ...]:
    """Every value that OpenID Connect has as this one (`openid_value`): of a year of birth also months."""
    if path == ("birth_date",) and isinstance(value, str) and len(value) == len("YYYY"):
        return value, *(f"{value}-{month:02}" for month in range(1, 13))
    return (value,)


def openid_name(path: ClaimPath) -> str:
    """What OpenID Connect calls the claim."""
    return OPENID_NAMES.get(path) or ".".join(path)


def is_named(name: object) -> bool:
    """Whether it is the name of a claim."""
    return isinstance(name, str) and (name in NAMES or is_question(name.split(".")))


def asks_for_no_country(pointer: Sequence[Any]) -> bool:
    """Whether a path asks for a nationality by a code that is neither that of a country nor of a union."""
    match tuple(pointer):
        case ("nationality_in", str(code), *_):
            return not members(code)
        case _:
            return False


def says_a_country(pointer: Sequence[Any]) -> bool:
    """Whether a path, also one to an element of a claim, leads to the code of a country."""
    return pointer[0] == "nationalities" or (
        pointer[0] in details.MEMBERS and pointer[-1] in details.COUNTRIES
    )


def permitted(path: ClaimPath, permissions: Collection[ClaimPath]) -> bool:
    """Whether the claim, or all of its family, is among `permissions`."""
    return path in permissions or (path[0], "*") in permissions


def age(birth_date: date, today: date) -> int:
    """The age in years. A person born on 29 February is a year older on 1 March in other years."""
    before_birthday = (today.month, today.day) < (birth_date.month, birth_date.day)
    return today.year - birth_date.year - before_birthday


def has_reached(years: int, born: BirthDate, today: date) -> bool | None:
    """Whether a person born then has reached an age on the day `today`.

    None if the day of birth decides it and is unknown: the first and the last possible one disagree.
    """
    if isinstance(born, date):  # of almost everybody
        return age(born, today) >= years
    eldest, youngest = age(birth_dates.earliest(born), today), age(birth_dates.latest(born), today)
    return youngest >= years if (youngest >= years) == (eldest >= years) else None


def values(identity: Identity, paths: Iterable[ClaimPath] = CLAIMS, *, today: date) -> dict[str, Any]:
    """The claims at `paths` that the identity has, with their values on a day, nested as on the wire.

    Without `paths` all but those that answer a question of a relying party.
    """
    tree: dict[str, Any] = {}
    for path in paths:
        value = (CLAIMS.get(path) or claim(path)).value(identity, today)
        if value is None:
            continue
        *groups, name = path
        here = tree
        for group in groups:
            here = here.setdefault(group, {})
        here[name] = value
    return tree


def values_of_verification(verification: Verification) -> dict[str, Any]:
    """The claims about how an identity was verified, nested as on the wire."""
    somebody = Identity("Somebody", "", date(2000, 1, 1), verification=verification)
    tree = values(somebody, today=date(2000, 1, 1))
    return {"verification": tree["verification"]}


def held(
    identity: Identity, paths: Iterable[ClaimPath] = CLAIMS, *, today: date | None = None
) -> list[ClaimPath]:
    """Those of `paths` whose claims this identity has, and SUBJECT, which everybody can get.

    today: the day for which ages are asked. Without it an age is only there if it is there on every day.
    """
    claims = [claim for path in paths if (claim := CLAIMS.get(path) or _question(path))]
    return [claim.path for claim in claims if _is_held(claim, identity, today)]


def _is_held(claim: Claim, identity: Identity, today: date | None) -> bool:
    if not claim.optional or claim.path == SUBJECT:
        return True
    if is_age(claim.path) and today is None:
        return has_whole_birth_date(identity)
    return claim.value(identity, today or date.min) is not None


def has_whole_birth_date(identity: Identity) -> bool:
    """Whether the day of birth is known, so that every question about an age has an answer."""
    return isinstance(identity.birth_date, date)


def is_age(path: ClaimPath) -> bool:
    """Whether the claim says if an age is reached."""
    return path[0] == "age_equal_or_over"


def held_details(identity: Identity) -> list[ClaimPath]:
    """The paths of the claims that this identity has, and that only some providers verify."""
    return [path for path in held(identity) if path[0] in details.MEMBERS]


def detail_label(group: str) -> Words:
    """What people call a group of details."""
    return GROUPS[group,][0] if (group,) in GROUPS else CLAIMS[group,].label


def details_in_words(groups: Iterable[str]) -> str:
    """The labels of groups of details, each once, in a sentence."""
    chosen = set(groups)
    return localised.listed(str(detail_label(group)) for group in details.MEMBERS if group in chosen)


def labels(paths: Iterable[ClaimPath]) -> list[Words]:
    """The labels of the claims at `paths`, in the same order; raises KeyError for an unknown path."""
    return [claim(path).label for path in paths]


def not_shared(paths: Collection[ClaimPath]) -> list[Words]:
    """What the wallet holds about a person and keeps to itself when `paths` are shared.

    A nationality may follow from one answer about it, so it is not said to be kept.
    """
    answered = {("nationalities",)} if any(path[0] == "nationality_in" for path in paths) else set()
    return [
        claim.label
        for claim in CLAIMS.values()
        if not claim.derived_from and not claim.optional and claim.path not in {*paths, *answered}
    ]


@dataclass(frozen=True)
class ClaimPreview:
    """A claim as the holder sees it before the decision."""

    path: ClaimPath
    value: Words = field(repr=False)
    several: bool = False  # whether it has several values

    @property
    def label(self) -> Words:
        """The label of the claim: in the plural if it has several values."""
        return IN_THE_PLURAL[self.path] if self.several else claim(self.path).label


def preview(identity: Identity, paths: Sequence[ClaimPath], *, today: date) -> list[ClaimPreview]:
    """The claims at `paths` of this identity on the day `today`, in the same order."""
    return [
        ClaimPreview(
            path=path,
            value=display(path, identity, today=today),
            several=path in IN_THE_PLURAL and len(claim(path).value(identity, today)) > 1,
        )
        for path in paths
    ]


def display(path: ClaimPath, identity: Identity, *, today: date) -> Words:
    """The claim's value for people, in the language of the page."""
    value = claim(path).value(identity, today)
    if path[0] in details.MEMBERS and value:
        return _detail_in_words(path, value)
    if path[0] == "verification" and identity.verification:
        return _in_words(path, identity.verification)
    if path == SUBJECT:
        return _("A number that nobody else gets")
    if path == ("birth_date",):
        return birth_dates.in_words(identity.birth_date)
    if isinstance(value, bool):
        return _("Yes") if value else _("No")
    if isinstance(value, list):
        value = localised.listed(country_name(code) for code in value)  # nationalities are the only list
    return value or _("(none)")  # “None” would read as a name


def _detail_in_words(path: ClaimPath, value: Any) -> Words:
    match path[-1]:
        case "place_of_birth":
            return ", ".join(str(_detail_in_words((name,), part)) for name, part in value.items())
        case "country" | "issuing_country":
            return country_name(value)
        case "type":
            return DOCUMENT_KINDS[value]
        case "expiry_date":
            return localised.day(date.fromisoformat(value))
        case _:
            return ", ".join(value.split("\n"))


def _in_words(path: ClaimPath, verification: Verification) -> Words:
    match path[1]:
        case "trust_framework":
            framework = verification.assurance.trust_framework
            return TRUST_FRAMEWORKS.get(framework, framework)
        case "assurance_level":
            return LEVELS.get(verification.assurance.level, verification.assurance.level)
        case "time":
            return localised.day(verification.day)
        case _:
            return METHODS[verification.method][0]


def _verification(facts: Any) -> Verification | None:
    if facts is None:
        return None
    try:
        return Verification.from_dict(facts)
    except EvidenceError as error:
        raise IdentityError("verification is not what was written") from error


def _is_name(name: Any) -> bool:
    """At most MAX_NAME printable characters, possibly none, without leading or trailing spaces."""
    return (
        isinstance(name, str)
        and len(name) <= MAX_NAME
        and name == name.strip()
        and (name.isprintable() or details.is_printable(name))  # the first is quick, and true of most
    )


def _are_codes(codes: Any) -> bool:
    """Whether these are at most MAX_NATIONALITIES different codes of two letters, of a country or not."""
    return (
        isinstance(codes, tuple)
        and len(codes) <= MAX_NATIONALITIES
        and all(isinstance(code, str) and COUNTRY.fullmatch(code) for code in codes)
        and len(set(codes)) == len(codes)
    )


def _is_in(identity: Identity, countries: frozenset[str]) -> bool | None:
    """Whether a nationality is that of one of these countries; None if that is not known.

    A code that is not understood could be meant for any of them, so beside it there is a yes, but no no.
    """
    own = [country(code) for code in identity.nationalities]
    if not countries.isdisjoint(own):
        return True
    return None if None in own or not own else False
