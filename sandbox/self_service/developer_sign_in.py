"""Developers sign in by a link that is e-mailed to them; it works in browsers that requested it.

It is separate from the sign-in of holders, whose codes the sandbox shows on its pages. Links and cookies are
signed and not stored; only the use of a link is. The pages do not reveal whether an address has registered
anything.
"""

from contextlib import ExitStack
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core import signing
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _

from infra import browser
from infra.limits import ClientLimit, Limit, LimitReachedError, RollingLimit, take_all
from infra.mail import outbox
from infra.mail.queue import EmailContent
from wallet.sign_in import known_browsers
from wallet.sign_in.known_browsers import DEVELOPER

LINK_LIFETIME = timedelta(minutes=30)
SESSION_LIFETIME = timedelta(hours=2)

# The rules are those of `wallet.sign_in.allowances`: a known browser has an allowance of its own, strangers
# share theirs, and after that one e-mail is sent in 15 minutes, whose link works in every browser that
# requested one. So a stranger cannot keep a developer from signing in.
EMAILS_PER_BROWSER = Limit.from_settings("developer-letters-per-browser")
# A twentieth of EMAILS_IN_ALL, so that a few client addresses cannot use that up.
EMAILS_PER_CLIENT = ClientLimit.from_settings("developer-letters-per-client")
EMAILS_PER_EMAIL_AND_CLIENT = Limit.from_settings("developer-letters-per-email-and-client")
EMAILS_PER_EMAIL_AND_DAY = RollingLimit.from_settings("developer-letters-per-email-and-day")
EMAILS_PER_EMAIL_AFTER_THAT = RollingLimit(
    "developer-letters-per-email", most=1, window=timedelta(minutes=15)
)
# For all strangers together, so that many client addresses cannot flood many mailboxes.
EMAILS_IN_ALL = Limit.from_settings("developer-letters")
# A link signs in once.
USES = RollingLimit("developer-link-uses", most=1, window=LINK_LIFETIME)
_LINK, _SESSION = "sandbox.developer-link", "sandbox.developer-session"
_ASKED = "sandbox.developer-asked"


class LinkGoneError(Exception):
    """The link has expired, is incomplete, was used, or was requested in another browser.

    For a used link, the argument is its e-mail address.
    """


def send_link(email: str, *, browser_digest: str, client: str | None, now: datetime) -> str:
    """E-mail a link and return an empty string; in a sandbox that sends no e-mail, return the link.

    No e-mail is sent while the link of a recent one still works for this request. client: the network address
    that limits count by. Raises `limits.LimitReachedError`, and then nothing is counted. Other requests for
    the same mailbox wait until this one is committed or has failed.
    """
    token = signing.dumps({"email": email, "sent_at": now.isoformat()}, salt=_LINK)
    link = settings.BASE_URL + reverse("developer_link", args=[token])
    if not settings.DEVELOPER_EMAIL_BACKEND:
        return link
    with transaction.atomic():
        if _take_allowances(email, browser_digest=browser_digest, client=client, now=now):
            until = now + LINK_LIFETIME
            outbox.put(_email_content(email, link), purpose="developer", urgent=True, expires_at=until)
    return ""


def redeem(token: str, *, request: HttpRequest, now: datetime) -> str:
    """Use the link, and return the e-mail address that it verifies. Raises `LinkGoneError`."""
    facts = _read(token, salt=_LINK, lifetime=LINK_LIFETIME)
    cookie = _read(request.COOKIES.get(_asked_cookie(), ""), salt=_ASKED, lifetime=LINK_LIFETIME)
    digest = browser.digest(request)
    if facts is None or digest is None or cookie != {"email": facts["email"], "browser": digest}:
        raise LinkGoneError
    try:
        USES.take(token, now=now)
    except LimitReachedError as used:
        raise LinkGoneError(facts["email"]) from used
    # No working link is left in the mailbox, so the next e-mail need not wait.
    sent_at = datetime.fromisoformat(facts["sent_at"])
    EMAILS_PER_EMAIL_AFTER_THAT.give_back(facts["email"], taken_at=sent_at)
    known_browsers.remember(digest, facts["email"], now=now, purpose=DEVELOPER)
    return str(facts["email"])


def has_asked(response: HttpResponse, email: str, *, browser_digest: str) -> None:
    """Set the cookie that lets links to this address work in this browser."""
    _set_cookie(response, _asked_cookie(), email, browser_digest, salt=_ASKED, lifetime=LINK_LIFETIME)


def remember(response: HttpResponse, email: str, *, browser_digest: str) -> None:
    """Sign this browser in as the developer with this e-mail address."""
    name = settings.DEVELOPER_COOKIE_NAME
    _set_cookie(response, name, email, browser_digest, salt=_SESSION, lifetime=SESSION_LIFETIME)


def forget(response: HttpResponse) -> None:
    """Sign this browser out."""
    response.delete_cookie(settings.DEVELOPER_COOKIE_NAME, samesite="Lax")


def current(request: HttpRequest) -> str:
    """The e-mail address of the signed-in developer; empty if this browser is not signed in."""
    cookie = request.COOKIES.get(settings.DEVELOPER_COOKIE_NAME, "")
    facts = _read(cookie, salt=_SESSION, lifetime=SESSION_LIFETIME)
    return facts["email"] if facts and facts["browser"] == browser.digest(request) else ""


def _take_allowances(email: str, *, browser_digest: str, client: str | None, now: datetime) -> bool:
    """Take the allowances for one e-mail; False if they are used up and an earlier link still works."""
    take = partial(take_all, now=now, taken=ExitStack())  # the transaction gives back
    after_that = (EMAILS_PER_EMAIL_AFTER_THAT, email)
    if known_browsers.is_known(browser_digest, email, now=now, purpose=DEVELOPER):
        own = (EMAILS_PER_BROWSER, known_browsers.key(browser_digest, email, purpose=DEVELOPER))
        return take(own) or take(after_that)
    of_client = [] if client is None else [(EMAILS_PER_EMAIL_AND_CLIENT, f"{email}\n{client}")]
    if not (take(*of_client, (EMAILS_PER_EMAIL_AND_DAY, email)) or take(after_that)):
        return False
    EMAILS_IN_ALL.take("", now=now)
    EMAILS_PER_CLIENT.take(client, now=now)
    return True


def _asked_cookie() -> str:
    return f"{settings.DEVELOPER_COOKIE_NAME}-asked"


def _set_cookie(
    response: HttpResponse, name: str, email: str, digest: str, *, salt: str, lifetime: timedelta
) -> None:
    value = signing.dumps({"email": email, "browser": digest}, salt=salt)
    browser.set_cookie(response, name, value, lifetime=lifetime)


def _read(signed: str, *, salt: str, lifetime: timedelta) -> dict[str, Any] | None:
    try:
        facts: dict[str, Any] = signing.loads(signed, salt=salt, max_age=lifetime)
    except signing.BadSignature:
        return None
    return facts


def _email_content(email: str, link: str) -> EmailContent:
    facts = {"link": link, "host": urlsplit(settings.BASE_URL).netloc}
    return EmailContent(
        to=email,
        subject=_("Your application in the sandbox"),
        text=render_to_string("developer/email.txt", facts),
        backend=settings.DEVELOPER_EMAIL_BACKEND,
    )
