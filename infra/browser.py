"""Identifies a browser by a secret in a cookie, of which only the SHA-256 is stored, and by its address.

The cookie authenticates nobody. It prevents that one browser continues what another one began.
"""

import re
import secrets
from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from infra import client_addresses
from infra.sealing import sha256_hex

KEPT = timedelta(days=180)  # `known_browsers` should recognise holders who come a few times a year
_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")


def digest(request: HttpRequest) -> str | None:
    """The digest of this browser's secret, or None when it sent no valid cookie."""
    secret = _secret(request)
    return sha256_hex(secret) if secret else None


def ensure(request: HttpRequest) -> tuple[str, str]:
    """The secret of this browser, if necessary a new one, and its digest. Send it with `remember`."""
    secret = _secret(request) or secrets.token_urlsafe(32)
    return secret, sha256_hex(secret)


def remember(response: HttpResponse, secret: str) -> None:
    """Sets the cookie, or renews its expiry."""
    set_cookie(response, settings.BROWSER_COOKIE_NAME, secret, lifetime=KEPT)


def set_cookie(response: HttpResponse, name: str, value: str, *, lifetime: timedelta) -> None:
    """Sets a cookie that scripts cannot read and that forms on other sites do not send."""
    response.set_cookie(
        name,
        value,
        max_age=lifetime,
        secure=settings.HOLDER_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def address(request: HttpRequest) -> str | None:
    """The client address for limits (`client_addresses.read`); None if it cannot be read.

    From the right of `X-Forwarded-For`, only the entries of TRUSTED_PROXY_COUNT proxies are trusted. If the
    entry is missing or cannot be read, the peer is no substitute: it is a proxy, and would make all people
    one client. Limits per client address (`limits.ClientLimit`) then count nothing.
    """
    count = settings.TRUSTED_PROXY_COUNT
    if not count:
        return client_addresses.read(request.META.get("REMOTE_ADDR", ""))
    header = request.META.get("HTTP_X_FORWARDED_FOR", "")
    return client_addresses.read(client_addresses.forwarded(header, count))


def _secret(request: HttpRequest) -> str | None:
    received = request.COOKIES.get(settings.BROWSER_COOKIE_NAME, "")
    return received if _SECRET.fullmatch(received) else None
