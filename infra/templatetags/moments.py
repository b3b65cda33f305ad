"""Times on the pages of people: in UTC, until `moments.js` writes them in the time zone of the browser."""

from datetime import UTC, date, datetime
from html import escape

from django import template
from django.utils.safestring import SafeString

from infra import localised

register = template.Library()


@register.simple_tag
def moment(when: datetime) -> SafeString:
    """Date and time as a `<time>` element, such as “1 February 2027, 09:30 UTC”."""
    return _element(when, "data-moment", localised.moment(when.astimezone(UTC)))


@register.simple_tag
def zoned(when: datetime) -> SafeString:
    """As `moment`, but the browser names the zone too: for what is printed and kept."""
    return _element(when, "data-zoned", localised.moment(when.astimezone(UTC)))


@register.simple_tag
def clock(when: datetime) -> SafeString:
    """The time of day as a `<time>` element, such as “09:30 UTC”."""
    return _element(when, "data-clock", localised.clock(when.astimezone(UTC)))


@register.filter
def day(when: date) -> str:
    """The day in the language of the page, such as “1 February 2027”; of a time its day in UTC."""
    return localised.day(when.astimezone(UTC).date() if isinstance(when, datetime) else when)


@register.filter
def day_and_time(when: datetime) -> str:
    """Day and time in UTC as plain text, for e-mails, which no script rewrites."""
    return localised.moment(when.astimezone(UTC))


def _element(when: datetime, kind: str, text: str) -> SafeString:
    return SafeString(f'<time datetime="{when.isoformat()}" {kind}>{escape(text)} UTC</time>')
