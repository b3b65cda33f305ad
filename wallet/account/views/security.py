"""The page on which holders see and change how they sign in, and signing browsers out."""

import uuid
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from infra.reading import only_read
from wallet.models import HolderSession
from wallet.sign_in import sessions
from wallet.sign_in.decorators import for_signed_in, see_other, show_to
from wallet.sign_in.user_agents import UserAgent

MOST_SHOWN = 50


@only_read
@for_signed_in
def security(request: HttpRequest, session: HolderSession, now: datetime) -> HttpResponse:
    """Passkeys, signed-in browsers and the e-mail address of the signed-in holder."""
    shown = signed_in(session, now=now)
    return show_to(request, session, "security", here="security", browsers=shown)


def signed_in(session: HolderSession, *, now: datetime) -> list[dict[str, Any]]:
    """The browsers that are signed in to the wallet of `session`: this one first, then by last use."""
    rows = sessions.living(session.wallet, now=now).order_by("-last_seen_at")[:MOST_SHOWN]
    browsers = [
        {
            "public_id": row.public_id,
            "name": str(UserAgent(row.browser_name, row.system_name)),
            "since": row.first_signed_in_at or row.signed_in_at,
            "last_seen_at": row.last_seen_at,
            "is_this": row.digest == session.digest,
        }
        for row in rows
    ]
    return sorted(browsers, key=lambda one: not one["is_this"])


@require_POST
@for_signed_in
def end(request: HttpRequest, session: HolderSession, now: datetime, public_id: uuid.UUID) -> HttpResponse:
    """Signs out one browser of the signed-in holder; that of another wallet stays signed in."""
    if public_id == session.public_id:
        return sessions.end(request, see_other("wallet_signed_out"))
    HolderSession.objects.filter(wallet=session.wallet_id, public_id=public_id).delete()
    return see_other("wallet_security")


@require_POST
@for_signed_in
def end_all(request: HttpRequest, session: HolderSession, now: datetime) -> HttpResponse:
    """Signs out all other browsers of the holder; with the button “everywhere”, this one too."""
    HolderSession.objects.filter(wallet=session.wallet_id).exclude(digest=session.digest).delete()
    if request.POST.get("where") == "everywhere":
        return sessions.end(request, see_other("wallet_signed_out"))
    return see_other("wallet_security")
