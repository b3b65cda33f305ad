"""Libraries that relying applications use push and sign requests: npm openid-client, openid4vp, jose."""

import json
import subprocess
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from presentation.models import RelyingParty
from tests.conftest import NODE_PACKAGES
from tests.presentation.clients import with_key
from tests.presentation.test_authorize import asked, encoded, fragment, session_data
from tests.presentation.test_dcql_flow import disclosed, path, query
from tests.presentation.test_flow import SignIn, decide
from tests.presentation.test_real_clients import private_jwk
from tests.relying_party import take_apart
from wallet.models import Wallet

pytestmark = [pytest.mark.node, pytest.mark.usefixtures("signing_key")]


def by_node(program: str, task: dict[str, Any]) -> Any:
    done = subprocess.run(
        ["node", NODE_PACKAGES.parent / program],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_requests_that_others_push_and_sign_are_answered(
    service: Any, alice: Wallet, sign_in: SignIn
) -> None:
    party, key = with_key()
    RelyingParty.objects.update(wire_format=RelyingParty.WireFormat.OPENID4VP_1_0)
    browser = Client()
    sign_in(alice, browser=browser)
    asked_for = {"credentials": [query(path("given_name"), id="basic")]}
    bound = encoded(session_data())
    parameters = asked(party, client_id=None)
    task = {"issuer": service.url, "clientId": party.client_id, "jwk": private_jwk(key)}

    ways = by_node(
        "requests.mjs",
        task | {"parameters": parameters, "query": asked_for, "transactionData": [bound]},
    )

    answers = {way: answered(browser, url) for way, url in ways.items()}
    for way, carrier in (("pushed", "request_uri"), ("both", "request_uri"), ("openid4vp", "request")):
        assert parse_qs(urlsplit(ways[way]).query).keys() == {"client_id", carrier}
    assert {answer["state"] for answer in answers.values()} == {parameters["state"]}
    (token,) = json.loads(answers["openid4vp"]["vp_token"])["basic"]
    assert disclosed(token) == {"given_name"}
    _jwt, _disclosures, binding, _bound = take_apart(token)

    request = {**parameters, "client_id": party.client_id, "nonce": f"{parameters['nonce']}-4"}
    request |= {"dcql_query": asked_for, "transaction_data": [bound]}
    read = by_node(
        "answer.mjs",
        {
            "request": request,
            "answer": answers["openid4vp"],
            "bound": {"basic": [binding.payload]},
        },
    )
    assert read == {
        "type": "dcql",
        "presentations": {"basic": [token]},
        "nonce": binding.payload["nonce"],
        "matched": 1,
    }


def answered(browser: Client, url: str) -> dict[str, str]:
    parts = urlsplit(url)
    page = browser.get(f"{parts.path}?{parts.query}").headers["Location"]
    answer = fragment(browser.get(decide(browser, page)).headers["Location"])
    assert "vp_token" in answer, answer
    return answer
