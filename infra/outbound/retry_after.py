"""How long an address asks to be left alone (RFC 9110 §10.2.3, §15.6.4; RFC 6585 §4). Pure."""

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

BUSY = (429, 503)  # the statuses that it goes with
_SECONDS = re.compile(r"[0-9]{1,9}")
_LONGEST = 40  # characters; a date has 29


def asked_to_wait(status: int, retry_after: str, *, now: datetime, most: timedelta) -> timedelta:
    """From now on, `most` at most; nothing where it does not ask, or asks in a way nobody understands."""
    if status not in BUSY:
        return timedelta(0)
    return min(max(parse(retry_after, now=now), timedelta(0)), most)


def parse(text: str, *, now: datetime) -> timedelta:
    """What the header says: seconds, or the time until a date; nothing where it is neither."""
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
