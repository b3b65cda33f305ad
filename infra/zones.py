"""Time zones as browsers name them (IANA). Pure, except that it reads the system’s database of zones."""

import re
from zoneinfo import ZoneInfo

LONGEST = 64
_NAME = re.compile(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+){0,2}")


def named(name: str) -> ZoneInfo | None:
    """The zone of this name; None for any other text: nobody typed it, so nobody could correct it."""
    if len(name) > LONGEST or not _NAME.fullmatch(name):
        return None
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):  # unknown, a folder, or no database of zones
        return None
