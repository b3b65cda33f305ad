"""The switch for “You shared …” e-mails. Off unless the holder switches it on."""

from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from wallet.decorators import for_signed_in, see_other
from wallet.models import HolderSession, Wallet

ON = "on"


@require_POST
@for_signed_in
def switch(request: HttpRequest, session: HolderSession, now: datetime) -> HttpResponse:
    """Switches the e-mails on, or with every other value off, and leads back to the receipts."""
    Wallet.objects.filter(id=session.wallet_id).update(share_emails=request.POST.get("share_emails") == ON)
    return see_other("consent_history")
