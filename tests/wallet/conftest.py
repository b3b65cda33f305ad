"""People on an errand: what the tests of the wallet's people side share."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from tests.people import NORA
from wallet import browser, errands
from wallet.models import Errand, Wallet

SECRET = "b" * 43  # the browser cookie of the test client


@pytest.fixture
def now() -> datetime:
    return timezone.now()


@pytest.fixture
def errand(db: None, client: Client, now: datetime) -> Errand:
    """Acme Bank has sent Nora's browser here."""
    return make_errand(client, now=now)


def make_errand(client: Client, *, now: datetime, **facts: Any) -> Errand:
    """An errand of the client's browser; Nora's for Acme Bank unless `facts` say otherwise."""
    client.cookies[settings.BROWSER_COOKIE_NAME] = SECRET
    defaults = {
        "browser": browser._digest(SECRET),
        "email": NORA,
        "on_behalf_of": "Acme Bank",
        "return_to": "/done/",
        "leave_to": "/left/",
    }
    return errands.open_errand(**(defaults | facts), now=now)


@pytest.fixture
def nora(db: None, now: datetime) -> Wallet:
    """Nora has signed in once; her wallet is empty."""
    return Wallet.objects.create(email=NORA, created_at=now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[timedelta], None]:
    """Moves the time that views and provider pages see."""
    offset = timedelta(0)
    real = timezone.now

    def advance(by: timedelta) -> None:
        nonlocal offset
        offset += by

    monkeypatch.setattr(timezone, "now", lambda: real() + offset)
    return advance


def code_in(text: str) -> str:
    """The six digits in a letter."""
    found = re.findall(r"(?<!\d)\d{6}(?!\d)", text)
    assert len(found) == 1
    return found[0]
