"""The sign-in of operators: one password check at a time, immediate refusals, and logs."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from structlog.testing import capture_logs

from infra.limits import LimitReachedError
from operators import sign_in as operator_sign_in
from operators.sign_in import TRIES_PER_ACCOUNT, TRIES_PER_BROWSER, TRIES_PER_CLIENT

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("windows_just_begun")]

SIGN_IN = "/admin/login/"
PASSWORD = "a long enough one"
MOST = 20.0  # seconds; an idle machine takes milliseconds


class SlowHasher(PBKDF2PasswordHasher):
    """Hashes a password only when the test allows it, and lets the test wait until it is asked to.

    `encode` runs for every attempt: checking a password calls it, and for an unknown name Django hashes the
    password as well, so that the time does not tell which names exist.
    """

    begun, released = threading.Event(), threading.Event()

    @classmethod
    def hold(cls) -> None:
        """Makes hashing wait until `released` is set."""
        cls.begun, cls.released = threading.Event(), threading.Event()

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        type(self).begun.set()
        assert type(self).released.wait(MOST)
        return super().encode(password, salt, iterations)

    def must_update(self, encoded: str) -> bool:
        return False


def sign_in(client: Client, name: str = "olga", password: str = PASSWORD, **fields: str) -> Any:
    return client.post(SIGN_IN, {"username": name, "password": password, **fields})


@pytest.fixture
def olga(db: None) -> User:
    return User.objects.create_superuser("olga", password=PASSWORD)


# --- One at a time ----------------------------------------------------------------------------------------


@pytest.fixture
def slow(settings: Any) -> Iterator[type[SlowHasher]]:
    settings.PASSWORD_HASHERS = [f"{__name__}.SlowHasher"]
    SlowHasher.released.set()  # until the test calls `hold`; the operator's account is made before
    yield SlowHasher
    SlowHasher.released.set()


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", ["olga", "nobody"])
def test_while_one_password_is_checked_all_other_attempts_are_refused_at_once(
    slow: type[SlowHasher], olga: User, name: str
) -> None:
    answers: list[Any] = []

    def attempt() -> None:
        try:
            answers.append(sign_in(Client(), name))
        finally:
            connection.close()

    slow.hold()
    first = threading.Thread(target=attempt)
    first.start()
    assert slow.begun.wait(MOST)
    others = [threading.Thread(target=attempt) for _ in range(8)]
    for other in others:
        other.start()
    for other in others:
        other.join(MOST)
    refused = list(answers)
    assert Counter(answer.status_code for answer in refused) == {503: 8}
    assert {answer.headers["Retry-After"] for answer in refused} == {"2"}
    assert "Another operator is signing in." in refused[0].content.decode()
    assert TRIES_PER_CLIENT.left("127.0.0.1", now=_now()) == TRIES_PER_CLIENT.most - 9, "each is paid for"
    slow.released.set()
    first.join(MOST)
    assert answers[-1].status_code == (302 if name == "olga" else 200)
    assert sign_in(Client()).status_code == 302


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_known_browser_waits_for_its_turn_and_gets_in(
    slow: type[SlowHasher], olga: User, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("operators.sign_in.LONGEST_WAIT", MOST)
    assert sign_in(client).status_code == 302
    slow.hold()
    answers: dict[str, int] = {}

    def attempt(who: str, browser: Client) -> threading.Thread:
        def post() -> None:
            try:
                answers[who] = sign_in(browser).status_code
            finally:
                connection.close()

        thread = threading.Thread(target=post)
        thread.start()
        return thread

    stranger = attempt("stranger", Client())
    assert slow.begun.wait(MOST)
    known = attempt("known", client)
    while not operator_sign_in._waiting.locked():
        known.join(0.01)
    assert sign_in(client).status_code == 503, "one of them at a time"
    slow.released.set()
    for thread in (stranger, known):
        thread.join(MOST)

    assert answers == {"stranger": 302, "known": 302}


def test_attempts_beyond_the_limit_never_hold_up_an_operator(olga: User, client: Client) -> None:
    """They are refused before they could take the turn of another operator."""
    for _ in range(TRIES_PER_CLIENT.most):
        TRIES_PER_CLIENT.take("127.0.0.1", now=_now())
    with operator_sign_in._checking:
        assert sign_in(client).status_code == 429


def test_an_attempt_that_breaks_lets_the_next_one_in(olga: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(raise_request_exception=False)
    with monkeypatch.context() as broken:
        broken.setattr("django.contrib.auth.forms.authenticate", lambda *args, **said: 1 / 0)
        assert sign_in(client).status_code == 500

    assert sign_in(client).status_code == 302


def _now() -> Any:
    from django.utils import timezone

    return timezone.now()


# --- Limits and logs --------------------------------------------------------------------------------------


def test_after_too_many_attempts_the_status_says_so_and_when_to_come_again(
    olga: User, client: Client
) -> None:
    for _ in range(TRIES_PER_CLIENT.most):
        TRIES_PER_CLIENT.take("127.0.0.1", now=_now())

    refused = sign_in(client)

    assert refused.status_code == 429
    assert 0 < int(refused.headers["Retry-After"]) <= 15 * 60
    assert "Too many attempts." in refused.content.decode()


@pytest.mark.parametrize(
    ("name", "password", "reason", "known"),
    [
        ("olga", "wrong", "invalid_login", True),
        ("nobody", "wrong", "invalid_login", False),
        ("a long enough one", "olga", "invalid_login", False),
        ("holly", PASSWORD, "invalid_login", True),
    ],
)
def test_a_failed_attempt_is_logged_without_what_was_typed(
    olga: User, client: Client, name: str, password: str, reason: str, known: bool
) -> None:
    User.objects.create_user("holly", password=PASSWORD)  # not an operator

    with capture_logs() as logs:
        assert sign_in(client, name, password).status_code == 200

    account = User.objects.get(username=name).pk if known else None
    event = {"operator": account, "reason": reason, "event": "operator_not_signed_in", "log_level": "warning"}
    assert [entry for entry in logs if entry["event"] != "request"] == [event]
    assert not any(typed in str(entry) for entry in logs for typed in (f"'{name}'", password))


def test_attackers_at_their_limit_do_not_lock_an_operator_out_of_a_known_browser(
    olga: User, client: Client
) -> None:
    assert sign_in(client).status_code == 302
    client.post("/admin/logout/")
    for _ in range(TRIES_PER_ACCOUNT.most):
        for limit, subject in ((TRIES_PER_ACCOUNT, "olga"), (TRIES_PER_CLIENT, "127.0.0.1")):
            with suppress(LimitReachedError):
                limit.take(subject, now=_now())

    assert sign_in(Client()).status_code == 429, "a stranger"
    assert sign_in(client, name="mallory").status_code == 429, "the browser is known for its operator only"
    assert sign_in(client, "OLGA", "wrong").status_code == 200
    assert sign_in(client).status_code == 302


def test_guesses_from_a_known_browser_are_counted_too(olga: User, client: Client) -> None:
    assert sign_in(client).status_code == 302
    client.post("/admin/logout/")

    answers = [sign_in(client, password="wrong").status_code for _ in range(TRIES_PER_BROWSER.most + 1)]

    assert answers == [200] * TRIES_PER_BROWSER.most + [429]


def test_an_attempt_beyond_the_limit_is_logged_as_such(olga: User, client: Client) -> None:
    for _ in range(TRIES_PER_ACCOUNT.most):
        TRIES_PER_ACCOUNT.take("olga", now=_now())

    with capture_logs() as logs:
        sign_in(client)

    assert {"operator": olga.pk, "reason": "limit"}.items() <= logs[0].items()


def test_who_signs_in_is_not_logged_as_a_failure(olga: User, client: Client) -> None:
    with capture_logs() as logs:
        assert sign_in(client).status_code == 302

    assert [entry["event"] for entry in logs] == ["request"]


# --- Redirects --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "unsafe",
    ["//evil.example/", "https://evil.example/", "javascript:alert(1)", "\\\\evil.example", "", "///x", "\0"],
)
def test_an_unsafe_next_leads_to_the_index(olga: User, client: Client, unsafe: str) -> None:
    response = client.post(f"{SIGN_IN}?next=", {"username": "olga", "password": PASSWORD, "next": unsafe})

    assert (response.status_code, response.headers["Location"]) == (302, "/admin/")


def test_a_safe_next_is_followed(olga: User, client: Client) -> None:
    assert sign_in(client, next="/admin/auth/user/").headers["Location"] == "/admin/auth/user/"
    assert client.get(f"{SIGN_IN}?next=//evil.example/").headers["Location"] == "/admin/"


@pytest.mark.parametrize("unsafe", ["//evil.example/", "https://evil.example/"])
def test_signing_out_does_not_lead_elsewhere(olga: User, client: Client, unsafe: str) -> None:
    client.force_login(olga)

    response = client.post(f"/admin/logout/?next={unsafe}", {"next": unsafe})

    assert response.status_code == 200 or response.headers["Location"].startswith("/admin/")
