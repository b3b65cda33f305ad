"""What pages offer and tell the holder who is signed in to the wallet of this browser."""

from typing import Any

from django import template
from django.utils import timezone
from django.utils.html import format_html

from wallet.identity import recoveries
from wallet.models import Wallet
from wallet.sign_in import sessions
from wallet.sign_in.decorators import HOLDER

register = template.Library()


@register.inclusion_tag("wallet/passkeys/offer.html", takes_context=True)
def passkey_offer(context: Any) -> dict[str, Any]:
    """The offer to add a passkey, where no relying party waits; makes no query.

    Made to enrolled holders until they add a passkey or do not want one; not while their wallet closes.
    """
    wallet = _wallet(context)
    wanted = wallet is not None and wallet.can_share and wallet.passkey_offered_at is None
    return {"offered": wanted and hasattr(wallet, "credential"), "request": context.get("request")}


@register.simple_tag(takes_context=True)
def of_holder(context: Any) -> str:
    """The field that says to whom a form is shown (`wallet.sign_in.decorators.refuse_form_of_another`)."""
    wallet = _wallet(context)
    return format_html('<input type="hidden" name="{}" value="{}">', HOLDER, wallet.id) if wallet else ""


@register.inclusion_tag("wallet/recovery/banner.html", takes_context=True)
def wallet_move_banner(context: Any) -> dict[str, Any]:
    """The recovery by which the wallet of this browser is to move away, if there is one."""
    wallet = _wallet(context)
    return {"moving": wallet and recoveries.waiting_for(wallet), "request": context.get("request")}


def _wallet(context: Any) -> Wallet | None:
    request = context.get("request")
    session = sessions.current(request, now=timezone.now()) if request is not None else None
    return session.wallet if session else None
