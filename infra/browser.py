"""Which browser this is: a secret in a cookie, of which only the SHA-256 is ever stored; and its address.

The cookie proves nothing about a person. It keeps what one browser began from being continued in another.
"""

import hashlib
import ipaddress
import re
import secrets
from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse

KEPT = timedelta(days=180)  # so that `known_browsers` serves holders who come a few times a year
_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")


def digest(request: HttpRequest) -> str | None:
    """The digest of this browser's cookie, or None when it brought none of ours."""
    secret = _secret(request)
    return _digest(secret) if secret else None


def ensure(request: HttpRequest) -> tuple[str, str]:
    """This browser's secret, a new one if it has none, and its digest. Send the secret with `remember`."""
    secret = _secret(request) or secrets.token_urlsafe(32)
    return secret, _digest(secret)


def remember(response: HttpResponse, secret: str) -> None:
    """Send the browser its secret, or send it again so that it is kept for another while."""
    response.set_cookie(
        settings.BROWSER_COOKIE_NAME,
        secret,
        max_age=KEPT,
        secure=settings.HOLDER_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def address(request: HttpRequest) -> str:
    """The network address that limits count by; a whole /64 for IPv6, because one person has all of it.

    `X-Forwarded-For` is believed only as far as `TRUSTED_PROXY_COUNT` proxies wrote it, from the right.
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


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
