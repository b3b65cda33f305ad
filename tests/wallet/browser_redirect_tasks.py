"""Redirect tasks of the test client's browser."""

import hashlib
from datetime import datetime
from typing import Any

from django.conf import settings
from django.test import Client

from tests.people import NORA
from wallet import redirect_tasks
from wallet.models import RedirectTask

SECRET = "b" * 43  # the browser cookie of the test client


def make_redirect_task(client: Client, *, now: datetime, **facts: Any) -> RedirectTask:
    """Open a redirect task for the client's browser: Nora's for Acme Bank, except for `facts`."""
    client.cookies[settings.BROWSER_COOKIE_NAME] = SECRET
    defaults = {
        "browser": hashlib.sha256(SECRET.encode()).hexdigest(),
        "email": NORA,
        "on_behalf_of": "Acme Bank",
        "return_to": "/done/",
        "leave_to": "/left/",
    }
    return redirect_tasks.open_redirect_task(**(defaults | facts), now=now)
