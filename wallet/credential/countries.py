"""Countries by ISO 3166-1 code, and their names in the language of the page. Pure.

They come from Unicode's CLDR, which says “Bolivia” where ISO says “Bolivia (Plurinational State of)”. What
has a code of ISO 3166-1 today is a country, and so is Kosovo (XK): see docs/decisions/0020-countries.md.

Nothing else decides whether a code is that of a country: `country` reads the codes of machines,
`country_code` what a person or an address says, and `nationalities` those of one person.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import Any

from babel import Locale, UnknownLocaleError
from babel.core import get_global
from django.utils.functional import Promise, lazy
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

# Codes in CLDR that are no countries: unions, parts of countries, test data, unknown.
NO_COUNTRIES = frozenset(
    ("AC", "CP", "CQ", "DG", "EA", "EU", "EZ", "IC", "QO", "TA", "UN", "XA", "XB", "ZZ"),
)

# Codes of countries that are not in ISO 3166-1, and that are in wide use: reserved for the United Kingdom and
# written for Greece by the European Union; those of passports (ICAO Doc 9303-3 §5) for Germany, Kosovo, and
# British people of every kind.
_OTHERWISE = {"UK": "GB", "EL": "GR", "D": "DE", "RKS": "XK"} | dict.fromkeys(
    ("GBD", "GBN", "GBO", "GBP", "GBS"), "GB"
)
# Codes that ISO has withdrawn, and that CLDR still reads as the one country that followed. Which nationality
# somebody has kept since then is not in the code.
_WITHDRAWN = frozenset(("BUR", "DDR", "FXX", "TMP", "YMD", "ZAR"))

# For people with no nationality, or with none that is known: stateless people and refugees in passports (ICAO
# Doc 9303-3 §5), and codes for private use in wallets (PID Rulebook §2).
UNKNOWN = "QU"
NO_NATIONALITY = frozenset(("XXA", "XXB", "XXC", "XXX", "QS", UNKNOWN))

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


def country(code: Any) -> str | None:
    """The two letters of the country with this code of two or three; None if there is no such country.

    Capital letters only, as the standards have them: no other alphabet, width or case. Codes of unions, of
    organisations that issue documents, withdrawn codes and those for private use are no countries.
    """
    if not isinstance(code, str) or not re.fullmatch("[A-Z]{1,3}", code, re.ASCII):
        return None
    if code in _OTHERWISE:
        return _OTHERWISE[code]
    if len(code) == 3:
        return _by_three_letters().get(code)
    return code if is_country(code) else None


def country_code(written: str) -> str | None:
    """The code of a country that somebody wrote as a code in any case, or by its name; None if it is neither.

    Only letters of ASCII make a code: in another alphabet “ß” would be South Sudan.
    """
    written = " ".join(written.split())
    if re.fullmatch("[A-Za-z]{1,3}", written, re.ASCII):
        return country(written.upper())
    for language in (get_language() or "en", "en"):
        for code, name in _names(language).items():
            if name.casefold() == written.casefold() and is_country(code):
                return code
    return None


def nationalities(codes: Iterable[Any]) -> tuple[str, ...]:
    """The countries of somebody's nationalities, each once, by their codes; none if nobody knows any.

    UNKNOWN follows them if a code beside them leaves open whether there are others. Raises ValueError, which
    repeats no code, unless all codes are understood.
    """
    written = list(codes)
    if not all(isinstance(code, str) for code in written):
        raise ValueError("nationalities are not texts")
    read = [country(code) for code in written if code not in NO_NATIONALITY]
    if None in read:
        raise ValueError("nationalities are not countries")
    unique = dict.fromkeys(code for code in read if code)
    return (*unique, UNKNOWN) if unique and not NO_NATIONALITY.isdisjoint(written) else tuple(unique)


def countries() -> list[tuple[str, str]]:
    """Every country with its code and name, by name, for people to choose from."""
    named = [pair for pair in _names(get_language() or "en").items() if is_country(pair[0])]
    return sorted(named, key=lambda pair: unicodedata.normalize("NFKD", pair[1].casefold()))


def is_country(code: Any) -> bool:
    """Whether it is the code of a country as we write it: of ISO 3166-1 alpha-2, or XK.

    CLDR also names regions by number, and uses some codes for other things.
    """
    return (
        isinstance(code, str)
        and code in _names("en")
        and re.fullmatch("[A-Z]{2}", code) is not None
        and code not in NO_COUNTRIES
    )


@cache
def _by_three_letters() -> dict[str, str]:
    """The two letters of each country by its three."""
    aliases = get_global("territory_aliases")
    one = {code: now[0] for code, now in aliases.items() if re.fullmatch("[A-Z]{3}", code) and len(now) == 1}
    return {code: now for code, now in one.items() if is_country(now) and code not in _WITHDRAWN}


@cache
def _names(language: str) -> dict[str, str]:
    try:
        locale = Locale.parse(language, sep="-")
    except (UnknownLocaleError, ValueError):
        locale = Locale("en")
    return dict(locale.territories)
