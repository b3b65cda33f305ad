"""One-time links (128 bits), sent in place of a code when strangers have used up the codes of an address.

A link signs in the browser that opens it, if that browser has requested to sign in with the same address. So
an attacker who requests a link for a holder gains nothing when the holder opens it, and the holder can use
the link that the attacker's request has sent.
"""

import secrets
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse

from infra.limits import LimitReachedError
from infra.sealing import sha256_hex
from wallet.emails import holder_emails
from wallet.models import LoginLink, RedirectTask
from wallet.sign_in.allowances import LINKS_PER_CLIENT, LINKS_PER_EMAIL

# Longer than the time between two e-mails, so that a link from an earlier request still works.
LIFETIME = timedelta(minutes=30)


class LinkGoneError(Exception):
    """The link is unknown, expired or used."""


class NotWaitingError(Exception):
    """The link is valid, but this browser does not wait for one to its address."""


@transaction.atomic
def send(email: str, *, client: str | None, now: datetime) -> datetime:
    """Ensure that a working link is in the mailbox, and return its expiry.

    No e-mail is sent within 15 minutes of the last one while the link in it still works. client: the network
    address of a stranger, whose links are counted. Raises `limits.LimitReachedError` if the client address
    has no links left. Other requests for the same mailbox wait until this one is committed or has failed.
    """
    try:
        LINKS_PER_EMAIL.take(email, now=now)
    except LimitReachedError as sent:
        return sent.retry_at - LINKS_PER_EMAIL.window + LIFETIME
    if client is not None:
        LINKS_PER_CLIENT.take(client, now=now)
    secret, until = secrets.token_urlsafe(16), now + LIFETIME
    address = settings.BASE_URL + reverse("wallet_link", args=[secret])
    outgoing = holder_emails.send_link(email, address, lifetime=LIFETIME)
    LoginLink.objects.create(digest=sha256_hex(secret), email=email, expires_at=until, outgoing=outgoing)
    return until


def newest(email: str, *, now: datetime) -> LoginLink | None:
    """The link that was sent to this address last, if it still works."""
    links = LoginLink.objects.filter(email=email, used_at=None, expires_at__gt=now)
    return links.order_by("-expires_at").first()


def redirect_task_for(secret: str, *, browser: str | None, now: datetime) -> RedirectTask:
    """The redirect task that this browser continues with the link; does not use the link.

    Raises `LinkGoneError` or `NotWaitingError`.
    """
    link = _good(secret, now=now).first()
    if link is None:
        raise LinkGoneError
    redirect_task = waiting(browser, link.email, now=now)
    if redirect_task is None:
        raise NotWaitingError
    return redirect_task


def waiting(browser: str | None, email: str, *, now: datetime) -> RedirectTask | None:
    """The newest redirect task of this browser that waits for a link to the address."""
    if browser is None:
        return None
    own = RedirectTask.objects.filter(browser=browser, email=email, expires_at__gt=now, link_until__gt=now)
    return own.order_by("-created_at").first()


def use(secret: str, *, now: datetime) -> None:
    """Use the link; raises `LinkGoneError` if it is gone or was used.

    Gives the allowance of the mailbox back: it contains no working link any more, so the next need not wait.
    """
    link = _good(secret, now=now).first()
    if link is None or _good(secret, now=now).update(used_at=now) != 1:
        raise LinkGoneError
    LINKS_PER_EMAIL.give_back(link.email, taken_at=link.expires_at - LIFETIME)


def _good(secret: str, *, now: datetime) -> QuerySet[LoginLink]:
    return LoginLink.objects.filter(digest=sha256_hex(secret), used_at=None, expires_at__gt=now)
