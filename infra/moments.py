"""How operators read a time: as the admin writes it, in UTC, and saying so. Pure."""

from datetime import datetime


def moment(when: datetime) -> str:
    """Such as 1 Feb 2027, 09:30 UTC."""
    return f"{when.day} {when:%b %Y, %H:%M} UTC"
