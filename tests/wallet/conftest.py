"""Fixtures for holders, redirect tasks and operators."""

import re
import secrets
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from tests.people import ALICE
from tests.wallet.browser_redirect_tasks import SECRET, make_redirect_task
from tests.wallet.operators import operator
from tests.wallet.recovering import DAY, NEW, verify
from wallet.models import Passkey, RedirectTask, Wallet


@pytest.fixture
def redirect_task(db: None, client: Client, now: datetime) -> RedirectTask:
    """A redirect task that Acme Bank has opened for Nora's browser."""
    return make_redirect_task(client, now=now)


def passkey_of(wallet: Wallet, name: str, now: datetime) -> Passkey:
    """A passkey in the wallet with a key that nobody has."""
    return Passkey.objects.create(
        wallet=wallet,
        name=name,
        credential_id=secrets.token_urlsafe(32),
        public_key=secrets.token_bytes(77),
        sign_count=0,
        transports=["internal"],
        backed_up=True,
        created_at=now,
    )


def code_in(text: str) -> str:
    """The six digits in an e-mail."""
    found = re.findall(r"(?<!\d)\d{6}(?!\d)", text)
    assert len(found) == 1
    return found[0]


def masked(response: Any, *values: object) -> bytes:
    """A page without waits, times of the day and `values`, for comparison."""
    content: bytes = re.sub(rb'data-(?:ready-in|seconds)="\d+"|<time\b.*?</time>', b"", response.content)
    for value in values:
        content = content.replace(str(value).encode(), b"*")
    return content


def together(work: Callable[[int], Any], count: int = 8) -> list[Any]:
    """The results or errors of `work` in `count` concurrent threads, each with its own connection."""
    barrier = threading.Barrier(count)

    def run(number: int) -> Any:
        try:
            barrier.wait()
            return work(number)
        except Exception as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(run, range(count)))


@pytest.fixture
def olga(db):
    """An operator who reviews identities."""
    models = ("wallet", "identityverification", "credential")
    codenames = [f"{action}_{model}" for action in ("view", "change") for model in models]
    return operator("olga", "view_identityverificationtransition", *codenames)


@pytest.fixture
def otto(db):
    """Reviews identities as well."""
    models = ("wallet", "identityverification", "credential")
    codenames = [f"{action}_{model}" for action in ("view", "change") for model in models]
    return operator("otto", "view_identityverificationtransition", *codenames)


@pytest.fixture
def audrey(db):
    """An auditor, who can read but not change."""
    models = ("wallet", "identityverification", "identityverificationtransition", "credential")
    return operator("audrey", *[f"view_{model}" for model in models])


@pytest.fixture
def visit(page: Any, live_server: Any, settings: Any, now: Any) -> Any:
    """Opens a page of a redirect task of this browser; e-mails go to the sandbox's mailbox."""
    settings.MAIL_BACKEND = "sandbox.mailbox.EmailBackend"
    page.context.add_cookies(
        [{"name": settings.BROWSER_COOKIE_NAME, "value": SECRET, "url": live_server.url, "httpOnly": True}]
    )
    home = reverse("wallet_signed_out")  # a page that needs no sign-in
    redirect_task = make_redirect_task(Client(), now=now, return_to=home + "?done", leave_to=home + "?left")

    def visit(name: str, redirect_task: RedirectTask = redirect_task, *, path: str = "") -> Any:
        page.goto(live_server.url + (path or reverse(name, args=[redirect_task.id])))
        return page

    visit.redirect_task = redirect_task
    return visit


@pytest.fixture
def old(db, now):
    """Alice's wallet, verified with a passport, and its mailbox is lost."""
    wallet = Wallet.objects.create(email=ALICE, created_at=now - 30 * DAY)
    verify(wallet, now - 30 * DAY)
    return wallet


@pytest.fixture
def new(db, now):
    """The wallet that Alice has just opened with another address."""
    return Wallet.objects.create(email=NEW, created_at=now)
