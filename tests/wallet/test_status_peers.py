"""npm @sd-jwt/sd-jwt-vc fetches our list over HTTP and accepts or refuses tokens by it."""

import json
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from keys.models import SigningKey
from tests.wallet.statuses import SAID, present
from tests.wallet.test_sd_jwt_peers import npm
from wallet.credential import revocation
from wallet.models import StatusList, Wallet
from wallet.operations import suspension
from wallet.status_lists import endpoints

pytestmark = pytest.mark.node


@pytest.fixture
def ask(service: Any, signing_key: SigningKey) -> Callable[[str], dict[str, Any]]:
    """The result of the package for our presentation with the published key; ValueError if refused."""

    def ask(token: str) -> dict[str, Any]:
        StatusList.objects.update(checked_at=None)  # as if the next check were due
        endpoints.lists.refresh()
        with urllib.request.urlopen(f"{service.url}/openid-connect/jwks") as answer:
            (issuer,) = json.load(answer)["keys"]
        return npm(token, issuer=issuer)

    return ask


def test_npm_sd_jwt_vc_takes_what_is_valid_and_refuses_what_is_not(
    ask: Callable[[str], dict[str, Any]], service: Any, alice: Wallet, bob: Wallet
) -> None:
    now = timezone.now()
    token, others = present(alice), present(bob)

    status = ask(token)["payload"]["status"]["status_list"]
    assert status["uri"].startswith(f"{service.url}/status-lists/")

    suspension.suspend(alice, now=now, **SAID)
    with pytest.raises(ValueError, match="Status is not valid"):
        ask(token)
    suspension.reinstate(alice, now=now, **SAID)
    assert ask(token)["payload"]["given_name"] == "Alice"

    revocation.revoke(alice.credential, now=now, **SAID)
    with pytest.raises(ValueError, match="Status is not valid"):
        ask(token)
    assert ask(others)["payload"]["given_name"]
