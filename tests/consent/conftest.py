"""Fixtures for the pages of holders in a browser."""

from typing import Any

import pytest

from tests.people import give_session
from wallet.models import Wallet


@pytest.fixture
def as_alice(page: Any, alice: Wallet, live_server: Any) -> Any:
    """A browser page that is signed in as Alice."""
    give_session(page.context, alice, live_server.url)
    return page
