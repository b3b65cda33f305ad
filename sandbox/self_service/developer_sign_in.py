"""How a developer proves an e-mail address: by a link sent there, good in browsers that asked for it.

Apart from holders, whose codes the sandbox shows to everybody. Links and cookies are signed and not stored,
except that a link was used. The same is done and said whether or not the address has registered anything.
"""

from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime, timedelta
from functools import partial
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

from infra import browser, email_addresses
from infra.limits import Limit, LimitReachedError, RollingLimit, take, take_all
from infra.waiting import waiting_for
from wallet import known_browsers
from wallet.known_browsers import DEVELOPER
from wallet.letters import MAIL_SERVER, hand_over
from wallet.shared_emails import SharedEmail

log = structlog.get_logger(__name__)

LINK_LIFETIME = timedelta(minutes=30)
SESSION_LIFETIME = timedelta(hours=2)

# The rules are those of `wallet.sign_in_allowances`: a browser that has proven the address before has letters
# of its own, strangers share theirs, and when those are used up there is one letter in 15 minutes, whose link
# is good in every browser that asked. So a stranger cannot keep a developer from signing in.
LETTERS_PER_BROWSER = Limit("developer-letters-per-browser", most=3, window=timedelta(hours=1))
# A twentieth of what all strangers have together: a few client addresses must not use that up.
LETTERS_PER_CLIENT = Limit("developer-letters-per-client", most=15, window=timedelta(hours=1))
LETTERS_PER_EMAIL_AND_CLIENT = Limit("developer-letters-of-client", most=3, window=timedelta(hours=1))
LETTERS_PER_EMAIL_AND_DAY = RollingLimit(
    "developer-letters-per-email-and-day", most=20, window=timedelta(days=1)
)
LETTERS_PER_EMAIL_AFTER_THAT = RollingLimit(
    "developer-letters-per-email", most=1, window=timedelta(minutes=15)
)
_SHARED_LETTER = SharedEmail.of(LETTERS_PER_EMAIL_AFTER_THAT)
# Of all strangers together: many client addresses cannot flood many mailboxes either.
LETTERS_IN_ALL = Limit("developer-letters", most=300, window=timedelta(hours=1))
# A link signs in once.
USES = RollingLimit("developer-link-uses", most=1, window=LINK_LIFETIME)
_LINK, _SESSION = "sandbox.developer-link", "sandbox.developer-session"
_ASKED = "sandbox.developer-asked"


class NotSentError(Exception):
    """The letter could not be handed over; asking again is fine."""


class LinkGoneError(Exception):
    """The link is too old, not complete, was used, or was asked for in another browser.

    Of a link that was used it has the address.
    """


def send_link(email: str, *, browser_digest: str, client: str, now: datetime) -> str:
    """Send the link to the address; the link itself where no mail is sent, else an empty string.

    No letter is sent where one went there shortly before and its link serves. client: the network address
    limits count by. Raises `limits.LimitReachedError` (for a few seconds also while another request hands
    over a letter whose link would serve) or `NotSentError`, and then gives back what was taken, except by
    client address.
    """
    token = signing.dumps({"email": email, "sent_at": now.isoformat()}, salt=_LINK)
    link = settings.BASE_URL + reverse("developer_link", args=[token])
    if not settings.DEVELOPER_EMAIL_BACKEND:
        return link
    with ExitStack() as under_way, ExitStack() as taken:  # closed in the opposite order
        shared = partial(_SHARED_LETTER.take, email, now=now, under_way=under_way, taken=taken)
        if not _take_letter(
            email, shared, browser_digest=browser_digest, client=client, now=now, taken=taken
        ):
            return ""
        try:
            with waiting_for(MAIL_SERVER):
                hand_over(_letter(email, link))
        except OSError as error:  # SMTP and network errors are all OSErrors
            log.exception("developer_email_not_sent")
            raise NotSentError from error
        taken.pop_all()
    return ""


def redeem(token: str, *, request: HttpRequest, now: datetime) -> str:
    """The address that a link proves to this browser, once. Raises `LinkGoneError`."""
    facts = _read(token, salt=_LINK, lifetime=LINK_LIFETIME)
    asked = _read(request.COOKIES.get(_asked_cookie(), ""), salt=_ASKED, lifetime=LINK_LIFETIME)
    digest = browser.digest(request)
    if facts is None or digest is None or asked != {"email": facts["email"], "browser": digest}:
        raise LinkGoneError
    try:
        USES.take(token, now=now)
    except LimitReachedError as used:
        raise LinkGoneError(facts["email"]) from used
    if "sent_at" in facts:  # no link that works is in the mailbox now, so the next need not wait
        sent_at = datetime.fromisoformat(facts["sent_at"])
        LETTERS_PER_EMAIL_AFTER_THAT.give_back(facts["email"], taken_at=sent_at)
    known_browsers.remember(digest, facts["email"], now=now, purpose=DEVELOPER)
    return str(facts["email"])


def has_asked(response: HttpResponse, email: str, *, browser_digest: str) -> None:
    """This browser has asked to sign in with the address: links that go there now are good in it."""
    _set_cookie(response, _asked_cookie(), email, browser_digest, salt=_ASKED, lifetime=LINK_LIFETIME)


def remember(response: HttpResponse, email: str, *, browser_digest: str) -> None:
    """Sign this browser in as the developer who reads this address."""
    name = settings.DEVELOPER_COOKIE_NAME
    _set_cookie(response, name, email, browser_digest, salt=_SESSION, lifetime=SESSION_LIFETIME)


def forget(response: HttpResponse) -> None:
    """Sign this browser out."""
    response.delete_cookie(settings.DEVELOPER_COOKIE_NAME, samesite="Lax")


def current(request: HttpRequest) -> str:
    """The address of the developer at this browser; empty when nobody is signed in."""
    cookie = request.COOKIES.get(settings.DEVELOPER_COOKIE_NAME, "")
    facts = _read(cookie, salt=_SESSION, lifetime=SESSION_LIFETIME)
    return facts["email"] if facts and facts["browser"] == browser.digest(request) else ""


def _take_letter(
    email: str,
    take_shared: Callable[[], datetime | None],
    *,
    browser_digest: str,
    client: str,
    now: datetime,
    taken: ExitStack,
) -> bool:
    """Take what one letter costs; False if nothing is left and the link of an earlier letter still works.

    take_shared: takes the letter that is left after all others, as `SharedEmail.take` does.
    """
    if known_browsers.is_known(browser_digest, email, now=now, purpose=DEVELOPER):
        own = (LETTERS_PER_BROWSER, known_browsers.key(browser_digest, email, purpose=DEVELOPER))
        return take_all(own, now=now, taken=taken) or take_shared() is None
    shared = ((LETTERS_PER_EMAIL_AND_CLIENT, f"{email}\n{client}"), (LETTERS_PER_EMAIL_AND_DAY, email))
    if not (take_all(*shared, now=now, taken=taken) or take_shared() is None):
        return False
    take(LETTERS_IN_ALL, "", now=now, taken=taken)
    LETTERS_PER_CLIENT.take(client, now=now)  # kept: otherwise attempts that fail would be without end
    return True


def _asked_cookie() -> str:
    return f"{settings.DEVELOPER_COOKIE_NAME}-asked"


def _set_cookie(
    response: HttpResponse, name: str, email: str, digest: str, *, salt: str, lifetime: timedelta
) -> None:
    response.set_cookie(
        name,
        signing.dumps({"email": email, "browser": digest}, salt=salt),
        max_age=lifetime,
        secure=settings.HOLDER_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _read(signed: str, *, salt: str, lifetime: timedelta) -> dict[str, Any] | None:
    try:
        facts: dict[str, Any] = signing.loads(signed, salt=salt, max_age=lifetime)
    except signing.BadSignature:
        return None
    return facts if email_addresses.is_accepted(facts["email"]) else None


def _letter(email: str, link: str) -> EmailMessage:
    facts = {"link": link, "host": urlsplit(settings.BASE_URL).netloc}
    return EmailMessage(
        subject=_("Your application in the sandbox"),
        body=render_to_string("developer/letter.txt", facts),
        to=[email],
        connection=get_connection(settings.DEVELOPER_EMAIL_BACKEND),
    )
