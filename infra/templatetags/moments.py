"""Times on the pages of people: in UTC, until `moments.js` writes them in the time zone of the browser."""

from datetime import date, datetime

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import localtime

from infra import localised

register = template.Library()


@register.simple_tag
def moment(when: datetime) -> SafeString:
    """Date and time as a `<time>` element, such as “1 February 2027, 09:30 UTC”."""
    text = localised.moment(localtime(when))
    return format_html('<time datetime="{}" data-moment>{} UTC</time>', when.isoformat(), text)


@register.simple_tag
def zoned(when: datetime) -> SafeString:
    """As `moment`, but the browser names the zone too: for what is printed and kept."""
    text = localised.moment(localtime(when))
    return format_html('<time datetime="{}" data-zoned>{} UTC</time>', when.isoformat(), text)


@register.simple_tag
def clock(when: datetime) -> SafeString:
    """The time of day as a `<time>` element, such as “09:30 UTC”."""
    text = localised.clock(localtime(when))
    return format_html('<time datetime="{}" data-clock>{} UTC</time>', when.isoformat(), text)


@register.filter
def day(when: date) -> str:
    """The day in the language of the page, such as “1 February 2027”; of a time its day in UTC."""
    return localised.day(localtime(when).date() if isinstance(when, datetime) else when)


@register.filter
def day_and_time(when: datetime) -> str:
    """Day and time in UTC as plain text, for e-mails, which no script rewrites."""
    return localised.moment(localtime(when))
