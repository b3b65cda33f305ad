"""The banner that tells a signed-in holder that their wallet is to move to another address."""

from typing import Any

from django import template
from django.utils import timezone

from wallet.account.recovery import recoveries
from wallet.sign_in import sessions

register = template.Library()


@register.inclusion_tag("wallet/recovery/banner.html", takes_context=True)
def wallet_move_banner(context: Any) -> dict[str, Any]:
    """The recovery by which the wallet of this browser is to move away, if there is one."""
    request = context.get("request")
    session = sessions.current(request, now=timezone.now()) if request is not None else None
    moving = recoveries.waiting_for(session.wallet) if session is not None else None
    return {"moving": moving, "csrf_token": context.get("csrf_token")}
