"""What the pages of an errand say of it: what a requester wants to confirm, and when the request ends."""

from django import template
from django.utils import timezone

from wallet.credential import claim_phrases
from wallet.deadlines import Deadline
from wallet.models import Errand

register = template.Library()


@register.filter
def wants_to_confirm(errand: Errand) -> list[str]:
    """The phrases for the claims that an errand is about; see `wallet.credential.claim_phrases`."""
    return claim_phrases.phrases(errand.asks_for)


@register.filter
def deadline(errand: Errand) -> Deadline:
    """The end of the request that an errand is about."""
    return Deadline(errand.expires_at, errand.extendable_until, errand.return_to)


@register.filter
def seconds_left(end: Deadline) -> int:
    """The seconds until the end, as of now."""
    return end.seconds_left(timezone.now())
