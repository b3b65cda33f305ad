"""Libraries of relying parties push and sign requests: npm openid-client, openid4vp, jose."""

import json
import subprocess
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest
from django.test import Client
from joserfc.jwk import ECKey

from presentation.models import RelyingParty
from presentation.requests.delivery import posting
from tests.fixtures import NODE_PACKAGES
from tests.presentation.clients import private_jwk, registered, with_key
from tests.presentation.dcql.queries import disclosed, path, query
from tests.presentation.far_ends import answers as answers_with
from tests.presentation.far_ends import far_end
from tests.presentation.requests.authorization_requests import PATH, asked, encoded, fragment, session_data
from tests.presentation.requests.deciding import SignIn, address_of_page, decide
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
    service: Any, alice: Wallet, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    party, key = with_key()
    RelyingParty.objects.update(wire_format=RelyingParty.WireFormat.OPENID4VP_1_0)
    browser = Client()
    sign_in(alice, browser=browser)
    asked_for = {"credentials": [query(path("given_name"), id="basic")]}
    bound = encoded(session_data())
    parameters = asked(party, client_id=None)
    task = {"issuer": service.url, "clientId": party.client_id, "jwk": private_jwk(key)}

    opening = ECKey.generate_key("P-256", {"kid": "fresh", "use": "enc", "alg": "ECDH-ES"})
    with far_end(answers_with(b"{}", "Content-Type: application/json")) as far:
        monkeypatch.setattr(posting, "outbound", far.outbound())
        party.response_uris.create(uri=far.url("/answers"))
        posted = {
            "response_mode": "direct_post.jwt",
            "response_uri": far.url("/answers"),
            "client_metadata": {
                "jwks": {"keys": [opening.as_dict(private=False)]},
                "encrypted_response_enc_values_supported": ["A256GCM", "A128GCM"],
                "vp_formats_supported": {"dc+sd-jwt": {}},
            },
        }
        task |= {"parameters": parameters, "query": asked_for, "transactionData": [bound], "posted": posted}
        ways = by_node("requests.mjs", task)
        in_posted_request = ways.pop("posted")
        answers = {way: answered(browser, url) for way, url in ways.items()}
        decided(browser, in_posted_request)
    (arrived,) = far.requests
    encrypted = dict(parse_qsl(arrived.partition(b"\r\n\r\n")[2].decode(), strict_parsing=True))

    for way, carrier in (("pushed", "request_uri"), ("both", "request_uri"), ("openid4vp", "request")):
        assert parse_qs(urlsplit(ways[way]).query).keys() == {"client_id", carrier}
    assert {answer["state"] for answer in answers.values()} == {parameters["state"]}
    for way in ("queried", "pushed query"):
        (token,) = json.loads(answers[way]["vp_token"])["basic"]
        assert disclosed(token) == {"given_name"}
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
        "encrypted": None,
    }

    assert encrypted.keys() == {"response"}
    request |= {"nonce": f"{parameters['nonce']}-5", **posted}
    del request["redirect_uri"]
    read = by_node(
        "answer.mjs",
        {
            "request": request,
            "answer": encrypted,
            "bound": {"basic": [binding.payload]},
            "opening": opening.as_dict(private=True),
        },
    )
    assert (read["type"], read["encrypted"]) == ("dcql", "Encrypted")
    (opened,) = read["presentations"]["basic"]
    _jwt, _disclosures, binding, _bound = take_apart(opened)
    assert binding.payload["nonce"] == read["nonce"] == request["nonce"]


def decided(browser: Client, url: str) -> Any:
    """The redirect after Alice has agreed to the request at this address."""
    parts = urlsplit(url)
    page = address_of_page(browser.get(f"{parts.path}?{parts.query}"))
    return browser.get(decide(browser, page))


def answered(browser: Client, url: str) -> dict[str, str]:
    answer = fragment(decided(browser, url).headers["Location"])
    assert "vp_token" in answer, answer
    return answer


def test_openid_client_accepts_our_answers_by_their_issuer(
    service: Any, alice: Wallet, sign_in: SignIn
) -> None:
    """The library requires `iss`, because discovery announces it (RFC 9207 §2.4)."""
    browser = Client()
    sign_in(alice, browser=browser)
    came: list[str] = []
    for wire_format in (RelyingParty.WireFormat.OPENID4VP_1_0, RelyingParty.WireFormat.STRING):
        party = registered(f"Bank {wire_format}", wire_format=wire_format)
        page = address_of_page(browser.get(PATH, asked(party)))
        came.append(browser.get(decide(browser, page)).headers["Location"])
        page = address_of_page(browser.get(PATH, asked(party, nonce="another-nonce-altogether")))
        came.append(browser.get(decide(browser, page, "decline")).headers["Location"])
        came.append(browser.get(PATH, asked(party, scope="openid")).headers["Location"])
    responses = [{"url": url, "state": "af0ifjsldkj"} for url in came]

    outcomes = by_node("responses.mjs", {"issuer": service.url, "clientId": "any", "responses": responses})

    assert outcomes[:3] == ["accepted", "access_denied", "invalid_scope"]
    # In the contract's wire format an answer with a token has no `iss` (README, “Where we differ”).
    assert outcomes[3:] == ['response parameter "iss" (issuer) missing', "access_denied", "invalid_scope"]
