"""The switch for “You shared …” e-mails. Off unless the holder switches it on."""

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from wallet import sessions
from wallet.models import Wallet
from wallet.pages import see_other

ON = "on"


@never_cache
@require_POST
def switch(request: HttpRequest) -> HttpResponse:
    """Switches the e-mails on, or with every other value off, and leads back to the receipts."""
    session = sessions.current(request, now=timezone.now())
    if session is None:
        return see_other("wallet_front_door")
    Wallet.objects.filter(id=session.wallet_id).update(share_emails=request.POST.get("share_emails") == ON)
    return see_other("consent_history")
