"""What the pages of a task say of it: what a requester wants to confirm, and when the request ends."""

from django import template
from django.utils import timezone

from wallet.credential import claim_phrases
from wallet.deadlines import Deadline
from wallet.models import RedirectTask

register = template.Library()


@register.filter
def wants_to_confirm(redirect_task: RedirectTask) -> list[str]:
    """The phrases for the claims that a redirect task is about; see `wallet.credential.claim_phrases`."""
    return claim_phrases.phrases(redirect_task.asks_for)


@register.filter
def deadline(redirect_task: RedirectTask) -> Deadline:
    """The end of the request that a redirect task is about."""
    return Deadline(redirect_task.expires_at, redirect_task.extendable_until, redirect_task.return_to)


@register.filter
def seconds_left(end: Deadline) -> int:
    """The seconds until the end, as of now."""
    return end.seconds_left(timezone.now())
