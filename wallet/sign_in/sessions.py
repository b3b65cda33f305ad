"""The sessions of holders, separate from Django's sessions, which operators use.

The cookie contains a secret, and the row its SHA-256. Every sign-in creates a new row and secret and deletes
the previous row of the browser, which prevents session fixation.
"""

import re
import secrets
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import get_language

from infra import browser, zones
from infra.sealing import sha256_hex
from infra.served import noting
from wallet.models import HolderSession, Wallet
from wallet.sign_in import user_agents

IDLE = timedelta(minutes=30)
ABSOLUTE = timedelta(hours=12)
SEEN_EVERY = timedelta(minutes=1)  # the resolution of `last_seen_at`, which saves writes

_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")
_UNKNOWN = object()


class _WithSession(HttpRequest):
    """A request whose session was read. unused_session: a session that was read and is not asked for yet."""

    holder_session: object
    unused_session: HolderSession | None
    wallet_closes_at: datetime | None


def current(request: HttpRequest, *, now: datetime) -> HolderSession | None:
    """The session of this browser with its wallet and credential, read once per HTTP request.

    None if no holder is signed in, if the session has expired, or if the wallet is suspended or closed.
    Asking for it counts as its use, and keeps it from becoming idle.
    """
    session = getattr(request, "holder_session", _UNKNOWN)
    if session is _UNKNOWN:
        row = getattr(request, "unused_session", _UNKNOWN)
        if row is _UNKNOWN:
            row = find(digest_in(request), now=now)
        session = _seen(cast(HolderSession | None, row), now=now)
        _keep(request, session)
    return cast(HolderSession | None, session)


def find(digest: str, *, now: datetime) -> HolderSession | None:
    """The living session with this digest, with its wallet and credential; "" finds none."""
    rows = HolderSession.objects.filter(digest=digest, expires_at__gt=now, last_seen_at__gt=now - IDLE)
    return rows.select_related("wallet__credential").first() if digest else None


def digest_in(request: HttpRequest) -> str:
    """The digest of the secret in the cookie of this browser; empty if there is none."""
    secret = request.COOKIES.get(settings.HOLDER_COOKIE_NAME, "")
    return sha256_hex(secret) if _SECRET.fullmatch(secret) else ""


def closes_at(request: HttpRequest) -> datetime | None:
    """When the wallet of the signed-in holder closes, if it is about to and the session was asked for."""
    closes: datetime | None = getattr(request, "wallet_closes_at", None)
    return closes


def was_read(request: HttpRequest, session: HolderSession | None) -> None:
    """Keeps what `find` would find for this browser, because another statement has read it already.

    The session is not used before `current` is asked for it: a request that is refused whoever is signed in
    leaves it as it was.
    """
    with_session = noting(request, _WithSession)
    with_session.holder_session = _UNKNOWN
    with_session.unused_session = session


def start(
    request: HttpRequest, response: HttpResponse, wallet: Wallet, *, by_passkey: bool = False, now: datetime
) -> HolderSession:
    """Sign this browser in to `wallet`: create a session and its cookie, and delete the previous session.

    A holder who proves a factor again stays signed in with the same `public_id` since the same time.
    """
    secret = secrets.token_urlsafe(32)
    before = current(request, now=now)
    agent = user_agents.parse(request.headers.get("User-Agent", ""))
    zone = zones.named(request.POST.get("zone", ""))
    kept: dict[str, Any] = {"time_zone": zone.key if zone else ""}
    if before is not None and before.wallet_id == wallet.pk:
        kept["first_signed_in_at"] = before.first_signed_in_at or before.signed_in_at
        kept["public_id"] = before.public_id
        kept["time_zone"] = kept["time_zone"] or before.time_zone
    with transaction.atomic():
        session = HolderSession.objects.create(
            digest=sha256_hex(secret),
            wallet=wallet,
            signed_in_at=now,
            by_passkey=by_passkey,
            last_seen_at=now,
            expires_at=now + ABSOLUTE,
            browser_name=agent.browser,
            system_name=agent.system,
            **kept,
        )
        speak(wallet, get_language() or "")
    _delete(request)  # by itself: the commit of the new row locks the wallet, which comes before sessions
    browser.set_cookie(response, settings.HOLDER_COOKIE_NAME, secret, lifetime=ABSOLUTE)
    _keep(request, session)
    return session


def may_tell_time(session: HolderSession, request_id: UUID) -> bool:
    """Whether the time of its sign-in, to the second, was told for no request but this one."""
    return session.time_told_for in (None, request_id)


def tell_time(session: HolderSession, request_id: UUID) -> bool:
    """Keeps that the time of its sign-in is told for this request; False if another was first.

    The holder then proves a factor again, which gives the session another time.
    """
    same = HolderSession.objects.filter(digest=session.digest, signed_in_at=session.signed_in_at)
    untold = same.filter(Q(time_told_for=None) | Q(time_told_for=request_id))
    return untold.update(time_told_for=request_id) == 1


def speak(wallet: Wallet, language: str) -> None:
    """Remember the language of the person for e-mails; writes only if it changed."""
    if wallet.language != language:
        Wallet.objects.filter(id=wallet.id).update(language=language)
        wallet.language = language


def end(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Sign this browser out; gives the response."""
    _delete(request)
    response.delete_cookie(settings.HOLDER_COOKIE_NAME, samesite="Lax")
    _keep(request, None)
    return response


def living(wallet: Wallet, *, now: datetime) -> QuerySet[HolderSession]:
    """The sessions in which the holder of `wallet` is signed in."""
    return HolderSession.objects.filter(wallet=wallet, expires_at__gt=now, last_seen_at__gt=now - IDLE)


def _seen(session: HolderSession | None, *, now: datetime) -> HolderSession | None:
    """The session, after its last use is written down; None if its wallet is suspended or closed."""
    if session is None or session.wallet.state != Wallet.State.ACTIVE or session.wallet.closed_at:
        return None
    if session.last_seen_at <= now - SEEN_EVERY:
        stale = HolderSession.objects.filter(digest=session.digest, last_seen_at=session.last_seen_at)
        stale.update(last_seen_at=now)
        session.last_seen_at = now
    return session


def _delete(request: HttpRequest) -> None:
    if digest := digest_in(request):
        HolderSession.objects.filter(digest=digest).delete()


def _keep(request: HttpRequest, session: HolderSession | None) -> None:
    with_session = noting(request, _WithSession)
    with_session.holder_session = session
    # For the notice on every page that looks up the session.
    with_session.wallet_closes_at = session.wallet.closes_at if session else None
