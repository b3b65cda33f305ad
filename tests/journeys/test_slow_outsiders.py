"""gunicorn with four threads, and slow relying parties: pages are answered all the while."""

import json
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from http.client import HTTPConnection
from ipaddress import IPv4Address
from itertools import count
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest

from tests.journeys.load import JWKS
from tests.people import register
from tests.presentation.dcql.queries import query
from tests.presentation.requests.authorization_requests import PATH
from tests.processes import environment
from tests.receiver import listening
from tests.sandbox.holder_calls import HOLDER, authorize_url
from tests.warm_start import WarmSite

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]
CALLS = 16
MOST = 20.0  # seconds for a request that takes milliseconds on an idle machine
DEVELOPERS = "/sandbox/relying-parties/"
DIRECT = {"response_mode": "direct_post", "redirect_uri": None}
UNMATCHED = {"credentials": [query({"path": ["given_name"], "values": ["Mallory"]}, id="basic")]}
# What is posted to the relying party: changes of the request, and the heading of the last page.
POSTED: dict[str, tuple[dict[str, Any], str]] = {
    "an answer": ({}, "Done"),
    "values that do not match": ({"scope": None, "dcql_query": json.dumps(UNMATCHED)}, "Done"),
    "a wrong request": ({"nonce": "short"}, "We cannot go on with this request"),
}


class Answer(NamedTuple):
    status: int
    retry_after: str | None
    text: str
    cookies: str


@pytest.fixture
def start(settings: Any, tmp_path: Any) -> Callable[..., Any]:
    """Starts one gunicorn process with four threads; the result's `ask` sends requests to it."""
    settings.BASE_URL = "http://127.0.0.1:8000"  # allows calls to relying parties on this machine

    @contextmanager
    def start(**variables: str) -> Iterator[Callable[..., Answer]]:
        surroundings = environment(settings, tmp_path) | {"BASE_URL": settings.BASE_URL} | variables
        with WarmSite("config.wsgi_with_jobs", surroundings, ready=JWKS) as site:

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
    """Sends many requests at once, each in a thread; `answers` has the answers so far."""

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


@pytest.mark.parametrize(("people", "kind"), [(1, "an answer"), *((CALLS, kind) for kind in POSTED)])
def test_holder_calls_whose_answers_wait_for_a_slow_application_leave_pages_answered(
    start: Any, signing_key: Any, people: int, kind: str
) -> None:
    changes, heading = POSTED[kind]
    bank = register("Acme Bank", "https://bank.example/callback")
    holding, released = threading.Event(), threading.Event()

    def wait() -> None:
        holding.set()
        released.wait(MOST)

    def call(number: int) -> Callable[[], Answer]:
        hint = f"person{number % people}@example.org"
        own = {"nonce": f"nonce-{number:020}", "login_hint": hint, "response_uri": receiver.uri}
        url = authorize_url(bank, **(own | DIRECT | changes))
        return lambda: ask(HOLDER, json.dumps({"authorize_url": url}), content_type="application/json")

    with listening() as receiver, start() as ask:
        bank.response_uris.create(uri=receiver.uri)
        receiver.before = wait
        crowd = Crowd([call(number) for number in range(CALLS)])
        assert holding.wait(MOST)
        page = ask("/")
        meanwhile, posted = crowd.statuses(), len(receiver.posted)
        released.set()
        crowd.join()
        later = call(CALLS)()

    assert page.status == 200
    assert posted == 1, "one call waits"
    assert not meanwhile - Counter({503: CALLS}), "no call that waits has ended"
    assert set(crowd.statuses()) == {200, 503}
    assert {a.retry_after for a in crowd.answers if a.status == 503} == {"1"}
    assert later.status == 200
    assert json.loads(later.text)["page"]["heading"] == heading


def form_at(path: str, ask: Callable[..., Answer]) -> Callable[..., Answer]:
    """Opens a page with a form; the result submits it with these fields from a client address."""
    page = ask(path)
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)  # of a form of the admin
    headers = {"cookie": page.cookies, "content_type": "application/x-www-form-urlencoded"}
    headers["sec_fetch_site"] = "same-origin"

    def send(number: int, **fields: str) -> Answer:
        body = urlencode(({"csrfmiddlewaretoken": token[1]} if token else {}) | fields)
        return ask(path, body, x_forwarded_for=str(IPv4Address("10.0.0.0") + number), **headers)

    return send


@contextmanager
def silent_server() -> Iterator[tuple[int, list[socket.socket], threading.Event]]:
    """A server that accepts connections and never answers: its port, its connections, the first event."""
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


def test_a_silent_mail_server_holds_no_request(start: Any, signing_key: Any) -> None:
    with silent_server() as (port, taken, connected), start(EMAIL_URL=f"smtp://127.0.0.1:{port}") as ask:
        send = form_at(DEVELOPERS, ask)
        crowd = Crowd([partial(send, number, email=f"dev{number}@example.org") for number in range(CALLS)])
        crowd.join()
        assert connected.wait(MOST)
        held = len(taken)

    assert crowd.statuses() == {200: CALLS}
    assert held == 1, "one thread in the background talks to the mail server"


def test_two_slow_applications_and_a_silent_mail_server_together_leave_a_thread_for_pages(
    start: Any, signing_key: Any
) -> None:
    """A request that would have to wait as well gets a 503 at once."""
    with (
        silent_server() as one,
        silent_server() as other,
        silent_server() as mail,
        start(EMAIL_URL=f"smtp://127.0.0.1:{mail[0]}") as ask,
    ):
        send = form_at(DEVELOPERS, ask)

        def fetched_from(port: int) -> Callable[[], Answer]:
            """Brings a request that the service must fetch from this port."""
            uri = f"http://127.0.0.1:{port}/request"
            return partial(ask, f"{PATH}?{urlencode({'client_id': clients[port], 'request_uri': uri})}")

        clients = {
            port: register(f"Shop {port}", request_uri_prefix=f"http://127.0.0.1:{port}/").client_id
            for port in (one[0], other[0])
        }
        waiting = [Crowd([fetched_from(port)]) for port in clients]
        assert all(connected.wait(MOST) for _port, _taken, connected in (one, other))
        fetches = Crowd([fetched_from(port) for port in clients for _ in range(CALLS // 2)])
        e_mails = Crowd([partial(send, number, email=f"dev{number}@example.org") for number in range(CALLS)])
        assert mail[2].wait(MOST)
        page = ask("/")
        still_waiting = not any(crowd.answers for crowd in waiting)
        for connection in one[1] + other[1] + mail[1]:
            connection.close()
        for crowd in (*waiting, fetches, e_mails):
            crowd.join()

    assert page.status == 200
    assert still_waiting
    fetched = [answer for crowd in (*waiting, fetches) for answer in crowd.answers]
    had_a_place = [answer for answer in fetched if answer.status == 400]  # the relying party closed it
    assert len(had_a_place) == len(one[1] + other[1])
    assert {answer.retry_after for answer in fetched if answer not in had_a_place} == {"1"}
    assert {answer.status for answer in fetched} == {400, 503}
    assert e_mails.statuses() == {200: CALLS}


def test_holders_pages_answer_while_the_operators_sign_in_is_flooded(start: Any, signing_key: Any) -> None:
    """The service answers more pages than password checks at once, so no page waits for several of them."""
    answers: list[Answer] = []
    numbers, stopped = count(), threading.Event()

    def flood() -> None:
        while not stopped.is_set():
            number = next(numbers)  # so that no limit stops it
            answers.append(send(number, username=f"operator{number}", password="a wrong one"))

    with start() as ask:
        send = form_at("/admin/login/", ask)
        attackers = [threading.Thread(target=flood, daemon=True) for _ in range(6)]
        for attacker in attackers:
            attacker.start()
        deadline = time.monotonic() + MOST
        while not any(answer.status == 503 for answer in answers) and time.monotonic() < deadline:
            time.sleep(0.01)
        before = len(answers)
        pages = [ask("/wallet/sign-in/").status for _ in range(20)]
        meanwhile = Counter(answer.status for answer in answers[before:])
        stopped.set()
        for attacker in attackers:
            attacker.join(60)

    assert pages == [200] * len(pages)
    assert meanwhile[200] < len(pages)
    assert {(answer.status, answer.retry_after) for answer in answers} == {(200, None), (503, "2")}
