"""The page on which holders see and change how they sign in."""

from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache

from infra.reading import only_read
from wallet.account import browsers
from wallet.decorators import for_signed_in_302, show_to
from wallet.models import HolderSession


@never_cache
@only_read
@for_signed_in_302
def security(request: HttpRequest, session: HolderSession, now: datetime) -> HttpResponse:
    """Passkeys, signed-in browsers and the e-mail address of the signed-in holder."""
    shown = browsers.signed_in(session, now=now)
    return show_to(request, session, "security", here="security", browsers=shown)
