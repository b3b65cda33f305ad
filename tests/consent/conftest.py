"""Fixtures for the pages of holders in a browser."""

from typing import Any

import pytest
from django.conf import settings
from django.http import HttpResponse
from django.test import RequestFactory
from django.utils import timezone

from wallet import sessions
from wallet.models import Wallet


@pytest.fixture
def as_alice(page: Any, alice: Wallet, live_server: Any) -> Any:
    """A browser page that is signed in as Alice."""
    response = HttpResponse()
    sessions.start(RequestFactory().get("/"), response, alice, now=timezone.now())
    name = settings.HOLDER_COOKIE_NAME
    page.context.add_cookies([{"name": name, "value": response.cookies[name].value, "url": live_server.url}])
    return page
