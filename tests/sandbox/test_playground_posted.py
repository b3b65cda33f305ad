"""Answers posted to the playground: only the tab that sent the request can read them, once."""

import hashlib
import json
import threading
from base64 import urlsafe_b64encode
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.utils import timezone
from joserfc.jwk import ECKey

from presentation.encryption import Recipient
from presentation.models import RelyingParty, ResponseURI
from sandbox.models import PlaygroundAnswer
from sandbox.playground import posted_answers
from tests.drawn import without_drawn
from tests.people import register
from tests.sandbox.playground_page import request_on

POST, READ = "/playground/answers/", "/playground/answers/read/"
STATE = "the-state-of-this-tab"
FORM = {"vp_token": "eyJ.eyJ.sig~~", "state": STATE}
pytestmark = pytest.mark.django_db


def encrypted_for(last: str) -> str:
    """A form with an encrypted answer whose kid has the length of a hash and ends with this JSON escape."""
    header = '{"kid":"' + 42 * "a" + last + '"}'
    return f"response={urlsafe_b64encode(header.encode()).rstrip(b'=').decode()}.a.b.c.d"


WITH_NUL, WITH_HALF_A_LETTER = encrypted_for(r"\u0000"), encrypted_for(r"\ud800")


def digest(text: str) -> str:
    return urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def post(client: Client, form: dict[str, str] | str, to: str = POST) -> Any:
    body = form if isinstance(form, str) else urlencode(form)
    return client.post(to, body, content_type="application/x-www-form-urlencoded")


def code_of(response: Any) -> str:
    address = urlsplit(response.json()["redirect_uri"])
    assert address.path == "/playground/callback/"
    (code,) = parse_qs(address.query)["response_code"]
    assert len(code) >= 32
    return code


def read(client: Client, code: str, state: str = STATE) -> Any:
    return post(client, {"response_code": code, "state": state}, READ)


@pytest.mark.parametrize("form", [FORM, {"error": "access_denied", "state": STATE}])
def test_a_posted_answer_is_returned_once_for_its_code_and_state(form: dict[str, str]) -> None:
    careful = Client(enforce_csrf_checks=True)

    code = code_of(post(careful, form))

    assert read(careful, code).json() == {"form": urlencode(form)}
    assert read(careful, code).status_code == 404
    assert not PlaygroundAnswer.objects.exists()


@pytest.mark.parametrize("wrong", ["code", "state", "both", "letters", "nothing", "too late"])
def test_nobody_else_gets_it(client: Client, wrong: str) -> None:
    code = code_of(post(client, FORM))
    if wrong == "too late":
        PlaygroundAnswer.objects.update(expires_at=timezone.now())
    tried = {
        "code": (code[::-1], STATE),
        "state": (code, "the state of an attacker's tab"),
        "both": ("x", "y"),
        "letters": ("é", "é"),
        "nothing": ("", ""),
        "too late": (code, STATE),
    }[wrong]

    response = read(client, *tried)

    assert response.status_code == 404
    assert "eyJ" not in without_drawn(response.content.decode())
    assert PlaygroundAnswer.objects.count() == 1


def test_an_encrypted_answer_is_found_by_the_kid_of_its_key(client: Client) -> None:
    key = ECKey.generate_key("P-256").as_dict(private=False)
    public = {name: str(key[name]) for name in ("kty", "crv", "x", "y")}
    form = {
        "response": Recipient(public, digest(STATE), "A128GCM").encrypt({"vp_token": "x", "state": STATE})
    }

    code = code_of(post(client, form))

    assert read(client, code, "another").status_code == 404
    assert read(client, code).json() == {"form": urlencode(form)}


def test_posted_again_the_first_code_is_worth_nothing(client: Client) -> None:
    first, second = code_of(post(client, FORM)), code_of(post(client, FORM))

    assert read(client, first).status_code == 404
    assert read(client, second).status_code == 200


@pytest.mark.parametrize(
    "form",
    [
        "",
        "state=x",
        "vp_token=x",
        "vp_token=x&error=y&state=z",
        "vp_token=x&state=y&state=z",
        "response=eyJ",
        "response=eyJhbGciOiJub25lIn0.a.b.c.d",
        WITH_NUL,
        WITH_HALF_A_LETTER,
        "vp_token=%FF&state=x",
        "vp_token=" + "a" * 70_000 + "&state=x",
    ],
)
def test_what_is_no_answer_is_refused_and_not_kept(client: Client, form: str) -> None:
    response = post(client, form)

    assert response.status_code == 400
    assert response.json()["error"] == "invalid_request"
    assert not PlaygroundAnswer.objects.exists()


def test_only_forms_that_are_posted_count(client: Client) -> None:
    assert client.post(POST, json.dumps(FORM), content_type="application/json").status_code == 400
    assert client.get(POST).status_code == client.get(READ).status_code == 405


@pytest.mark.usefixtures("windows_just_begun")
def test_they_cannot_be_made_a_flood(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posted_answers, "MOST_KEPT", 2)
    statuses = [post(client, FORM | {"state": str(number)}).status_code for number in range(3)]
    assert statuses == [200, 200, 400]
    PlaygroundAnswer.objects.update(expires_at=timezone.now())
    assert post(client, FORM).status_code == 200  # expired answers do not count

    for _ in range(posted_answers.POSTED.most - 4):
        posted_answers.POSTED.take("127.0.0.1", now=timezone.now())
    refused = post(client, FORM)
    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) > 0


def test_it_is_kept_sealed_and_forgotten_unread(client: Client) -> None:
    post(client, FORM)
    row = PlaygroundAnswer.objects.get()
    assert b"eyJ.eyJ" not in bytes(row.sealed_form)
    assert STATE not in row.handle
    assert row.expires_at <= timezone.now() + timedelta(minutes=5)

    PlaygroundAnswer.objects.update(expires_at=timezone.now())
    call_command("clear_expired", verbosity=0)

    assert not PlaygroundAnswer.objects.exists()


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_racing_readers_one_gets_it(client: Client) -> None:
    code, barrier, statuses = code_of(post(client, FORM)), threading.Barrier(6), []

    def run() -> None:
        barrier.wait()
        statuses.append(read(Client(), code).status_code)
        connection.close()

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(statuses) == [200] + [404] * 5


# --- The page ---------------------------------------------------------------------------------------------


@pytest.fixture
def bank(settings: Any) -> RelyingParty:
    party = register("Acme Bank", f"{settings.BASE_URL}/playground/callback/")
    settings.LOOPBACK_CALLS = True
    return party


def test_without_the_pages_script_the_server_builds_a_request_for_a_posted_answer(
    client: Client, bank: RelyingParty
) -> None:
    ResponseURI.objects.create(relying_party=bank, uri=posted_answers.response_uri())

    page = client.get("/playground/", {"client_id": bank.client_id, "response_mode": "direct_post"})

    sent = request_on(page)
    assert (sent["response_mode"], sent["response_uri"]) == ("direct_post", posted_answers.response_uri())
    assert "redirect_uri" not in sent
    assert 'value="direct_post" selected' in page.content.decode()


def test_without_a_registered_response_uri_the_answer_comes_in_the_fragment(
    client: Client, bank: RelyingParty
) -> None:
    page = client.get("/playground/", {"client_id": bank.client_id, "response_mode": "direct_post"})

    assert "response_mode" not in request_on(page)
    assert page.context["known"]["parties"][bank.client_id]["posted"] is False


@pytest.mark.parametrize(
    ("base_url", "said"),
    [
        ("http://localhost:8000", "posts to https addresses only"),
        ("https://localhost:8000", "posts to the public Internet only"),
        ("https://10.0.0.5", "posts to the public Internet only"),
        ("https://sandbox.example", None),
    ],
)
def test_where_nothing_can_be_posted_the_playground_says_so(
    client: Client, settings: Any, base_url: str, said: str | None
) -> None:
    settings.LOOPBACK_CALLS, settings.BASE_URL = False, base_url
    register("Acme Bank", f"{base_url}/playground/callback/")

    page = client.get("/playground/").content.decode()

    assert ("Answers cannot be posted to this playground." in page) is (said is not None)
    assert said is None or said in page


# --- The script of the page -------------------------------------------------------------------------------


@pytest.mark.node
@pytest.mark.parametrize("method", ["A128GCM", "A256GCM"])
def test_the_page_opens_what_was_encrypted_to_its_key(node: Callable[..., Any], method: str) -> None:
    key = ECKey.generate_key("P-256")
    private = {name: str(value) for name, value in key.as_dict(private=True).items() if name != "kid"}
    public = {name: private[name] for name in ("kty", "crv", "x", "y")}
    other = {k: str(v) for k, v in ECKey.generate_key("P-256").as_dict(private=True).items() if k != "kid"}

    def form(members: dict[str, object]) -> str:
        return urlencode({"response": Recipient(public, "kid", method).encrypt(members)})

    token, by_query = "eyJ.eyJ.sig~~", {"basic": ["eyJ.eyJ.sig~~"]}
    good = form({"vp_token": token, "state": "s"})
    head, _, tail = good.rpartition(".")
    cases = [
        (good, private),
        (form({"vp_token": by_query, "state": "s"}), private),
        ("error=access_denied&state=s", private),
        ("vp_token=x&state=s", private),
        (good, other),
        (f"{head}.{tail[::-1]}", private),
        (good.replace("response=", "response=x"), private),
    ]

    found = node(posted=[{"form": form, "privateKey": key} for form, key in cases])["posted"]

    assert found[0]["presentation"] == found[1]["presentation"] == token
    assert (found[0]["queryIds"], found[1]["queryIds"]) == (None, ["basic"])
    assert found[2]["error"] == "access_denied"
    assert found[3]["refused"] == "it was to be encrypted, and is not"
    assert all("refused" in each for each in found[4:])
