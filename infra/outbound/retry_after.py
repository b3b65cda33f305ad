"""The header `Retry-After` of a response: how long to wait (RFC 9110 §10.2.3, §15.6.4; RFC 6585 §4). Pure."""

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

BUSY = (429, 503)  # the statuses with which the header counts
_SECONDS = re.compile(r"[0-9]{1,9}")
_LONGEST = 40  # characters; a date has 29


def asked_to_wait(status: int, retry_after: str, *, now: datetime, most: timedelta) -> timedelta:
    """The time to wait, `most` at most; zero for other statuses and for unreadable headers."""
    if status not in BUSY:
        return timedelta(0)
    return min(max(parse(retry_after, now=now), timedelta(0)), most)


def parse(text: str, *, now: datetime) -> timedelta:
    """The duration in the header: its seconds, or the time until its date; zero if it has neither."""
    text = text.strip()
    if _SECONDS.fullmatch(text):
        return timedelta(seconds=int(text))
    if not text.isascii() or len(text) > _LONGEST:
        return timedelta(0)
    try:
        date = parsedate_to_datetime(text)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)) - now
    except (ValueError, TypeError, IndexError, OverflowError):
        return timedelta(0)
