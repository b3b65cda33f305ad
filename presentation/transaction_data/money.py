"""Amounts of money: ISO 4217 currencies, their minor units, totals, and amounts as people read them."""

from collections.abc import Iterable, Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from consent.blocks import Money

# ISO 4217 list one as of 2026, without metals, bond-market units, test codes and codes without minor units.
_CODES = (
    "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF "
    "CHE CHF CHW CLF CLP CNY COP COU CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP "
    "GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT "
    "LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR "
    "NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN "
    "SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAF "
    "XCD XCG XOF XPF YER ZAR ZMW ZWG"
)
_UNUSUAL = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}

# Currency code → how many decimal places it has.
MINOR_UNITS: dict[str, int] = dict.fromkeys(_CODES.split(), 2) | {
    code: places for places, codes in _UNUSUAL.items() for code in codes.split()
}

PRICE_PLACES = 6  # how many decimal places the price of a single item may have
_INEXACT = Decimal("1e-9")  # how far arithmetic with floats may be off, as in 0.1 + 0.2


def in_minor_units(amount: Decimal, currency: str) -> Decimal:
    """The amount with exactly the currency's decimal places.

    Raises ValueError if it has more, because the amount shown would then differ from the amount requested.
    """
    places = MINOR_UNITS[currency]
    exact = rounded(amount, places)
    if exact is None:
        raise ValueError(f"has more decimal places than {currency} has ({places})")
    return exact


def rounded(amount: Decimal, places: int) -> Decimal | None:
    """The amount with so many decimal places; None if it has more, or only an inexact zero is left."""
    exact = amount.quantize(Decimal(1).scaleb(-places))
    return exact if abs(exact - amount) <= _INEXACT and bool(exact) == bool(amount) else None


def shown(amount: Decimal, currency: str) -> Money:
    """The amount as the page shows it, with the decimal places of its currency: `1,234.50 EUR`."""
    return Money.of(in_minor_units(amount, currency), currency)


def price_shown(price: Decimal, currency: str) -> Money:
    """A price with all of its decimal places, and at least those of the currency: `0.00042 EUR`."""
    places = max(-int(price.normalize().as_tuple().exponent), MINOR_UNITS[currency])
    return Money.of(price.quantize(Decimal(1).scaleb(-places)), currency)


Item = Mapping[str, Any]  # validated: `quantity` is an int, `unit_cost` a Decimal


def line_total(item: Item, currency: str) -> Decimal:
    """Quantity times price, rounded to the minor units of the currency, exact halves away from zero.

    Invoices round in the same way (EN 16931: the net amount of a line has two decimals, and the total is the
    sum of the lines), so the lines that the page shows add up to the sum that it shows.
    """
    smallest = Decimal(1).scaleb(-MINOR_UNITS[currency])
    rounded = exact_total(item).quantize(smallest, rounding=ROUND_HALF_UP)
    return rounded or rounded.copy_abs()  # turns -0 into 0


def exact_total(item: Item) -> Decimal:
    """Quantity times price. It has at most 25 digits, which Decimal's default context (28) keeps exactly."""
    total: Decimal = item["quantity"] * item["unit_cost"]
    return total


def total(items: Iterable[Item], currency: str) -> Decimal:
    """The sum of the rounded lines."""
    return sum((line_total(item, currency) for item in items), Decimal(0))
