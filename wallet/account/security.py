"""The page on which holders see and change how they sign in."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache

from infra.reading import only_read
from wallet import sessions
from wallet.account import browsers


@never_cache
@only_read
def security(request: HttpRequest) -> HttpResponse:
    """Passkeys, signed-in browsers and the e-mail address of the signed-in holder."""
    now = timezone.now()
    session = sessions.current(request, now=now)
    if session is None:
        return redirect("wallet_front_door")
    context = {
        "here": "security",
        "wallet": session.wallet,
        "session": session,
        "signed_in_as": session.wallet.email,
        "browsers": browsers.signed_in(session, now=now),
    }
    return render(request, "wallet/security.html", context)
