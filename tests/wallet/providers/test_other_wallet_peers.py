"""Somebody else's wallet (npm @openid4vc/openid4vp with @sd-jwt/sd-jwt-vc) shows its PID to this service."""

import json
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.urls import reverse
from jwcrypto.jwk import JWK

from tests.wallet.providers.other_wallet_play import link_on
from tests.wallet.providers.pids import NORA_AS_IN_HER_PID, NORA_TYPES, Authority, world
from wallet.models import IdentityVerification, RedirectTask, Wallet

pytestmark = [pytest.mark.node, pytest.mark.django_db(transaction=True)]
NODE = Path(__file__).parents[2] / "node"
State = IdentityVerification.State


@pytest.fixture
def nora_begins(
    settings: Any, client: Client, nora: Wallet, redirect_task: RedirectTask, sign_in: Any
) -> str:
    settings.BASE_URL = "https://localhost"  # as in the certificate; the wallet reaches it at the live server
    settings.IDENTITY_PROVIDERS = {"wallet": world().settings}
    sign_in(nora)
    return client.post(reverse("wallet_identity_start", args=[redirect_task.id])).url


def wallet(
    link: str, live_server: Any, how: str = "", *, issuer: Authority | None = None, **plain: Any
) -> Any:
    """What the service replied to the wallet."""
    holds = issuer or world().issuer
    key = json.loads(JWK.from_pyca(holds.key).export())
    asked = {
        "link": link,
        "origin": "https://localhost",
        "server": live_server.url,
        "authority": world().access_authority.pem.decode(),
        "issuer": {"key": key, "x5c": holds.x5c},
        "claims": NORA_AS_IN_HER_PID,
        "plain": plain,
        "how": how,
    }
    ran = subprocess.run(
        ["node", "wallet.mjs"], cwd=NODE, input=json.dumps(asked), capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0, ran.stderr
    said: dict[str, Any] = json.loads(ran.stdout)
    return said


def scanned(client: Client, address: str) -> str:
    assert client.post(address, {"device": "other", **NORA_TYPES}).status_code == 303
    return link_on(client.get(address))


def attempt() -> IdentityVerification:
    return IdentityVerification.objects.get()


@pytest.mark.parametrize("how", ["GET", "POST", "A256GCM"])
def test_the_wallet_leads_back_to_the_browser_and_that_verifies(
    client: Client, nora_begins: str, live_server: Any, how: str
) -> None:
    said = wallet(link_on(client.get(nora_begins)), live_server, how)
    assert (said["status"], said["version"], said["prefix"]) == (200, 100, "x509_hash")
    assert said["calls"] == ["GET request" if how == "GET" else "POST request", "POST answer"]
    assert said["enc"] == ("A256GCM" if how == "A256GCM" else "A128GCM")
    assert attempt().state == State.STARTED
    back = urlsplit(said["body"]["redirect_uri"])
    assert client.get(f"{back.path}?{back.query}", follow=True).redirect_chain[-1][0] == "/done/"
    assert attempt().state == State.APPROVED


@pytest.mark.parametrize("prefix", ["x509_hash", "x509_san_dns"])
def test_the_wallet_scans_the_code(
    client: Client, nora_begins: str, live_server: Any, settings: Any, prefix: str
) -> None:
    settings.IDENTITY_PROVIDERS = {"wallet": {**world().settings, "client_id_prefix": prefix}}
    said = wallet(scanned(client, nora_begins), live_server, iss="https://pid.example")
    assert (said["status"], said["body"], said["prefix"]) == (200, {}, prefix)
    assert attempt().state == State.APPROVED


def test_the_wallet_may_hold_a_national_pid(client: Client, nora_begins: str, live_server: Any) -> None:
    wallet(scanned(client, nora_begins), live_server, vct="urn:eudi:pid:de:1")
    assert attempt().state == State.APPROVED


@pytest.mark.parametrize("how", ["another audience", "another nonce"])
def test_what_was_made_for_somebody_else_is_refused(
    client: Client, nora_begins: str, live_server: Any, how: str
) -> None:
    said = wallet(scanned(client, nora_begins), live_server, how)
    assert (said["status"], said["body"]) == (400, {"error": "invalid_request"})
    assert attempt().state == State.STARTED


@pytest.mark.parametrize(
    ("how", "reason"), [("fewer claims", "claims_missing"), ("stopped", "stopped"), ("", "issuer_unknown")]
)
def test_what_the_person_cannot_be_verified_with_ends_the_check(
    client: Client, nora_begins: str, live_server: Any, how: str, reason: str
) -> None:
    issuer = world().stranger if reason == "issuer_unknown" else None
    said = wallet(scanned(client, nora_begins), live_server, how, issuer=issuer)
    assert said["status"] == 200
    assert (attempt().state, attempt().reason) == (State.CANCELLED, reason)
