"""gunicorn with four threads, and outside parties that take their time: pages answer all the while."""

import json
import re
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest

from tests.benchmarks.sites import Site
from tests.journeys.load import JWKS
from tests.people import register
from tests.presentation.test_holder import HOLDER, authorize_url
from tests.processes import environment
from tests.receiver import listening

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]
CALLS = 16
MOST = 20.0  # seconds for what takes milliseconds on an idle machine
DEVELOPERS = "/sandbox/relying-parties/"
DIRECT = {"response_mode": "direct_post", "redirect_uri": None}


class Answer(NamedTuple):
    status: int
    retry_after: str | None
    text: str
    cookies: str


@pytest.fixture
def start(settings: Any, tmp_path: Any) -> Callable[..., Any]:
    """Starts one gunicorn process with four threads; `ask` in what it gives sends requests there."""
    settings.BASE_URL = "http://127.0.0.1:8000"  # relying applications on this machine may be called

    @contextmanager
    def start(**variables: str) -> Iterator[Callable[..., Answer]]:
        surroundings = environment(settings, tmp_path) | {"BASE_URL": settings.BASE_URL} | variables
        with Site("config.wsgi", surroundings, ready=JWKS) as site:

            def ask(path: str, body: str | None = None, **headers: str) -> Answer:
                sent = {"Host": "127.0.0.1:8000"} | {name.replace("_", "-"): v for name, v in headers.items()}
                with closing(HTTPConnection("127.0.0.1", site.port, timeout=60)) as connection:
                    connection.request("GET" if body is None else "POST", path, body, sent)
                    with connection.getresponse() as response:
                        text, received = response.read().decode(), response.headers
                cookies = "; ".join(c.partition(";")[0] for c in received.get_all("Set-Cookie", []))
                return Answer(response.status, received["Retry-After"], text, cookies)

            yield ask

    return start


class Crowd:
    """Many requests at once, each in a thread; `answers` has those that are answered."""

    def __init__(self, requests: list[Callable[[], Answer]]) -> None:
        self.answers: list[Answer] = []
        self._threads = [
            threading.Thread(target=lambda ask=ask: self.answers.append(ask()), daemon=True)
            for ask in requests
        ]
        for thread in self._threads:
            thread.start()

    def statuses(self) -> Counter[int]:
        return Counter(answer.status for answer in list(self.answers))

    def join(self) -> None:
        for thread in self._threads:
            thread.join(timeout=60)
        assert len(self.answers) == len(self._threads)


@pytest.mark.parametrize("people", [1, CALLS])
def test_holder_calls_whose_answers_wait_for_a_slow_application_leave_pages_answered(
    start: Any, signing_key: Any, people: int
) -> None:
    bank = register("Acme Bank", "https://bank.example/callback")
    holding, released = threading.Event(), threading.Event()

    def wait() -> None:
        holding.set()
        released.wait(MOST)

    def call(number: int) -> Callable[[], Answer]:
        hint = f"person{number % people}@example.org"
        url = authorize_url(
            bank, nonce=f"nonce-{number:020}", login_hint=hint, response_uri=receiver.uri, **DIRECT
        )
        return lambda: ask(HOLDER, json.dumps({"authorize_url": url}), content_type="application/json")

    with listening() as receiver, start() as ask:
        bank.response_uris.create(uri=receiver.uri)
        receiver.before = wait
        crowd = Crowd([call(number) for number in range(CALLS)])
        assert holding.wait(MOST)
        page = ask("/")
        meanwhile = crowd.statuses()
        released.set()
        crowd.join()
        later = call(CALLS)()

    assert page.status == 200
    assert not meanwhile - Counter({503: CALLS}), "no call that waits has ended"
    assert set(crowd.statuses()) == {200, 503}
    assert {a.retry_after for a in crowd.answers if a.status == 503} == {"1"}
    assert later.status == 200
    assert json.loads(later.text)["page"]["heading"] == "Done"


@contextmanager
def silent_mail_server() -> Iterator[tuple[int, list[socket.socket], threading.Event]]:
    """Takes connections and says nothing: its port, the connections, and an event of the first."""
    taken: list[socket.socket] = []
    connected = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    taken.append(listener.accept()[0])
                    connected.set()

        threading.Thread(target=serve, daemon=True).start()
        try:
            yield listener.getsockname()[1], taken, connected
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            for connection in taken:
                connection.close()


def test_a_silent_mail_server_holds_two_threads_and_pages_answer(start: Any, signing_key: Any) -> None:
    with silent_mail_server() as (port, taken, connected), start(EMAIL_URL=f"smtp://127.0.0.1:{port}") as ask:
        form = ask(DEVELOPERS)
        found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', form.text)
        assert found

        def sign_in(number: int) -> Callable[[], Answer]:
            body = urlencode({"email": f"dev{number}@example.org", "csrfmiddlewaretoken": found[1]})
            kind, address = "application/x-www-form-urlencoded", f"192.0.2.{number}"
            return lambda: ask(
                DEVELOPERS, body, cookie=form.cookies, content_type=kind, x_forwarded_for=address
            )

        crowd = Crowd([sign_in(number) for number in range(CALLS)])
        assert connected.wait(MOST)
        page = ask("/")
        held = len(taken)
        for connection in taken:
            connection.close()
        crowd.join()

    assert page.status == 200
    assert held <= 2
    assert crowd.statuses() == {503: CALLS}
    assert all(answer.retry_after for answer in crowd.answers)
