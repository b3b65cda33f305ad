"""The shop, a client of OpenID Connect."""

import pytest

from tests.presentation.openid_connect.shop import Shop


@pytest.fixture
def shop(db: None) -> Shop:
    return Shop.registered()
