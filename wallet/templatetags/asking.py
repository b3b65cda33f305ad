"""What a requester wants to confirm, for `templates/wallet/who_asks.html`."""

from django import template

from wallet import asking
from wallet.models import Errand

register = template.Library()


@register.filter
def wants_to_confirm(errand: Errand) -> list[str]:
    """The phrases for the claims that an errand is about; see `wallet.asking`."""
    return asking.phrases(errand.asks_for)
