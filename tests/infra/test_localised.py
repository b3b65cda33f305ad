"""Days, times, numbers, amounts and lists in the language of the page."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from django.utils.translation import override
from hypothesis import given
from hypothesis import strategies as st

from infra import localised
from presentation.transaction_data import money
from wallet.credential.countries import country_name

DAY = date(2027, 2, 1)


@pytest.mark.parametrize(
    ("language", "day", "listed", "country"),
    [
        ("en-gb", "1 February 2027", "a, b and c", "Spain"),
        ("es", "1 de febrero de 2027", "a, b y c", "España"),
        (None, "1 February 2027", "a, b and c", "Spain"),
        ("tlh", "1 February 2027", "a, b and c", "Spain"),  # CLDR has no words for it
    ],
)
def test_days_lists_and_countries(language: str | None, day: str, listed: str, country: str):
    with override(language):
        assert localised.day(DAY) == day
        assert localised.moment(datetime(2027, 2, 1, 9, 30, tzinfo=UTC)) == f"{day}, 09:30"
        assert localised.listed(["a", "b", "c"]) == listed
        assert country_name("ES") == country


@pytest.mark.parametrize(
    ("amount", "currency", "english", "spanish"),
    [
        ("950", "USD", "950.00 USD", "950,00 USD"),
        ("1234.5", "EUR", "1,234.50 EUR", "1.234,50 EUR"),
        ("-5", "EUR", "−5.00 EUR", "−5,00 EUR"),
        ("1234567", "JPY", "1,234,567 JPY", "1.234.567 JPY"),
        ("0.125", "KWD", "0.125 KWD", "0,125 KWD"),
    ],
)
def test_amounts(amount: str, currency: str, english: str, spanish: str):
    for language, expected in (("en-gb", english), ("es", spanish)):
        with override(language):
            shown = str(money.shown(Decimal(amount), currency))
        assert shown == expected.replace(" ", "\N{NO-BREAK SPACE}")


@given(st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-(10**12), max_value=10**12))
def test_the_languages_differ_only_in_the_separators(amount: Decimal):
    with override("en-gb"):
        english = localised.money(amount, "EUR")
    with override("es"):
        spanish = localised.money(amount, "EUR")
    assert english == spanish.translate(str.maketrans(",.", ".,"))
