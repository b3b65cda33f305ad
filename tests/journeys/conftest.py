"""Whole stories in real Chromium: the service on localhost, the relying party on 127.0.0.1.

Also dozens of holders without a browser at running instances (`load`).
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

import pytest
from django.utils import timezone

from keys.rotation import due_steps
from tests.code_page import enter_code
from tests.journeys.load import JWKS, Load
from tests.people import ALICE, give_session, register
from tests.processes import environment
from tests.relying_party import Answer, RelyingParty
from tests.warm_start import WarmSite
from tools.benchmarks import holders
from tools.benchmarks.browsers import ORIGIN, Browser
from wallet.models import Wallet

SHOWN_WORDS = "You are back at the application"


@dataclass
class Application:
    """The web server of a relying party: answers every path with a page and records the requests."""

    requests: list[str] = field(default_factory=list)
    onwards: str = ""  # path of this application → where it redirects
    script: str = ""  # in every page

    def __post_init__(self) -> None:
        application = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path == "/favicon.ico":
                    self.send_error(404)
                    return
                application.requests.append(self.path)
                if application.onwards and self.path.startswith("/callback"):
                    self.send_response(302)
                    self.send_header("Location", application.onwards)
                    self.end_headers()
                    return
                body = f"<!doctype html><title>App</title><h1>{SHOWN_WORDS}</h1>{application.script}".encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def application() -> Iterator[Application]:
    running = Application()
    yield running
    running.close()


@pytest.fixture
def bank(service: Any, signing_key: Any, application: Application) -> RelyingParty:
    """Acme Bank, registered with `application` as its redirect URI; it verifies answers itself."""
    callback = f"{application.origin}/callback"
    party = register("Acme Bank", callback, purpose="To open your account.")
    return RelyingParty(party.client_id, callback, service.url)


@dataclass
class Holder:
    """A person in front of a browser, who sees only the page."""

    page: Any
    bank: RelyingParty
    email: str = ALICE

    def arrives(self, **changes: Any) -> "Holder":
        """The relying party redirects the browser here."""
        self.page.goto(self.bank.authorize_url(**{"login_hint": self.email, **changes}))
        return self

    def clicks(self, name: str) -> "Holder":
        """Presses the button or follows the link with this name, once the page and its scripts are loaded."""
        self.page.wait_for_load_state()
        target = self.page.get_by_role("button", name=name).or_(self.page.get_by_role("link", name=name))
        target.first.click()
        return self

    def sees(self, heading: str) -> "Holder":
        """Waits until the page has this heading."""
        from playwright.sync_api import expect

        expect(self.page.get_by_role("heading", level=1)).to_contain_text(heading)
        return self

    def is_signed_in(self) -> "Holder":
        """Has signed in to their wallet before. For stories that are not about signing in."""
        give_session(self.page.context, Wallet.objects.get(email=self.email), self.bank.base_url)
        return self

    def signs_in(self) -> "Holder":
        """Requests a code, reads it in the sandbox banner, and enters it."""
        self.clicks("Send me a code")
        self.sees("Enter the code")
        enter_code(self.page)
        return self

    def is_verified_as(self, outcome: str) -> "Holder":
        """Completes the simulated identity check with this outcome."""
        self.sees("Confirm your identity").clicks("Agree and begin")
        return self.picks(outcome)

    def picks(self, outcome: str) -> "Holder":
        self.sees("What should the check find?")
        self.page.locator(f"input[name=outcome][value={outcome}]").check()
        return self.clicks("Submit")

    def comes_back(self) -> Answer:
        """Waits until the browser is back at the relying party; returns the parameters of the answer."""
        self.sees(SHOWN_WORDS)
        return self.bank.read(self.page.url)


@pytest.fixture
def holder(page: Any, bank: RelyingParty) -> Callable[..., Holder]:
    """A person with this e-mail address and a new browser."""

    def holder(email: str = ALICE, page: Any = page) -> Holder:
        return Holder(page, bank, email)

    return holder


@pytest.fixture
def instances(settings: Any, tmp_path: Any, transactional_db: None) -> Iterator[list[int]]:
    """The ports of two instances; this process is a third, which runs the commands."""
    settings.BASE_URL = ORIGIN
    settings.HOLDER_COOKIE_NAME, settings.BROWSER_COOKIE_NAME = "__Host-holder", "__Host-browser"
    due_steps.rotate(now=timezone.now() - timedelta(days=100))
    surroundings = {**environment(settings, tmp_path), "WEB_CONCURRENCY": "2"}
    with ExitStack() as running:
        yield [
            running.enter_context(WarmSite("config.wsgi", surroundings, ready=JWKS)).port
            for _instance in range(2)
        ]


@pytest.fixture
def load(instances: list[int]) -> Load:
    """Three holders, and the relying party to which they present."""
    registered = holders.register()
    asked = count()

    def fetch(url: str) -> bytes:
        with Browser(instances[next(asked) % len(instances)]) as browser:
            answer = browser.get(url.removeprefix(ORIGIN))
        assert answer.status == 200, (url, answer)
        return answer.body

    def party() -> RelyingParty:
        return RelyingParty(registered.client_id, holders.REDIRECT_URI, ORIGIN, fetch=fetch)

    people = [holders.sign_in(f"holder{number}@example.org", timezone.now()) for number in range(3)]
    return Load(instances, [(party(), email, cookies) for email, cookies in people], rest=0.2)
