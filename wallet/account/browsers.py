"""The browsers in which a holder is signed in: the list of them, and signing them out."""

import uuid
from dataclasses import dataclass
from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import rotate_token
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from wallet import sessions
from wallet.account.user_agents import UserAgent
from wallet.models import HolderSession, Wallet
from wallet.pages import for_signed_in, see_other

MOST_SHOWN = 50


@dataclass(frozen=True)
class SignedInBrowser:
    """A browser as the page shows it. public_id: None for one that signed in at an earlier release."""

    public_id: uuid.UUID | None
    name: str
    since: datetime
    last_seen_at: datetime
    is_this: bool


def signed_in(session: HolderSession, *, now: datetime) -> list[SignedInBrowser]:
    """The browsers that are signed in to the wallet of `session`: this one first, then by last use."""
    rows = sessions.living(session.wallet, now=now).order_by("-last_seen_at")[:MOST_SHOWN]
    found = [_shown(row, is_this=row.digest == session.digest) for row in rows]
    return sorted(found, key=lambda one: not one.is_this)


def sign_out_one(wallet: Wallet, public_id: uuid.UUID) -> None:
    """Sign one browser of this wallet out; nothing happens if it has none with this ID."""
    HolderSession.objects.filter(wallet=wallet, public_id=public_id).delete()


def sign_out_others(session: HolderSession) -> None:
    """Sign every browser of the wallet out except that of `session`."""
    HolderSession.objects.filter(wallet=session.wallet_id).exclude(digest=session.digest).delete()


def sign_out_everywhere(wallet: Wallet) -> None:
    """Sign every browser of the wallet out."""
    HolderSession.objects.filter(wallet=wallet).delete()


@never_cache
@require_POST
@for_signed_in
def end(request: HttpRequest, session: HolderSession, now: datetime, public_id: uuid.UUID) -> HttpResponse:
    """Signs out one browser of the signed-in holder; that of another wallet stays signed in."""
    if public_id == session.public_id:
        return _leave(request)
    sign_out_one(session.wallet, public_id)
    return see_other("wallet_security")


@never_cache
@require_POST
@for_signed_in
def end_all(request: HttpRequest, session: HolderSession, now: datetime) -> HttpResponse:
    """Signs out all other browsers of the holder; with the button “everywhere”, this one too."""
    if request.POST.get("where") == "everywhere":
        sign_out_everywhere(session.wallet)
        return _leave(request)
    sign_out_others(session)
    return see_other("wallet_security")


def _leave(request: HttpRequest) -> HttpResponse:
    response = see_other("wallet_signed_out")
    sessions.end(request, response)
    rotate_token(request)
    return response


def _shown(row: HolderSession, *, is_this: bool) -> SignedInBrowser:
    return SignedInBrowser(
        public_id=row.public_id,
        name=str(UserAgent(row.browser_name, row.system_name)),
        since=row.first_signed_in_at or row.signed_in_at,
        last_seen_at=row.last_seen_at,
        is_this=is_this,
    )
