"""The total of line items: each line is rounded to the currency's minor units, then the lines are summed.

Exact halves are rounded away from zero, in discounts as in prices. Invoices round in the same way (EN 16931:
the net amount of a line has two decimals, and the total is the sum of the lines), so the lines that the page
shows add up to the sum that it shows.
"""

from collections.abc import Iterable, Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from presentation.transaction_data.money import MINOR_UNITS

Item = Mapping[str, Any]  # validated: `quantity` is an int, `unit_cost` a Decimal


def line_total(item: Item, currency: str) -> Decimal:
    """Quantity times price, rounded."""
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
