"""What a requester wants to confirm, for `templates/wallet/who_asks.html`."""

from django import template

from wallet.credential import claim_phrases
from wallet.models import Errand

register = template.Library()


@register.filter
def wants_to_confirm(errand: Errand) -> list[str]:
    """The phrases for the claims that an errand is about; see `wallet.credential.claim_phrases`."""
    return claim_phrases.phrases(errand.asks_for)
