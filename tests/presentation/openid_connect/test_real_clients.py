"""Clients of OpenID Connect, also with the guide’s code: npm openid-client and oauth4webapi, Authlib."""

import json
import subprocess
from typing import Any
from urllib.parse import urlsplit

import pytest
from authlib.integrations.base_client.errors import OAuthError
from authlib.integrations.django_client import OAuth
from django.test import Client, RequestFactory

from presentation.models import Interaction
from presentation.requests.interactions import path_of
from tests.fixtures import NODE_PACKAGES
from tests.people import ALICE
from tests.presentation.openid_connect.guide import printed
from tests.presentation.openid_connect.shop import CALLBACK, Shop
from tests.relying_party import take_apart
from wallet.models import Wallet

LIBRARIES = ["openid-client", "oauth4webapi"]


@pytest.fixture
def shop(service: Any, signing_key: Any, alice: Wallet, sign_in: Any) -> Shop:
    sign_in(alice)
    return Shop.registered()


def brought_back(client: Client, url: str, decision: str = "share") -> str:
    """The address at the shop to which the browser of the holder, who is signed in, returns."""
    parts = urlsplit(url)
    response = client.get(f"{parts.path}?{parts.query}")
    if response.status_code != 200:
        return str(response.headers["Location"])
    newest = path_of(Interaction.objects.latest("created_at"))
    return str(client.post(newest, {"decision": decision}).headers["Location"])


def by_node(shop: Shop, service: Any, step: str, *cases: dict[str, Any]) -> list[dict[str, Any]]:
    facts = {"issuer": service.url, "clientId": shop.party.client_id, "secret": shop.secret}
    task = json.dumps({"step": step, **facts, "redirectUri": CALLBACK, "cases": cases})
    program = NODE_PACKAGES.parent / "openid_connect.mjs"
    done = subprocess.run(["node", program], input=task, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    results: list[dict[str, Any]] = json.loads(done.stdout)
    return results


def in_node(program: str) -> Any:
    done = subprocess.run(
        ["node", "--input-type=module", "-"],
        input=program,
        cwd=NODE_PACKAGES.parent,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def through(client: Client, shop: Shop, service: Any, *cases: dict[str, Any]) -> list[dict[str, Any]]:
    """Each case from its request to what the library made of the answer."""
    begun = by_node(shop, service, "begin", *cases)
    finished = []
    for case, one in zip(cases, begun, strict=True):
        address = brought_back(client, one["url"], case.get("decision", "share"))
        finished.append({**case, "address": address, "session": one["session"]})
    return by_node(shop, service, "finish", *finished)


@pytest.mark.node
@pytest.mark.usefixtures("rsa_key")  # which is in the key set too
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_gets_the_claims_by_address_and_by_push(
    client: Client, shop: Shop, service: Any, library: str
) -> None:
    wanted = {
        "id_token": {"birthdate": {"essential": True}},
        "userinfo": {"email": {"essential": True}, "verified_claims": VERIFIED},
    }
    more = {"extra": {"claims": json.dumps(wanted), "max_age": "7200", "scope": "openid"}, "maxAge": 7200}
    cases = [
        {"library": library},
        {"library": library, "pushed": True},
        {"library": library, "pushed": True, **more},
    ]
    by_address, by_push, by_claims = through(client, shop, service, *cases)

    for answer in (by_address, by_push):
        assert "claims" in answer, answer
        assert (answer["claims"]["given_name"], answer["told"]["family_name"]) == ("Alice", "Archer"), answer
        token, nonce = answer["evidence"]
        assert take_apart(token)[2].payload["nonce"] == nonce == answer["claims"]["nonce"]
    assert by_claims["claims"]["birthdate"]
    assert (by_claims["told"]["email"], by_claims["told"]["email_verified"]) == (ALICE, True)
    assert by_claims["told"]["verified_claims"]["claims"] == {"given_name": "Alice"}


VERIFIED = {
    "verification": {"trust_framework": None, "time": None},
    "claims": {"given_name": {"essential": True}},
}


@pytest.mark.node
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_understands_every_error(client: Client, shop: Shop, service: Any, library: str) -> None:
    one = {"library": library}
    errors = through(
        client,
        shop,
        service,
        {**one, "decision": "decline"},
        {**one, "extra": {"prompt": "none"}},
        {**one, "extra": {"code_challenge_method": "plain"}},
        {**one, "extra": {"scope": "profile"}},
    )
    assert [each["error"] for each in errors] == [
        *("access_denied", "interaction_required", "invalid_request", "invalid_scope")
    ]


@pytest.mark.node
def test_the_guide_connects_openid_client(client: Client, shop: Shop, service: Any) -> None:
    facts = ", ".join(map(json.dumps, (service.url, shop.party.client_id, shop.secret)))
    connected = f"{printed('js')}\nconst insecure = {{ execute: [client.allowInsecureRequests] }};"
    connected += f"\nconst config = await connect({facts}, insecure);"
    call = f"const url = await begin(config, {json.dumps(CALLBACK)}, session);"
    shown = "console.log(JSON.stringify({ url, session }));"
    begun = in_node(f"{connected}\nconst session = {{}};\n{call}\n{shown}")
    back = brought_back(client, begun["url"])
    call = f"await finish(config, {json.dumps(back)}, {json.dumps(begun['session'])})"
    finished = in_node(f"{connected}\nconsole.log(JSON.stringify({call}));")

    assert finished["claims"]["given_name"] == "Alice"
    assert finished["evidence"][1] == begun["session"]["expectedNonce"]


def test_the_guide_connects_authlib(client: Client, shop: Shop, service: Any) -> None:
    defined: dict[str, Any] = {}
    exec(printed("python"), defined)
    wallet = defined["connect"](OAuth(), service.url, shop.party.client_id, shop.secret)
    requests, session = RequestFactory(), {}  # type: ignore[var-annotated]

    def at_the_shop(address: str) -> Any:
        request = requests.get(address)
        request.session = session
        return request

    url = wallet.authorize_redirect(at_the_shop("/login"), CALLBACK).headers["Location"]
    token = wallet.authorize_access_token(at_the_shop(brought_back(client, url)))
    assert (token["userinfo"]["given_name"], token["vp_nonce"]) != ("", "")
    assert wallet.userinfo(token=token)["family_name"] == "Archer"
    assert take_apart(token["vp_token"])[2].payload["nonce"] == token["vp_nonce"]

    url = wallet.authorize_redirect(at_the_shop("/login"), CALLBACK).headers["Location"]
    declined = brought_back(client, url, "decline")
    with pytest.raises(OAuthError, match="access_denied"):
        wallet.authorize_access_token(at_the_shop(declined))
