"""Browsers that request e-mails to sign in, those of attackers among them."""

import hashlib
from contextlib import ExitStack
from datetime import datetime

from django.core import mail
from django.test import Client

from tests.people import NORA
from tests.wallet.browser_redirect_tasks import make_redirect_task
from wallet.models import RedirectTask
from wallet.sign_in import allowances
from wallet.sign_in import codes as sign_in

HOME = "203.0.113.7"  # Nora's network


def browser(name: object) -> str:
    """The digest of a browser's cookie."""
    return hashlib.sha256(str(name).encode()).hexdigest()


def redirect_task_of(name: object, now: datetime, email: str = NORA) -> RedirectTask:
    return make_redirect_task(Client(), now=now, browser=browser(name), email=email)


def asks(name: object, now: datetime, *, client: str | None = HOME, email: str = NORA) -> RedirectTask:
    """A browser requests an e-mail; returns its redirect task."""
    redirect_task = redirect_task_of(name, now, email)
    sign_in.send_code(redirect_task, client=client, now=now)
    return redirect_task


def newest_link() -> str:
    """The secret in the last link that was sent."""
    [address] = [word for word in mail.outbox[-1].body.split() if "/wallet/link/" in word]
    return address.rstrip("/").rpartition("/")[2]


def strangers_use_up(now: datetime, *, client: str = "") -> RedirectTask:
    """Attackers in twenty networks, or in one, have taken all codes, and one of them waits for a link.

    The codes are only counted, not sent, because twenty e-mails take longer than most tests that need this.
    """
    taken, who, number = ExitStack(), browser("stranger"), 0
    while allowances.take_code(
        NORA, browser=who, client=client or f"192.0.2.{number}", is_known_browser=False, now=now, taken=taken
    ):
        number += 1
    return asks("stranger", now, client=client or f"192.0.2.{number}")
