"""Countries by ISO 3166-1 code, and their names in the language of the page. Pure.

They come from Unicode's CLDR, which says “Bolivia” where ISO says “Bolivia (Plurinational State of)”.
"""

import re
import unicodedata
from functools import cache

from babel import Locale, UnknownLocaleError
from django.utils.functional import Promise, lazy
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

# Codes in CLDR that are no countries: unions, parts of countries, test data, unknown.
NO_COUNTRIES = frozenset(
    ("AC", "CP", "CQ", "DG", "EA", "EU", "EZ", "IC", "QO", "TA", "UN", "XA", "XB", "ZZ"),
)

# Unions of countries with their members, as of 25 November 2026.
_EU = frozenset("AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK".split())  # noqa: SIM905 (one line)
_EEA = _EU | {"IS", "LI", "NO"}
UNIONS: dict[str, tuple[Promise, frozenset[str]]] = {
    "EU": (_("a country of the European Union"), _EU),
    "EEA": (_("a country of the European Economic Area"), _EEA),
    "CH-EEA": (_("Switzerland or a country of the European Economic Area"), _EEA | {"CH"}),
}


def members(code: str) -> frozenset[str]:
    """The countries of this union, or the country of this code; empty if it is neither."""
    if code in UNIONS:
        return UNIONS[code][1]
    return frozenset({code}) if is_country(code) else frozenset()


def country_name(code: str, *, language: str = "") -> str:
    """The name of the country, or the code if it is unknown; in the language of the page unless given."""
    return _names(language or get_language() or "en").get(code, code)


_name_in_page = lazy(country_name, str)


def name_in_page(code: str) -> Promise | str:
    """The name of the country or union, in the language of the page that it gets into."""
    return UNIONS[code][0] if code in UNIONS else _name_in_page(code)


def country_code(written: str) -> str | None:
    """The code of a country that somebody wrote as a code or by its name; None if it is neither."""
    written = " ".join(written.split()).casefold()
    if re.fullmatch("[a-z]{2}", written):
        return written.upper() if is_country(written.upper()) else None
    for language in (get_language() or "en", "en"):
        for code, name in _names(language).items():
            if name.casefold() == written and is_country(code):
                return code
    return None


def countries() -> list[tuple[str, str]]:
    """Every country with its code and name, by name, for people to choose from."""
    known = [country for country in _names(get_language() or "en").items() if is_country(country[0])]
    return sorted(known, key=lambda country: unicodedata.normalize("NFKD", country[1].casefold()))


def is_country(code: str) -> bool:
    """Whether CLDR knows the code. It also names regions by number, and uses some codes for other things."""
    return code in _names("en") and re.fullmatch("[A-Z]{2}", code) is not None and code not in NO_COUNTRIES


@cache
def _names(language: str) -> dict[str, str]:
    try:
        locale = Locale.parse(language, sep="-")
    except (UnknownLocaleError, ValueError):
        locale = Locale("en")
    return dict(locale.territories)
