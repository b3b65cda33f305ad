"""The pages on which holders close their wallet, and keep it after all."""

from contextlib import suppress
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from infra import browser
from infra.limits import Limit, LimitReachedError
from infra.operations import WrongStateError
from wallet import redirect_tasks
from wallet.account import fresh
from wallet.account.closing import closures
from wallet.models import HolderSession
from wallet.redirect_tasks import RedirectTaskGoneError
from wallet.sign_in.decorators import for_signed_in, see_other, show_to

# Each makes an e-mail and a row that stays.
CLOSINGS = Limit.from_settings("closings-per-wallet")


@require_http_methods(["GET", "HEAD", "POST"])
@for_signed_in
def close(request: HttpRequest, session: HolderSession, now: datetime) -> HttpResponse:
    """Says what closing does; on POST, lets the wallet close in a day. Needs a fresh factor."""
    wallet = session.wallet
    if wallet.closes_at is None and not fresh.is_fresh(session, now=now):
        return fresh.confirm_first(request, session, "wallet_close", now=now)
    if request.method == "POST":
        with suppress(WrongStateError, LimitReachedError):  # a second click; the page says how it stands
            CLOSINGS.take(str(wallet.id), now=now)
            closures.ask(wallet, now=now, closes_at=closures.earliest(wallet, now=now))
        return see_other("wallet_close")
    closes_at = closures.earliest(wallet, now=now)
    return show_to(
        request,
        session,
        "account/close",
        later=closes_at if closes_at > now + closures.DAY else None,
        legal_hold=settings.TRANSACTION_LEGAL_HOLD,
        years=settings.TRANSACTION_RETENTION_YEARS,
    )


@require_POST
@for_signed_in
def keep_wallet(request: HttpRequest, session: HolderSession, now: datetime) -> HttpResponse:
    """Keeps the wallet. Needs no fresh factor, because it takes nothing away, and a day is short."""
    with suppress(WrongStateError):  # a second click
        closures.undo(session.wallet, now=now)
    return see_other(_onwards(request))


def _onwards(request: HttpRequest) -> str:
    """Back to what the person was about to share, if they came from there."""
    with suppress(RedirectTaskGoneError, ValueError):
        redirect_task_id = UUID(request.POST.get("errand", ""))
        return redirect_tasks.load(redirect_task_id, browser.digest(request), timezone.now()).return_to
    return "wallet_security"
