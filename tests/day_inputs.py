"""A day as it is typed into its three inputs (`wallet.identity.day_field`), by a script and in a real
browser.
"""

from typing import Any


def typed_day(name: str, day: str) -> dict[str, str]:
    """The fields of a form for a day in ISO 8601."""
    year, month, of_month = day.split("-")
    parts = {"day": of_month, "month": str(int(month)), "year": year}
    return {f"{name}_{part}": value for part, value in parts.items()}


def type_day(page: Any, label: str, day: str) -> None:
    """Type a day in ISO 8601 into the inputs below this label, and choose its month by the name."""
    year, month, of_month = day.split("-")
    inputs = page.get_by_role("group", name=label)
    inputs.get_by_label("Day").fill(of_month)
    inputs.get_by_label("Month").select_option(index=int(month))
    inputs.get_by_label("Year").fill(year)
