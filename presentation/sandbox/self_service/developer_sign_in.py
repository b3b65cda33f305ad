"""How a developer proves an e-mail address: by a link sent there, good in the browser it was asked from.

Apart from holders, whose codes the sandbox shows to everybody. Nothing is stored: link and cookie are signed.
The same is done and said whether or not the address has registered anything.
"""

from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.core import signing
from django.core.mail import EmailMessage, get_connection
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _

from wallet import browser
from wallet.limits import Limit

log = structlog.get_logger(__name__)

LINK_LIFETIME = timedelta(minutes=30)
SESSION_LIFETIME = timedelta(hours=2)
LETTERS_PER_CLIENT = Limit("developer-letters-per-client", most=10, window=timedelta(hours=1))
# For one e-mail address from one client address: whoever asks in somebody's name uses up their own.
LETTERS_PER_EMAIL_AND_CLIENT = Limit("developer-letters-of-client", most=3, window=timedelta(hours=1))
# Somebody with many client addresses can use this up for another; what was sent before stays good.
LETTERS_PER_EMAIL_AND_DAY = Limit("developer-letters-per-email-and-day", most=20, window=timedelta(days=1))
# The last to be taken, so that only letters that are sent count. Whoever has many client addresses cannot
# make a bomb of this for many e-mail addresses either.
LETTERS_IN_ALL = Limit("developer-letters", most=300, window=timedelta(hours=1))
_LINK, _SESSION = "presentation.sandbox.developer-link", "presentation.sandbox.developer-session"


class NotSentError(Exception):
    """The letter could not be handed over; asking again is fine."""


class LinkGoneError(Exception):
    """The link is too old, not complete, or was asked for in another browser."""


def send_link(email: str, *, browser_digest: str, client: str, now: datetime) -> str:
    """Send the link to the address; the link itself where no mail is sent, else an empty string.

    client: the network address limits count by. Raises `limits.LimitReachedError` or `NotSentError`.
    """
    for limit, subject in (
        (LETTERS_PER_CLIENT, client),
        (LETTERS_PER_EMAIL_AND_CLIENT, f"{email}\n{client}"),
        (LETTERS_PER_EMAIL_AND_DAY, email),
        (LETTERS_IN_ALL, ""),
    ):
        limit.take(subject, now=now)
    token = signing.dumps({"email": email, "browser": browser_digest}, salt=_LINK)
    link = settings.BASE_URL + reverse("developer_link", args=[token])
    if not settings.DEVELOPER_EMAIL_BACKEND:
        return link
    try:
        _letter(email, link).send()
    except OSError as error:  # SMTP and network errors are all OSErrors
        log.exception("developer's letter not sent")
        raise NotSentError from error
    return ""


def redeem(token: str, *, browser_digest: str | None) -> str:
    """The address that a link proves. Raises `LinkGoneError`."""
    facts = _read(token, salt=_LINK, lifetime=LINK_LIFETIME)
    if facts is None or browser_digest is None or facts["browser"] != browser_digest:
        raise LinkGoneError
    return str(facts["email"])


def remember(response: HttpResponse, email: str, *, browser_digest: str) -> None:
    """Sign this browser in as the developer who reads this address."""
    response.set_cookie(
        settings.DEVELOPER_COOKIE_NAME,
        signing.dumps({"email": email, "browser": browser_digest}, salt=_SESSION),
        max_age=SESSION_LIFETIME,
        secure=settings.HOLDER_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def forget(response: HttpResponse) -> None:
    """Sign this browser out."""
    response.delete_cookie(settings.DEVELOPER_COOKIE_NAME, samesite="Lax")


def current(request: HttpRequest) -> str:
    """The address of the developer at this browser; empty when nobody is signed in."""
    cookie = request.COOKIES.get(settings.DEVELOPER_COOKIE_NAME, "")
    facts = _read(cookie, salt=_SESSION, lifetime=SESSION_LIFETIME)
    return facts["email"] if facts and facts["browser"] == browser.digest(request) else ""


def _read(signed: str, *, salt: str, lifetime: timedelta) -> dict[str, Any] | None:
    try:
        facts: dict[str, Any] = signing.loads(signed, salt=salt, max_age=lifetime)
    except signing.BadSignature:
        return None
    return facts


def _letter(email: str, link: str) -> EmailMessage:
    facts = {"link": link, "host": urlsplit(settings.BASE_URL).netloc}
    return EmailMessage(
        subject=_("Your application in the sandbox"),
        body=render_to_string("developer/letter.txt", facts),
        to=[email],
        connection=get_connection(settings.DEVELOPER_EMAIL_BACKEND),
    )
