"""The keys at a `jwks_uri`: fetched when needed, and not too often."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from threading import Event, Thread
from typing import Any

import pytest
from django.test import Client

from infra.registering import NotRegistrableError
from infra.waiting import most_for_applications, waiting_for
from presentation.relying_parties.authentication import fetched_keys
from presentation.relying_parties.metadata.public_keys import (
    MOST,
    problem_with,
    read,
    read_published,
)
from tests.forgery import Key, new_key, public_jwk
from tests.presentation.clients import ask, assertion, basic, by_assertion, registered, with_secret
from tests.presentation.far_ends import FarEnd, answers, far_end
from tests.presentation.requests.pushing import send
from tests.presentation.requests.signed_requests import bring, signed
from tests.wallet.conftest import together

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("signing_key")]


class Application:
    """A relying party with a server that publishes its keys."""

    def __init__(self, far: FarEnd, **fields: Any) -> None:
        self.far, self.key = far, new_key()
        self.party = registered(jwks_uri=far.url(), **fields)

    def publish(self, **keys: Key) -> None:
        members = [{"kid": kid, **public_jwk(key)} for kid, key in keys.items()]
        self.far.behaviour = answers(json.dumps({"keys": members}).encode(), "Content-Type: application/json")

    def asks(self, settings: Any, *, key: Key | None = None, kid: str | None = "one") -> int:
        text = assertion(self.party.client_id, key or self.key, issuer=settings.BASE_URL, header={"kid": kid})
        status: int = ask(Client(), by_assertion(text)).status_code
        return status


@pytest.fixture
def application(monkeypatch: pytest.MonkeyPatch) -> Iterator[Application]:
    with far_end(answers(b"")) as far:
        monkeypatch.setattr(fetched_keys, "outbound", far.outbound())
        application = Application(far)
        application.publish(one=application.key)
        yield application


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Moves the clock of the cache."""
    past = [0.0]
    real = fetched_keys.monotonic
    monkeypatch.setattr(fetched_keys, "monotonic", lambda: real() + past[0])

    def turn(seconds: float) -> None:
        past[0] += seconds

    return turn


def test_its_keys_are_fetched_once_and_used_for_five_minutes(
    application: Application, settings: Any, clock: Any
) -> None:
    for _ in range(3):
        assert application.asks(settings) == 200
    assert len(application.far.requests) == 1
    clock(fetched_keys.KEPT)
    assert application.asks(settings) == 200
    assert len(application.far.requests) == 2


def test_a_key_that_is_new_there_is_fetched_at_most_once_a_minute(
    application: Application, settings: Any, clock: Any
) -> None:
    assert application.asks(settings) == 200
    second = new_key()
    application.publish(one=application.key, two=second)
    for _ in range(3):  # invented key ids cause no further fetches
        assert application.asks(settings, key=second, kid="two") == 401
    assert len(application.far.requests) == 1
    clock(fetched_keys.FETCHED_EVERY)
    assert application.asks(settings, key=second, kid="two") == 200
    assert len(application.far.requests) == 2


def test_a_key_that_is_gone_there_is_gone_here_after_five_minutes(
    application: Application, settings: Any, clock: Any
) -> None:
    assert application.asks(settings) == 200
    application.publish(two=new_key())
    clock(fetched_keys.KEPT)
    assert application.asks(settings) == 401


def test_a_failing_server_is_called_once_a_minute_and_its_cached_keys_expire(
    application: Application, settings: Any, clock: Any
) -> None:
    assert application.asks(settings) == 200
    application.far.behaviour = answers(b"", status="500 Broken")
    clock(fetched_keys.KEPT)
    for _ in range(3):
        assert application.asks(settings) == 401
    assert len(application.far.requests) == 2
    application.publish(one=application.key)
    clock(fetched_keys.FETCHED_EVERY)
    assert application.asks(settings) == 200


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"keys": {}}',
        b'{"keys": [1]}',
        b"[" * 60_000,
        b"\xff\xfe",
        b"1" * 5000,
        json.dumps({"keys": [{}] * (MOST + 1)}).encode(),
    ],
)
def test_an_answer_that_is_no_key_set_gives_no_keys(
    application: Application, settings: Any, body: bytes
) -> None:
    application.far.behaviour = answers(body)
    assert application.asks(settings) == 401


def test_keys_of_other_kinds_are_passed_over_where_they_are_published() -> None:
    key = new_key()
    good = {"kid": "one", "use": "sig", "alg": "ES256", **public_jwk(key)}
    others = [
        {"kty": "RSA", "kid": "rsa", "n": "AQAB", "e": "AQAB"},
        {"kid": "encrypts", **public_jwk(new_key()), "use": "enc"},
        {**public_jwk(new_key())},
        {"kid": "off the curve", **public_jwk(new_key()), "x": "AAAA"},
    ]
    assert read_published({"keys": [*others, good]}).keys() == {"one"}
    assert read_published({"keys": others}) == {}
    for other in others:
        with pytest.raises(NotRegistrableError):
            read({"keys": [good, other]})


@pytest.mark.parametrize(
    "jwks",
    [
        [],
        {"keys": []},
        {"keys": [{"kid": "one", **public_jwk(new_key()), "d": "AAAA"}]},
        {"keys": [{"kid": "one", "kty": "oct", "k": "AAAA"}]},
        {"keys": [{"kid": "one", **public_jwk(new_key())}] * 2},
        {"keys": [{"kid": "", **public_jwk(new_key())}]},
        {"keys": [{"kid": "x" * 201, **public_jwk(new_key())}]},
        {"keys": [{"kid": "one", **public_jwk(new_key()), "key_ops": ["sign"]}]},
        {"keys": [{"kid": "one", **public_jwk(new_key()), "alg": "ES384"}]},
    ],
)
def test_keys_that_could_not_be_used_are_not_registered(jwks: Any) -> None:
    assert problem_with(jwks, "")


def test_a_private_key_spoils_a_published_set_too() -> None:
    with pytest.raises(NotRegistrableError, match="private"):
        read_published({"keys": [{"kid": "one", **public_jwk(new_key()), "d": "AAAA"}]})


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_many_at_once_ask_the_other_side_once(application: Application, settings: Any) -> None:
    statuses = together(lambda _: application.asks(settings), 8)
    assert 200 in statuses
    assert set(statuses) <= {200, 503}  # a request during the fetch is told to come again
    assert len(application.far.requests) == 1
    assert together(lambda _: application.asks(settings), 8) == [200] * 8
    assert len(application.far.requests) == 1


# --- While the relying party's server is slow -------------------------------------------------------------


class Slow:
    """The relying party's server, which answers only when the test lets it."""

    def __init__(self, application: Application) -> None:
        self.asked, self.may_answer = Event(), Event()
        answer, far = application.far.behaviour, application.far

        def behaviour(connection: Any) -> None:
            self.asked.set()
            self.may_answer.wait(10)
            answer(connection)

        far.behaviour = behaviour
        self._asking = Thread(target=lambda: fetched_keys.published_at(far.url(), kid="one"))

    def __enter__(self) -> None:
        self._asking.start()
        assert self.asked.wait(10)

    def __exit__(self, *_: Any) -> None:
        self.may_answer.set()
        self._asking.join()


def test_no_request_waits_for_keys_that_another_request_fetches(
    application: Application, settings: Any
) -> None:
    with Slow(application):
        text = assertion(application.party.client_id, application.key, issuer=settings.BASE_URL)
        response = ask(Client(), by_assertion(text))
        assert (response.status_code, response.json()["error"]) == (503, "temporarily_unavailable")
        assert response.headers["Retry-After"] == "5"
    assert application.asks(settings) == 200
    assert len(application.far.requests) == 1


def test_the_cached_keys_count_until_another_request_has_fetched_new_ones(
    application: Application, settings: Any, clock: Any
) -> None:
    assert application.asks(settings) == 200
    clock(fetched_keys.KEPT)
    with Slow(application):
        assert application.asks(settings) == 200
        assert application.asks(settings, key=new_key(), kid="two") == 503  # it may be a new key
    assert application.asks(settings, key=new_key(), kid="two") == 401
    assert len(application.far.requests) == 2


def test_a_server_that_is_slow_and_then_fails_gives_its_old_keys_no_second_life(
    application: Application, settings: Any, clock: Any
) -> None:
    assert application.asks(settings) == 200
    clock(fetched_keys.KEPT)
    application.far.behaviour = answers(b"", status="500 Broken")
    for _ in range(2):
        with Slow(application):
            pass
        assert application.asks(settings) == 401
        clock(fetched_keys.FETCHED_EVERY)
    with Slow(application):
        assert application.asks(settings) == 503


def test_a_signed_request_whose_keys_are_being_fetched_is_to_come_again(
    application: Application, settings: Any
) -> None:
    bank = (application.party, application.key)
    request = signed(bank, settings.BASE_URL)
    party, secret = with_secret("Corner Shop", jwks_uri=application.party.jwks_uri)
    pushed = {"request": signed((party, application.key), settings.BASE_URL)}
    with Slow(application):
        page = bring(Client(), bank, request)
        assert (page.status_code, page.headers["Retry-After"]) == (503, "5")
        assert "try again in a few seconds" in page.content.decode()
        response = send(Client(), pushed, **basic(party.client_id, secret))
        assert (response.status_code, response.json()["error"]) == (503, "temporarily_unavailable")
    assert bring(Client(), bank, request).status_code == 303


def test_the_addresses_that_were_used_last_are_remembered(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetched_keys, "MOST", 2)
    far = application.far
    one, two, three = (far.url(f"/{number}") for number in range(3))
    for uri in (one, two, one, three):  # the second was used longest ago
        assert fetched_keys.published_at(uri, kid="one").keys() == {"one"}
    assert len(far.requests) == 3
    for uri in (one, three):
        fetched_keys.published_at(uri, kid="one")
    assert len(far.requests) == 3
    fetched_keys.published_at(two, kid="one")
    assert len(far.requests) == 4


def test_while_too_many_threads_wait_for_applications_nothing_is_fetched_and_no_try_is_lost(
    application: Application, settings: Any
) -> None:
    with ExitStack() as held:
        for called in range(most_for_applications()):
            held.enter_context(waiting_for(called))
        assert application.asks(settings) == 503
        assert application.far.requests == []
    assert application.asks(settings) == 200


def test_keys_that_are_there_count_while_too_many_threads_wait(
    application: Application, settings: Any, clock: Any
) -> None:
    assert application.asks(settings) == 200
    clock(fetched_keys.KEPT)
    with ExitStack() as held:
        for called in range(most_for_applications()):
            held.enter_context(waiting_for(called))
        assert application.asks(settings) == 200
    assert len(application.far.requests) == 1
