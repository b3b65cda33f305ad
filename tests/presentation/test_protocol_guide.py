"""Executes the code of docs/protocol.md as printed (commands and verifiers) with a running sandbox."""

import hashlib
import json
import os
import re
import subprocess
import urllib.request
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from jwcrypto.common import JWException
from standardwebhooks import WebhookVerificationError

from keys.jws import decode_segment, encode_segment
from presentation.models import RelyingParty
from presentation.outcomes import DELIVERIES, State
from presentation.relying_parties.authentication import client_secrets
from presentation.relying_parties.metadata.grants import READ
from tests.fixtures import NODE_PACKAGES
from tests.people import register
from tests.ports import free_port
from tests.presentation.clients import access_token
from tests.presentation.requests.deciding import address_of_page, decide
from tests.presentation.webhooks import opted_in, receiving
from tests.project_copy import copy_project, recipe
from tests.receiver import listening
from tests.wallet.statuses import SAID, present
from wallet.credential import revocation
from wallet.models import StatusList, Wallet
from wallet.status_lists import endpoints

END_OF_BLOCK = "--- end of a block"
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "protocol.md"


def printed(language: str) -> list[str]:
    """The guide's snippets in a language, in order."""
    return re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(), re.DOTALL)


def printed_code() -> dict[str, Any]:
    """The names that the guide's Python snippets define."""
    defined: dict[str, Any] = {}
    for snippet in printed("python"):
        exec(snippet, defined)
    return defined


@pytest.fixture
def typed(tmp_path: Path) -> list[str]:
    """The output of the guide's commands, block by block, from one shell next to a new sandbox."""
    port = str(free_port())
    base_url = f"http://localhost:{port}"
    environment = {"PATH": os.environ["PATH"], "PORT": port}
    command = ["sh", "-c", recipe("sandbox", copy_project(tmp_path))]
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL) as sandbox:
        try:
            while sandbox.poll() is None:  # without a time limit
                with suppress(OSError), urllib.request.urlopen(base_url, timeout=30):
                    break
                sleep(0.2)
            script = f"\necho '{END_OF_BLOCK}'\n".join(["export BASE_URL=" + base_url, *printed("sh")])
            shell = ["sh", "-e", "-u", "-c", script]
            del environment["PORT"]  # only the sandbox has it
            done = subprocess.run(
                shell, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
            )
        finally:
            sandbox.terminate()
    assert done.returncode == 0, done.stderr
    return done.stdout.split(f"{END_OF_BLOCK}\n")[1:]


@pytest.mark.curl
def test_the_guides_commands_lead_from_registration_to_a_verified_claim(typed: list[str]) -> None:
    """The commands with curl, in one shell, in the printed order."""
    register, ask, answer, secret, verify, push, webhook, play = typed

    assert register == ask == answer == secret == ""
    verdict = json.loads(verify)
    assert (verdict["valid"], verdict["claims"]["given_name"]) == (True, "Alice")
    assert json.loads(push)["expires_in"] == 60
    assert json.loads(webhook)["secret"].startswith("whsec_")
    assert "#vp_token=" in json.loads(play)["redirect_to"]


def test_the_versions_that_the_guide_names_are_those_it_was_tried_with() -> None:
    guide, npm = GUIDE.read_text(), json.loads((NODE_PACKAGES.parent / "package.json").read_text())
    tried = {f"{name}@{version}" for name, version in npm["dependencies"].items()}
    pins = (GUIDE.parents[1] / "requirements" / "development.txt").read_text()
    tried |= set(re.findall(r"^([a-z0-9-]+==[0-9.]+)", pins, re.MULTILINE))

    installed = {
        package
        for packages in re.findall(r"`(?:npm|pip) install\s([^`]+)`", guide)
        for package in packages.split()
    }

    assert len(installed) >= 4
    assert installed <= tried


def test_there_is_no_snippet_that_nothing_executes() -> None:
    """The parsed JSON answers."""
    languages = set(re.findall(r"^```(.*)\n.+", GUIDE.read_text(), re.MULTILINE)) - {""}

    assert languages == {"python", "js", "html", "sh", "json"}
    assert [len(printed(language)) for language in ("js", "html")] == [1, 1]


def test_the_guide_asks_and_verifies(service: Any, signing_key: Any, alice: Wallet, sign_in: Any) -> None:
    code, session = printed_code(), {}
    shop = register("My Shop", "http://127.0.0.1:5000/callback")
    browser = Client()
    sign_in(alice, browser=browser)
    url = code["authorize_url"](
        service.url, shop.client_id, "http://127.0.0.1:5000/callback", alice.email, session
    )

    page = address_of_page(browser.get(url.removeprefix(service.url)))
    home = browser.get(decide(browser, page)).headers["Location"]
    answer = dict(parse_qsl(urlsplit(home).fragment))
    claims = code["verified_claims"](
        answer["vp_token"], base_url=service.url, client_id=shop.client_id, nonce=session["nonce"]
    )

    assert answer["state"] == session["state"]
    assert claims["given_name"] == "Alice"
    assert claims["age_equal_or_over"] == {"18": True}
    assert "birth_date" not in claims


def test_the_guide_binds_a_payment(service: Any, signing_key: Any, alice: Wallet, sign_in: Any) -> None:
    code, session = printed_code(), {}
    shop = register("My Shop", "http://127.0.0.1:5000/callback")
    browser = Client()
    sign_in(alice, browser=browser)
    value = code["payment"](12.5)
    url = code["authorize_url"](
        service.url, shop.client_id, "http://127.0.0.1:5000/callback", alice.email, session
    )

    page = address_of_page(browser.get(f"{url.removeprefix(service.url)}&transaction_data={value}"))
    home = browser.get(decide(browser, page)).headers["Location"]
    token = dict(parse_qsl(urlsplit(home).fragment))["vp_token"]

    assert code["is_bound"](token, [value])
    assert not code["is_bound"](token, [])
    assert not code["is_bound"](token, [value, value])


def test_the_guide_asks_for_one_claim(service: Any, signing_key: Any, alice: Wallet, sign_in: Any) -> None:
    code, session = printed_code(), {}
    shop = register("My Shop", "http://127.0.0.1:5000/callback", allowed_claims=["age_equal_or_over.21"])
    browser = Client()
    sign_in(alice, browser=browser)
    url = code["authorize_url"](
        service.url, shop.client_id, "http://127.0.0.1:5000/callback", alice.email, session
    )
    value = code["payment"](12.5, credential_id="drinks")
    parameters = dict(parse_qsl(urlsplit(url).query)) | {"dcql_query": code["over_21"](service.url)}
    del parameters["scope"]
    other_id = parameters | {"transaction_data": code["payment"](12.5)}

    refused = browser.get(urlsplit(url).path, other_id).headers["Location"]
    page = address_of_page(browser.get(urlsplit(url).path, parameters | {"transaction_data": value}))
    home = browser.get(decide(browser, page)).headers["Location"]
    token = dict(parse_qsl(urlsplit(home).fragment))["vp_token"]
    claims = code["verified_claims"](
        token, base_url=service.url, client_id=shop.client_id, nonce=session["nonce"]
    )

    assert claims["age_equal_or_over"] == {"21": True}
    assert "given_name" not in claims
    assert code["is_bound"](token, [value])
    assert "error=invalid_transaction_data" in refused


def test_the_guide_is_right_about_claims_that_do_not_exist(
    service: Any, signing_key: Any, alice: Wallet, sign_in: Any
) -> None:
    """A claim that is not allowed is an error of the request; one that the holder lacks is an answer."""
    code, session = printed_code(), {}
    shop = register("My Shop", "http://127.0.0.1:5000/callback", allowed_claims=["age_equal_or_over.21"])
    browser = Client()
    sign_in(alice, browser=browser)
    callback = "http://127.0.0.1:5000/callback"
    url = code["authorize_url"](service.url, shop.client_id, callback, alice.email, session)
    parameters = dict(parse_qsl(urlsplit(url).query))
    del parameters["scope"]

    def told(*path: str) -> str:
        query = json.loads(code["over_21"](service.url))
        query["credentials"][0]["claims"] = [{"path": path}]
        answer = browser.get(urlsplit(url).path, parameters | {"dcql_query": json.dumps(query)})
        if answer.headers["Location"].startswith("/"):  # the page with only a link back
            answer = browser.get(browser.get(answer.headers["Location"]).context["leave"])
        return dict(parse_qsl(urlsplit(answer.headers["Location"]).fragment))["error"]

    assert told("birth_date") == "unauthorized_client"
    assert told("shoe_size") == told("age_equal_or_over", "twenty-one") == "invalid_request"


@pytest.fixture
def answered(service: Any, signing_key: Any, alice: Wallet, sign_in: Any) -> dict[str, str]:
    """A presentation to My Shop as in the guide, and the data that its server needs for verification."""
    code, session = printed_code(), {}
    shop = register("My Shop", "http://127.0.0.1:5000/callback", grants=["presentation:verify"])
    secret = client_secrets.rotate(shop, now=timezone.now()).text
    browser = Client()
    sign_in(alice, browser=browser)
    url = code["authorize_url"](
        service.url, shop.client_id, "http://127.0.0.1:5000/callback", alice.email, session
    )
    page = address_of_page(browser.get(url.removeprefix(service.url)))
    home = browser.get(decide(browser, page)).headers["Location"]
    vp_token = dict(parse_qsl(urlsplit(home).fragment))["vp_token"]
    client = {"BASE_URL": service.url, "CLIENT_ID": shop.client_id, "CLIENT_SECRET": secret}
    return {**client, "VP_TOKEN": vp_token, "NONCE": session["nonce"]}


def test_the_guide_lets_the_service_verify(answered: dict[str, str]) -> None:
    code, base_url = printed_code(), answered["BASE_URL"]
    token = code["access_token"](base_url, answered["CLIENT_ID"], answered["CLIENT_SECRET"])
    for nonce, valid in ((answered["NONCE"], True), ("another-nonce", False)):
        answer = code["verified_by_service"](base_url, token, vp_token=answered["VP_TOKEN"], nonce=nonce)
        assert answer["valid"] is valid
        assert ("claims" in answer) is valid


def test_the_guide_asks_how_a_request_went(answered: dict[str, str]) -> None:
    code, party = printed_code(), RelyingParty.objects.get()
    party.grants = [READ]
    party.save()
    told = code["outcome"](answered["BASE_URL"], access_token(party), answered["NONCE"])
    (shown,) = (json.loads(text) for text in printed("json") if '"state"' in text)

    assert told | {"begun_at": "", "answered_at": ""} == shown | {"begun_at": "", "answered_at": ""}
    rows = GUIDE.read_text()
    for member in {*State, *DELIVERIES.values(), "begun_at", "answered_at", "error", "delivery", "status"}:
        assert f"`{member}`" in rows, member


@pytest.mark.node
def test_the_guide_proves_itself_by_key_with_openid_client(answered: dict[str, str]) -> None:
    (snippet,) = (code for code in printed("js") if "openid-client" in code)
    asked = {
        "baseUrl": answered["BASE_URL"],
        "clientId": answered["CLIENT_ID"],
        "privateJwk": own_key(answered["CLIENT_ID"]),
        "vpToken": answered["VP_TOKEN"],
        "nonce": answered["NONCE"],
    }
    done = in_node(f"{snippet}\nconsole.log(JSON.stringify(await verifiedByService({json.dumps(asked)})));")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["claims"]["given_name"] == "Alice"


def in_node(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["node", "--input-type=module", "-"],
        input=program,
        cwd=NODE_PACKAGES.parent,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("way", ["pushed", "signed"])
@pytest.mark.parametrize("by_query", [False, True])
def test_the_guide_pushes_and_signs(
    answered: dict[str, str], alice: Wallet, sign_in: Any, way: str, by_query: bool
) -> None:
    code, base_url, client_id = printed_code(), answered["BASE_URL"], answered["CLIENT_ID"]
    key, browser, session = own_key(client_id), Client(), {}
    sign_in(alice, browser=browser)
    url = code["authorize_url"](base_url, client_id, "http://127.0.0.1:5000/callback", alice.email, session)
    if by_query:
        RelyingParty.objects.update(allowed_claims=["age_equal_or_over.21"])
        parameters = dict(parse_qsl(urlsplit(url).query)) | {"dcql_query": code["over_21"](base_url)}
        parameters |= {"transaction_data": code["payment"](12.5, "drinks"), "client_metadata": "{}"}
        url = f"{url.partition('?')[0]}?{urlencode(parameters | {'scope': ''})}"
    sent = (
        code["pushed"](url, base_url, client_id, answered["CLIENT_SECRET"])
        if way == "pushed"
        else code["signed"](url, base_url, key)
    )
    page = address_of_page(browser.get(sent.removeprefix(base_url)))
    home = browser.get(decide(browser, page)).headers["Location"]
    answer = dict(parse_qsl(urlsplit(home).fragment))

    assert "login_hint" not in sent
    assert answer["state"] == session["state"]
    claims = code["verified_claims"](
        answer["vp_token"], base_url=base_url, client_id=client_id, nonce=session["nonce"]
    )
    assert claims["age_equal_or_over"] == ({"21": True} if by_query else {"18": True})


def own_key(client_id: str) -> Any:
    """The guide's private key; its public half is registered as in the guide."""
    private_jwk, jwks = printed_code()["key_of_your_own"]()
    assert "d" not in jwks["keys"][0]
    party = RelyingParty.objects.get(client_id=client_id)
    party.jwks = json.loads(json.dumps(jwks))
    party.full_clean()
    party.save()
    return private_jwk


def said_in(token: str) -> dict[str, Any]:
    """The disclosed claims of a presentation."""
    return decode_segment(token.split(".")[1])


@pytest.mark.parametrize("move", [revocation.revoke, revocation.suspend])
def test_the_guide_checks_the_status(
    service: Any, signing_key: Any, alice: Wallet, bob: Wallet, move: Any
) -> None:
    code = printed_code()
    claims, others = (said_in(present(wallet)) for wallet in (alice, bob))
    code["demand_valid"](claims, base_url=service.url)

    move(alice.credential, now=timezone.now(), **SAID)
    StatusList.objects.update(checked_at=None)  # as if some seconds had passed
    endpoints.lists.refresh()

    with pytest.raises(ValueError, match="invalid or suspended"):
        code["demand_valid"](claims, base_url=service.url)
    code["demand_valid"](others, base_url=service.url)


def test_the_guides_code_refuses_a_forged_or_foreign_status_list(
    service: Any, signing_key: Any, alice: Wallet
) -> None:
    code, token = printed_code(), present(alice)
    place, fetch = said_in(token)["status"]["status_list"], code["fetch"]
    header, payload, signature = fetch(place["uri"]).split(".")
    longer = encode_segment(decode_segment(payload) | {"exp": 2_000_000_000})
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"uri": f"{service.url}.evil.example/status-lists/1"}, f"{header}.{payload}.{signature}"),
        ({"uri": f"{place['uri']}0"}, f"{header}.{payload}.{signature}"),
        ({"idx": 2**20}, f"{header}.{payload}.{signature}"),
        ({}, f"{header}.{longer}.{signature}"),
        ({}, token.split("~")[0]),
        ({}, ""),
    ]
    for change, answer in wrong:
        code["fetch"] = lambda url, answer=answer: answer if "/status-lists/" in url else fetch(url)
        with pytest.raises((ValueError, IndexError, JWException)):
            code["demand_valid"]({"status": {"status_list": place | change}}, base_url=service.url)


@pytest.mark.parametrize("changed", ["client_id", "nonce"])
def test_the_guides_verifier_refuses_what_was_meant_for_another_request(
    service: Any, signing_key: Any, alice: Wallet, sign_in: Any, changed: str
) -> None:
    code, session = printed_code(), {}
    shop = register("My Shop", "http://127.0.0.1:5000/callback")
    browser = Client()
    sign_in(alice, browser=browser)
    url = code["authorize_url"](
        service.url, shop.client_id, "http://127.0.0.1:5000/callback", alice.email, session
    )
    page = address_of_page(browser.get(url.removeprefix(service.url)))
    home = browser.get(decide(browser, page)).headers["Location"]
    token = dict(parse_qsl(urlsplit(home).fragment))["vp_token"]
    expected = {"client_id": shop.client_id, "nonce": session["nonce"], changed: "another-one-altogether"}

    with pytest.raises(ValueError):
        code["verified_claims"](token, base_url=service.url, **expected)


def test_the_guide_is_told_by_webhook_what_became_of_its_request(
    service: Any, signing_key: Any, alice: Wallet, sign_in: Any
) -> None:
    code, session = printed_code(), {}
    address = "http://127.0.0.1:5000/callback"
    shop = register("My Shop", address)
    browser = Client()
    sign_in(alice, browser=browser)
    with receiving() as receiver:
        secret = opted_in(shop, receiver.url)
        url = code["authorize_url"](service.url, shop.client_id, address, alice.email, session)
        browser.get(decide(browser, address_of_page(browser.get(url.removeprefix(service.url)))))
        call_command("worker", once=True, jobs=["webhooks"])

    ((headers, body),) = receiver.received
    said = code["webhook_content"](secret, headers, body)

    nonce = hashlib.sha256(session["nonce"].encode()).hexdigest()
    assert said["type"] == "presentation.completed"
    assert said["data"] == {"client_id": shop.client_id, "nonce_sha256": nonce}
    with pytest.raises(WebhookVerificationError):
        code["webhook_content"](secret, headers, body.replace(b"completed", b"denied"))


@pytest.mark.parametrize("encrypted", [False, True])
def test_the_guide_has_answers_posted(
    service: Any, signing_key: Any, alice: Wallet, sign_in: Any, encrypted: bool
) -> None:
    code, session = printed_code(), {}
    shop, browser = register("My Shop", "http://127.0.0.1:5000/callback"), Client()
    sign_in(alice, browser=browser)
    url = code["authorize_url"](service.url, shop.client_id, "left out", alice.email, session)
    keys: dict[str, Any] = {}
    client_metadata = code["key_to_encrypt_to"](keys)
    parameters = dict(parse_qsl(urlsplit(url).query)) | {"response_mode": "direct_post"}
    if encrypted:
        parameters |= {"response_mode": "direct_post.jwt", "client_metadata": client_metadata}
    del parameters["redirect_uri"]
    open_requests = {session["state"]: session}

    with listening() as receiver:
        shop.response_uris.create(uri=receiver.uri)
        welcome = receiver.uri.replace("/answers", "/welcome")
        facts = {"base_url": service.url, "client_id": shop.client_id, "welcome": welcome}

        def answer() -> None:
            form = receiver.posted[-1].body
            assert form.startswith("response=") is encrypted
            receiver.body = code["answer_posted"](form, open_requests, keys, **facts).encode()

        receiver.before = answer
        page = browser.get(urlsplit(url).path, parameters | {"response_uri": receiver.uri})
        onward = browser.get(decide(browser, address_of_page(page))).headers["Location"]

    assert onward == f"{welcome}?response_code={session['response_code']}#"
    assert session["claims"]["given_name"] == "Alice"


@pytest.mark.parametrize("encrypted", [False, True])
def test_the_guide_takes_a_posted_error_with_and_without_keys(encrypted: bool) -> None:
    code, open_requests = printed_code(), {"s": {"nonce": "n"}}
    facts = {"base_url": "https://wallet.example", "client_id": "shop", "welcome": "https://shop.example/"}
    keys: dict[str, Any] = {}
    if encrypted:
        code["key_to_encrypt_to"](keys)

    said = code["answer_posted"]("error=access_denied&state=s", open_requests, keys, **facts)

    assert json.loads(said)["redirect_uri"].startswith("https://shop.example/?response_code=")
    assert "claims" not in open_requests["s"]
