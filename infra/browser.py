"""Identifies a browser by a secret in a cookie, of which only the SHA-256 is stored, and by its address.

The cookie authenticates nobody. It prevents that one browser continues what another one began.
"""

import ipaddress
import re
import secrets
from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse

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


def address(request: HttpRequest) -> str:
    """The client address for limits; for IPv6 the /64 network, because one subscriber has a whole one.

    From the right of `X-Forwarded-For`, only the entries of TRUSTED_PROXY_COUNT proxies are trusted.
    """
    count = settings.TRUSTED_PROXY_COUNT
    written = request.META.get("HTTP_X_FORWARDED_FOR", "")[-1000:].split(",")
    received = written[-count] if 0 < count <= len(written) else request.META.get("REMOTE_ADDR", "")
    try:
        parsed = ipaddress.ip_address(received.strip())
    except ValueError:
        return "unknown"
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(parsed), 64), strict=False))


def _secret(request: HttpRequest) -> str | None:
    received = request.COOKIES.get(settings.BROWSER_COOKIE_NAME, "")
    return received if _SECRET.fullmatch(received) else None
