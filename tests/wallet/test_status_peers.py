"""npm @sd-jwt/sd-jwt-vc fetches our list over HTTP and accepts or refuses tokens by it."""

import json
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from keys.jwk import public_jwk
from keys.models import SigningKey
from keys.private_keys.signer import SoftwareSigner
from tests.wallet.npm_sd_jwt import npm
from tests.wallet.statuses import SAID, present
from wallet.credential import revocation
from wallet.models import StatusList, Wallet
from wallet.operations import suspension
from wallet.status_lists import endpoints

pytestmark = pytest.mark.node


@pytest.fixture
def ask(service: Any, signing_key: SigningKey) -> Callable[..., dict[str, Any]]:
    """The result of the package for our presentation with the published key; ValueError if refused."""

    def ask(token: str, **changes: Any) -> dict[str, Any]:
        StatusList.objects.update(checked_at=None)  # as if the next check were due
        endpoints.lists.refresh()
        with urllib.request.urlopen(f"{service.url}/openid-connect/jwks") as answer:
            (issuer,) = json.load(answer)["keys"]
        return npm(token, issuer=issuer, **changes)

    return ask


def test_npm_sd_jwt_vc_takes_what_is_valid_and_refuses_what_is_not(
    ask: Callable[..., dict[str, Any]], service: Any, alice: Wallet, bob: Wallet
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


def test_npm_sd_jwt_vc_verifies_the_list_with_its_status_verifier(
    ask: Callable[..., dict[str, Any]], alice: Wallet
) -> None:
    another = public_jwk(SoftwareSigner.generate().public_key)
    with pytest.raises(ValueError, match="Status List JWT verification failed"):
        ask(present(alice), listIssuer=another)
