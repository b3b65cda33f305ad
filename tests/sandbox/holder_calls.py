"""Calls of the holder for tests."""

from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.test import Client

from presentation.models import RelyingParty
from tests.presentation.requests.authorization_requests import PATH, asked

HOLDER = "/sandbox/holder"


def authorize_url(party: RelyingParty, **changes: Any) -> str:
    """The address of a request that the relying party would send a browser to."""
    return f"{settings.BASE_URL}{PATH}?{urlencode(asked(party, **changes))}"


def call(url: str, **members: Any) -> Any:
    """The answer of the holder for tests to this request."""
    return Client().post(HOLDER, {"authorize_url": url, **members}, content_type="application/json")
