"""The offer to add a passkey, on the pages of a signed-in holder where no relying party waits."""

from typing import Any

from django import template
from django.utils import timezone

from wallet.sign_in import sessions

register = template.Library()


@register.inclusion_tag("wallet/passkeys/offer.html", takes_context=True)
def passkey_offer(context: dict[str, Any]) -> dict[str, Any]:
    """Made to enrolled holders until they add a passkey or do not want one; not while their wallet closes.

    Makes no query.
    """
    request = context["request"]
    session = sessions.current(request, now=timezone.now())
    wallet = session.wallet if session else None
    if wallet is None or not wallet.can_share or wallet.passkey_offered_at is not None:
        return {"offered": False}
    return {"offered": getattr(wallet, "credential", None) is not None}
