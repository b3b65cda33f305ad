"""What people call countries, by their ISO 3166-1 code, in the language of the page. Pure.

The names are those of Unicode's CLDR: “Bolivia”, where ISO writes “Bolivia (Plurinational State of)”.
"""

from functools import cache

from babel import Locale, UnknownLocaleError
from django.utils.translation import get_language


def country_name(code: str) -> str:
    """The name of the country; the code itself where it has none."""
    return _names(get_language() or "en").get(code, code)


@cache
def _names(language: str) -> dict[str, str]:
    try:
        locale = Locale.parse(language, sep="-")
    except (UnknownLocaleError, ValueError):
        locale = Locale("en")
    return dict(locale.territories)
