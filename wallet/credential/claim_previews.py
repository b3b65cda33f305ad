"""How pages show the values of claims. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from django.utils.translation import gettext_lazy as _

from infra import localised
from wallet.credential import details
from wallet.credential.claims import SUBJECT, ClaimPath, Identity, Text, claim
from wallet.credential.countries import country_name
from wallet.credential.evidence import DOCUMENT_KINDS, METHODS, Verification

# Registered trust frameworks and levels, as people know them; others are shown as they are written.
TRUST_FRAMEWORKS: dict[str, Text] = {
    "eidas": _("eIDAS, the European Union’s rules for electronic identity"),
    "uk_diatf": _("the United Kingdom’s trust framework for digital identity"),
    "nist_800_63A": _("NIST SP 800-63A, the rules of the United States"),
    "de_aml": _("Germany’s rules against money laundering"),
}

LEVELS: dict[str, Text] = {
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

# The label of the claim that can have several values, when it has.
IN_THE_PLURAL: dict[ClaimPath, Text] = {("nationalities",): _("Nationalities")}


@dataclass(frozen=True)
class ClaimPreview:
    """A claim as the holder sees it before the decision."""

    path: ClaimPath
    value: Text = field(repr=False)
    several: bool = False  # whether it has several values

    @property
    def label(self) -> Text:
        """The label of the claim: in the plural if it has several values."""
        return IN_THE_PLURAL[self.path] if self.several else claim(self.path).label


def preview(identity: Identity, paths: Sequence[ClaimPath], *, today: date) -> list[ClaimPreview]:
    """The claims at `paths` of this identity on the day `today`, in the same order."""
    return [
        ClaimPreview(
            path=path,
            value=display(path, identity, today=today),
            several=path in IN_THE_PLURAL and len(identity.nationalities) > 1,
        )
        for path in paths
    ]


def display(path: ClaimPath, identity: Identity, *, today: date) -> Text:
    """The claim's value for people, in the language of the page."""
    value = claim(path).value(identity, today)
    if path[0] in details.MEMBERS and value:
        return _detail_in_words(path, value)
    if path[0] == "verification" and identity.verification:
        return _in_words(path, identity.verification)
    if path == SUBJECT:
        return _("A number that nobody else gets")
    if path == ("birth_date",):
        return localised.day(identity.birth_date)
    if isinstance(value, bool):
        return _("Yes") if value else _("No")
    if isinstance(value, list):
        value = localised.listed(country_name(code) for code in value)  # nationalities are the only list
    return value or _("(none)")  # “None” would read as a name


def _detail_in_words(path: ClaimPath, value: Any) -> Text:
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


def _in_words(path: ClaimPath, verification: Verification) -> Text:
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
