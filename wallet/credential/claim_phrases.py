"""What a requester wants to confirm, as parts of a sentence for people. Pure."""

from collections.abc import Sequence

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from infra.words import Words
from wallet.credential.claims import is_named
from wallet.credential.countries import name_in_page

# The names of claims (`claims.NAMES`) and what stands for them after “Acme Bank wants to confirm:”.
PHRASES: dict[str, Words] = {
    "given_name": _("your given name"),
    "family_name": _("your family name"),
    "birth_date": _("your date of birth"),
    "nationalities": _("your nationality"),
    "email": _("your e-mail address"),
    "address.formatted": _("your address"),
    "address.street_address": _("your street"),
    "address.locality": _("the town where you live"),
    "address.postal_code": _("your postal code"),
    "address.region": _("the region where you live"),
    "address.country": _("the country where you live"),
    "place_of_birth": _("where you were born"),
    "document.type": _("what kind of document you showed"),
    "document.number": _("the number of your document"),
    "document.issuing_country": _("the country that issued your document"),
    "document.expiry_date": _("until when your document is valid"),
    "verification.trust_framework": _("the rules by which your identity was checked"),
    "verification.assurance_level": _("how thoroughly your identity was checked"),
    "verification.time": _("when your identity was checked"),
    "verification.evidence": _("how your identity was checked"),
    "pairwise_subject": _("a number to recognise you by"),
}
NAME = _("your name")
_BOTH_NAMES = {"given_name", "family_name"}


def phrases(names: Sequence[str]) -> list[str]:
    """The phrases for the claims, in the same order. The two names are one; unknown claims are left out."""
    whole_name = set(names) >= _BOTH_NAMES
    said = [NAME if whole_name and name in _BOTH_NAMES else _phrase(name) for name in names]
    return list(dict.fromkeys(str(phrase) for phrase in said if phrase))


def _phrase(name: str) -> Words:
    group, _dot, value = name.partition(".")
    if group == "age_equal_or_over" and is_named(name):
        return format_lazy(_("that you are {age} or over"), age=value)
    if group == "nationality_in" and is_named(name):
        return format_lazy(_("whether your nationality is “{country}”"), country=name_in_page(value))
    return PHRASES.get(name, "")
