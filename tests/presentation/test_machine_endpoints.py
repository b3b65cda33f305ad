"""Common rules of all endpoints for machines: errors as JSON, limits, no internal details."""

from collections.abc import Callable
from datetime import timedelta
from threading import Thread
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from infra.limits import Limit
from keys import key_set
from presentation import verification
from presentation.entrances import pushing
from presentation.models import RelyingParty
from presentation.relying_parties.authentication import access_tokens, bearer
from sandbox.holder import endpoints as sandbox_endpoints
from tests.forgery import new_key, sign_jwt
from tests.presentation.clients import FORM, TOKEN, access_token, basic, registered, with_secret
from tests.presentation.requests.pushing import PAR
from tests.presentation.verifying import VERIFY

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("signing_key")]
JSON = "application/json"
HOLDER = "/sandbox/holder"
KINDS = {TOKEN: FORM, PAR: FORM, VERIFY: JSON, HOLDER: JSON}
each_endpoint = pytest.mark.parametrize("path", KINDS)
FEW = Limit("few", most=2, window=timedelta(minutes=1))


def post(path: str, body: bytes = b"", **headers: Any) -> Any:
    return Client().post(path, data=body, content_type=KINDS[path], **headers)


def bearing(token: str, **more: Any) -> dict[str, Any]:
    return {"headers": {"Authorization": f"Bearer {token}"}, **more}


def good(path: str, party: RelyingParty, secret: str) -> Callable[[], Any]:
    """A call of an endpoint that passes each of its limits."""
    proof = {"headers": basic(party.client_id, secret)}
    if path == VERIFY:
        proof = bearing(access_token(party))
    return lambda: post(path, BODIES[path], **proof)


BODIES = {
    TOKEN: b"grant_type=client_credentials",
    PAR: b"response_type=x",
    VERIFY: b'{"vp_token": "x", "nonce": "x"}',
    HOLDER: b"{}",
}


# --- Faults of this service -------------------------------------------------------------------------------


@each_endpoint
def test_an_unexpected_error_is_json_with_a_reference_and_is_logged(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    def breaks(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("what nobody shall read")

    for place, name in (
        (access_tokens, "grant"),
        (pushing, "authenticate"),
        (verification, "verify"),
        (sandbox_endpoints.HolderCall, "from_json"),
    ):
        monkeypatch.setattr(place, name, breaks)
    response = good(path, *with_secret())()

    assert (response.status_code, response.json()["error"]) == (500, "server_error")
    assert response.json().keys() == {"error", "error_description"}
    assert response.headers["Content-Type"] == JSON
    assert response.headers["Cache-Control"] == "no-store"
    assert b"nobody shall read" not in response.content
    _before, written = capsys.readouterr().err.split("machine_request_failed")
    reference = response.json()["error_description"].split("reference ")[1].split()[0]
    assert len(reference) == 8
    assert reference in written
    assert "ZeroDivisionError" in written


@each_endpoint
def test_while_the_database_is_away_it_says_when_to_come_again(
    monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    call = good(path, *with_secret())
    key_set.find("none")  # so that the database is the first thing that is missing
    where = "NAME" if connection.vendor == "sqlite" else "HOST"
    monkeypatch.setitem(connection.settings_dict, where, "/nowhere/at/all")
    responses: list[Any] = []
    thread = Thread(target=lambda: responses.append(call()))  # each thread has its own connection
    thread.start()
    thread.join()

    (response,) = responses
    assert (response.status_code, response.json()["error"]) == (503, "temporarily_unavailable")
    assert int(response.headers["Retry-After"]) > 0
    assert b"nowhere" not in response.content


# --- Requests that are refused ----------------------------------------------------------------------------


@each_endpoint
def test_a_body_in_chunks_is_refused_and_not_read_as_empty(path: str) -> None:
    """As gunicorn passes it on: without Content-Length, so Django would read an empty body."""
    party, _secret = with_secret()
    proof = bearing(access_token(party)) if path == VERIFY else {}
    response = Client().generic(
        "POST", path, BODIES[path], KINDS[path], CONTENT_LENGTH="", HTTP_TRANSFER_ENCODING="chunked", **proof
    )

    assert (response.status_code, response.json()["error"]) == (411, "invalid_request")
    assert "Content-Length" in response.json()["error_description"]


class HungUp:
    """A body whose client has disconnected."""

    def read(self, *_: Any) -> bytes:
        raise OSError("gone")

    readline = read


@each_endpoint
def test_a_body_that_ends_too_soon_is_a_mistake_and_nothing_for_the_log(
    path: str, logged: list[dict[str, Any]]
) -> None:
    proof = bearing(access_token(registered())) if path == VERIFY else {}
    response = post(path, BODIES[path], **proof, **{"wsgi.input": HungUp()})

    assert (response.status_code, response.json()["error"]) == (400, "invalid_request")
    assert [event["event"] for event in logged] == ["request"]


@each_endpoint
def test_no_answer_reveals_the_internal_name_of_an_endpoint(path: str) -> None:
    response = Client().options(path, **bearing(access_token(registered())))

    assert response.status_code == 405
    assert response.headers["Allow"] == "POST"
    assert response.json().keys() == {"error", "error_description"}


# --- Limits -----------------------------------------------------------------------------------------------


def limited(response: Any) -> bool:
    if response.status_code == 429:
        assert response.json()["error"] == "temporarily_unavailable"
        assert 0 < int(response.headers["Retry-After"]) <= 61
    return bool(response.status_code == 429)


PER_RELYING_PARTY = {TOKEN: (access_tokens, "PER_RELYING_PARTY"), PAR: (pushing, "PER_RELYING_PARTY")}
PER_RELYING_PARTY[VERIFY] = (verification, "PER_RELYING_PARTY")


@pytest.mark.parametrize("path", PER_RELYING_PARTY)
@pytest.mark.usefixtures("windows_just_begun")
def test_one_client_that_calls_too_often_has_to_wait_and_no_other(
    monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(*PER_RELYING_PARTY[path], FEW)
    one, other = good(path, *with_secret()), good(path, *with_secret("Corner Shop"))

    assert [limited(one()) for _ in range(3)] == [False, False, True]
    assert not limited(other())


PER_CLIENT_ADDRESS = {TOKEN: (access_tokens, "PER_CLIENT_ADDRESS"), PAR: (pushing, "PER_CLIENT_ADDRESS")}
PER_CLIENT_ADDRESS[HOLDER] = (sandbox_endpoints.holder, "CALLS_PER_CLIENT")
PER_CLIENT_ADDRESS[VERIFY] = (bearer, "REFUSED")


@pytest.mark.parametrize("path", PER_CLIENT_ADDRESS)
@pytest.mark.usefixtures("windows_just_begun")
def test_one_address_that_calls_too_often_has_to_wait_and_no_other(
    monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(*PER_CLIENT_ADDRESS[path], FEW)
    bad = bearing("not.a.token") if path == VERIFY else {}
    call = lambda address: limited(post(path, BODIES[path], **bad, REMOTE_ADDR=address))  # noqa: E731

    assert [call("192.0.2.1") for _ in range(3)] == [False, False, True]
    assert not call("192.0.2.2")


@pytest.mark.usefixtures("windows_just_begun")
def test_a_valid_token_is_accepted_from_an_address_that_sent_invalid_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bearer, "REFUSED", FEW)
    for _ in range(4):
        last = post(VERIFY, BODIES[VERIFY], **bearing("not.a.token"))

    assert limited(last)
    assert good(VERIFY, *with_secret())().status_code == 200


def test_tokens_with_unknown_keys_query_the_database_once_a_second(
    statements: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    party = registered()
    call = lambda kid: post(  # noqa: E731
        VERIFY, b"{}", **bearing(sign_jwt({"alg": "ES256", "typ": "at+jwt", "kid": kid}, {}, new_key()))
    )
    assert post(VERIFY, BODIES[VERIFY], **bearing(access_token(party))).status_code == 200
    asks = lambda text: "keys_signingkey" in text  # noqa: E731
    began = key_set.monotonic()
    monkeypatch.setattr(key_set, "monotonic", lambda: began)  # all in one second
    with statements() as asked_for:
        assert {call(f"nobody's {number}").status_code for number in range(5)} == {401}
    assert len([text for text in asked_for.texts if asks(text)]) == 1

    monkeypatch.setattr(key_set, "monotonic", lambda: began + key_set.UNKNOWN_ASKED_EVERY)
    with statements() as asked_again:
        call("nobody's")
        call("nobody's")
    assert len([text for text in asked_again.texts if asks(text)]) == 1
