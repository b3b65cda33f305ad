"""The names of countries in the language of the page, by ISO 3166-1 code. Pure.

They come from Unicode's CLDR, which says “Bolivia” where ISO says “Bolivia (Plurinational State of)”.
"""

from functools import cache

from babel import Locale, UnknownLocaleError
from django.utils.translation import get_language


def country_name(code: str) -> str:
    """The name of the country, or the code if it is unknown."""
    return _names(get_language() or "en").get(code, code)


@cache
def _names(language: str) -> dict[str, str]:
    try:
        locale = Locale.parse(language, sep="-")
    except (UnknownLocaleError, ValueError):
        locale = Locale("en")
    return dict(locale.territories)
