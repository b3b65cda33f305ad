"""Money in each currency's own minor units."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presentation.transaction_data import money


@pytest.mark.parametrize(
    ("amount", "currency", "shown"),
    [
        ("0", "EUR", "0.00 EUR"),
        ("24.5", "EUR", "24.50 EUR"),
        ("1234567.89", "GBP", "1,234,567.89 GBP"),
        ("1E+3", "USD", "1,000.00 USD"),
        ("1000", "JPY", "1,000 JPY"),
        ("1.234", "KWD", "1.234 KWD"),
        ("1.2", "BHD", "1.200 BHD"),
        ("1.2345", "CLF", "1.2345 CLF"),
        ("0.10", "CHF", "0.10 CHF"),
    ],
)
def test_amounts_are_shown_in_the_currencys_own_minor_units(amount: str, currency: str, shown: str) -> None:
    assert str(money.shown(Decimal(amount), currency)).replace("\xa0", " ") == shown


@pytest.mark.parametrize(
    ("price", "currency", "shown"),
    [
        ("0.000001", "EUR", "0.000001 EUR"),
        ("0.12345", "JPY", "0.12345 JPY"),
        ("24.5", "EUR", "24.50 EUR"),
        ("24.500000", "EUR", "24.50 EUR"),
        ("1234", "JPY", "1,234 JPY"),
        ("1E+3", "KWD", "1,000.000 KWD"),
        ("-1234.5678", "EUR", "−1,234.5678 EUR"),
        ("-5", "EUR", "−5.00 EUR"),
        ("0", "EUR", "0.00 EUR"),
    ],
)
def test_a_price_has_all_its_decimal_places_and_those_of_the_currency(
    price: str, currency: str, shown: str
) -> None:
    assert str(money.price_shown(Decimal(price), currency)).replace("\xa0", " ") == shown


def test_what_is_taken_off_has_a_minus_sign() -> None:
    assert str(money.shown(Decimal("-5"), "EUR")) == "\N{MINUS SIGN}5.00\xa0EUR"


def test_an_amount_is_never_broken_over_two_lines() -> None:
    assert " " not in str(money.shown(Decimal(1), "EUR"))


@pytest.mark.parametrize(("amount", "currency"), [("0.5", "JPY"), ("0.001", "EUR"), ("1.0001", "KWD")])
def test_more_decimal_places_than_the_currency_has_are_not_rounded_away(amount: str, currency: str) -> None:
    with pytest.raises(ValueError, match="more decimal places"):
        money.in_minor_units(Decimal(amount), currency)


@given(
    st.decimals(min_value=0, max_value=10**12, allow_nan=False, allow_infinity=False),
    st.sampled_from(sorted(money.MINOR_UNITS)),
)
def test_what_is_shown_is_the_amount_or_nothing_is_shown(amount: Decimal, currency: str) -> None:
    try:
        shown = str(money.shown(amount, currency))
    except ValueError:
        return
    number, code = shown.split("\xa0")
    assert code == currency
    assert abs(Decimal(number.replace(",", "")) - amount) <= Decimal("1e-9")  # as arithmetic with floats
    assert len(number.partition(".")[2]) == money.MINOR_UNITS[currency]


def test_currencies_are_iso_4217_codes_with_known_minor_units() -> None:
    assert all(len(code) == 3 and code.isalpha() and code.isupper() for code in money.MINOR_UNITS)
    assert len(money.MINOR_UNITS) > 160
    assert {money.MINOR_UNITS[code] for code in ("EUR", "USD", "GBP", "CHF", "HUF", "TWD")} == {2}
    assert {money.MINOR_UNITS[code] for code in ("JPY", "KRW", "CLP", "ISK", "VND", "XAF")} == {0}
    assert {money.MINOR_UNITS[code] for code in ("KWD", "BHD", "JOD", "TND", "OMR", "IQD", "LYD")} == {3}
    assert not {"XXX", "XTS", "XAU", "XDR", "DEM", "HRK"} & set(money.MINOR_UNITS)
