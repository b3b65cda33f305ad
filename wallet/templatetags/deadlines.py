"""The end of a request, for `templates/includes/deadline.html` and `templates/includes/time_warning.html`."""

from django import template
from django.utils import timezone

from wallet.deadlines import Deadline
from wallet.models import Errand

register = template.Library()


@register.filter
def deadline(errand: Errand) -> Deadline:
    """The end of the request that an errand is about."""
    return Deadline(errand.expires_at, errand.extendable_until, errand.return_to)


@register.filter
def seconds_left(end: Deadline) -> int:
    """The seconds until the end, as of now."""
    return end.seconds_left(timezone.now())
