"""Days, times, numbers and lists in the language of the page, by the rules of Unicode's CLDR. Pure.

Every date, number, amount of money and list on pages and in e-mails for holders is written here.
"""

from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal
from functools import cache, lru_cache

from babel import Locale, UnknownLocaleError
from babel.dates import format_date, format_skeleton
from babel.lists import format_list
from babel.numbers import get_decimal_symbol, get_group_symbol
from django.utils.translation import get_language

ENGLISH = "en-gb"


def locale() -> Locale:
    """The locale of the page; British English if CLDR does not know the language."""
    return _locale(get_language() or ENGLISH)


@cache
def _locale(language: str) -> Locale:
    try:
        locale = Locale.parse(language, sep="-")
    except (UnknownLocaleError, ValueError):
        locale = None
    has_words = locale is not None and locale.territories  # CLDR has no words for some locales that it knows
    return locale if locale and has_words else Locale.parse(ENGLISH, sep="-")


def day(when: date) -> str:
    """A day, such as “1 February 2027” or “1 de febrero de 2027”."""
    return format_date(when, "long", locale=locale())


def month(when: date) -> str:
    """The month of a day, such as “February 2027” or “febrero de 2027”."""
    return format_skeleton("yMMMM", when, locale=locale())


def months() -> dict[int, str]:
    """The names of the months by their number, as they stand in a list."""
    return dict(locale().months["stand-alone"]["wide"])


def moment(when: datetime) -> str:
    """Day and time in the zone of `when`, such as “1 February 2027, 09:30”."""
    return f"{_day(when.date(), get_language() or ENGLISH)}, {clock(when)}"


def zoned_moment(when: datetime) -> str:
    """As `moment`, with the zone, such as “1 February 2027, 09:30 UTC+01:00”: for what is read anywhere."""
    offset = f"{when:%z}"
    return f"{moment(when)} UTC" + (f"{offset[:3]}:{offset[3:5]}" if when.utcoffset() else "")


@lru_cache(maxsize=1000)  # of days on which something happened, never of those of birth
def _day(when: date, language: str) -> str:
    return format_date(when, "long", locale=_locale(language))


def clock(when: datetime) -> str:
    """The time of day in the zone of `when`, such as “09:30”."""
    return f"{when:%H:%M}"


def listed(parts: Iterable[str]) -> str:
    """A list as a part of a sentence, such as “a, b and c” or “a, b y c”."""
    return format_list(list(parts), locale=locale())


def separated(number: str) -> str:
    """A number in the notation of Python (`1,234.50`) with the separators of the language (`1.234,50`)."""
    marks = str.maketrans({",": get_group_symbol(locale()), ".": get_decimal_symbol(locale())})
    return number.translate(marks)


def money(amount: Decimal, currency: str) -> str:
    """An amount with its decimal places as given: `1,234.50 EUR` or `−5.00 EUR`, with a no-break space.

    In Spanish `1.234,50 EUR`. The code of the currency is shown, because a sign such as `$` is ambiguous. The
    minus sign stands for a hyphen, which is easily overlooked.
    """
    number = separated(f"{amount:,f}").replace("-", "\N{MINUS SIGN}")
    return f"{number}\N{NO-BREAK SPACE}{currency}"
