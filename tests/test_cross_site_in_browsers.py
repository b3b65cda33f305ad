"""Chromium, Firefox and WebKit attack the service from pages of other sites, and use its own pages.

Each also as a browser from before Fetch Metadata: its `Sec-Fetch-Site` is taken away before the service sees
it, and what it says in `Origin` is what the real browser says.
"""

import html
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic
from typing import Any
from urllib.parse import quote, unquote

import pytest
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from consent.models import Consent
from presentation.models import Interaction, RelyingParty
from tests.engines import PATIENCE, Chromium, Engine, Firefox, WebKit
from tests.people import register
from tests.presentation.requests.authorization_requests import PATH, asked
from wallet.models import Wallet
from wallet.sign_in import sessions

pytestmark = pytest.mark.usefixtures("signing_key")
REFUSED = "we accept a form only if your browser says that it comes from one of our pages"
SHARE = "#decision [value=share]"


class BeforeFetchMetadata:
    """Middleware that makes of every browser one that does not send `Sec-Fetch-Site`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        assert request.META.pop("HTTP_SEC_FETCH_SITE", None)  # every browser of these tests sends it
        return self.get_response(request)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("chromium", marks=pytest.mark.browser),
        pytest.param("firefox", marks=pytest.mark.firefox),
        pytest.param("webkit", marks=pytest.mark.webkit),
    ],
)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    match request.param:
        case "chromium":
            running: Engine = Chromium(request.getfixturevalue("browser"))
        case "firefox":
            running = Firefox()
        case _:
            running = WebKit()
    yield running
    running.close()


@pytest.fixture(params=["of today", "from before Fetch Metadata"])
def site(
    request: pytest.FixtureRequest, transactional_db: None, live_server: Any, settings: Any
) -> Iterator[str]:
    """The origin of the service."""
    if request.param == "of today":
        settings.BASE_URL = live_server.url
        yield live_server.url
        return
    settings.MIDDLEWARE = [f"{__name__}.BeforeFetchMetadata", *settings.MIDDLEWARE]
    older = LiveServer("localhost")
    settings.BASE_URL = older.url
    yield older.url
    older.stop()


# --- The other site -----------------------------------------------------------------------------------------


class Hostile(BaseHTTPRequestHandler):
    """A page with whatever its address says, and a redirect that repeats a form (307) to where it says."""

    def do_GET(self) -> None:
        kind, _, rest = self.path[1:].partition("?")
        body = unquote(rest).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Referrer-Policy", kind or "unsafe-url")
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(307)
        self.send_header("Location", unquote(self.path.partition("?")[2]))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def hostile() -> Iterator[int]:
    """The port of the other site; its host decides which site it is."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hostile)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()


def form(action: str, more: str = "") -> str:
    fields = '<input name="decision" value="share"><button id="go">Win a prize</button>'
    return f'<form method="post" action="{html.escape(action)}" {more}>{fields}</form>'


def served(host: str, port: int, body: str, policy: str = "unsafe-url") -> str:
    return f"http://{host}:{port}/{policy}?{quote(body)}"


def in_a_sandbox(port: int, target: str) -> str:
    """A frame without an origin, whose script sends the form of the whole window."""
    sends = "<script>document.forms[0].submit()</script>"
    inner = html.escape(form(target, 'target="_top"') + sends)
    allowed = "allow-scripts allow-forms allow-top-navigation"
    return served("127.0.0.1", port, f'<iframe sandbox="{allowed}" srcdoc="{inner}"></iframe>')


# What a page of another site does: the address that the holder opens.
ATTACKS: dict[str, Callable[[int, str], str]] = {
    "another port of our host": lambda port, target: served("localhost", port, form(target)),
    "another site": lambda port, target: served("127.0.0.1", port, form(target)),
    "no referrer": lambda port, target: served("127.0.0.1", port, form(target), "no-referrer"),
    "no referrer, our host": lambda port, target: served("localhost", port, form(target), "no-referrer"),
    "a redirect": lambda port, target: served(
        "127.0.0.1", port, form(f"http://127.0.0.1:{port}/?{quote(target)}")
    ),
    "a redirect by another port": lambda port, target: served(
        "localhost", port, form(f"http://localhost:{port}/?{quote(target)}")
    ),
    "a data address": lambda port, target: f"data:text/html,{quote(form(target))}",
    "a frame without an origin": in_a_sandbox,
}


# --- Stories ------------------------------------------------------------------------------------------------


@dataclass
class Person:
    """Alice in front of one of the browsers."""

    engine: Engine
    site: str

    def is_asked_by(self, party: RelyingParty, callback: str, nonce: str) -> str:
        """Opens the request of a relying party; returns the address to which the answer is sent."""
        given = asked(party, redirect_uri=callback, nonce=nonce)
        query = "&".join(f"{name}={quote(str(value))}" for name, value in given.items())
        self.engine.open(f"{self.site}{PATH}?{query}")
        self.engine.sees("Share these details")
        return self.site + Interaction.objects.get(relying_party=party, outcome="").consent.return_to


@pytest.fixture
def alice_at(engine: Engine, site: str, alice: Wallet) -> Person:
    response = HttpResponse()
    sessions.start(RequestFactory().get("/"), response, alice, now=timezone.now())
    engine.begin(site, {name: morsel.value for name, morsel in response.cookies.items()})
    return Person(engine, site)


@pytest.fixture
def bank(hostile: int, transactional_db: None) -> tuple[RelyingParty, str]:
    """A relying party, and the address to which it wants its answer."""
    callback = f"http://127.0.0.1:{hostile}/callback"
    return register("Acme Bank", callback), callback


def decision() -> str:
    return str(Consent.objects.get().decision)


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_page_of_another_site_decides_for_a_holder(
    alice_at: Person, bank: tuple[RelyingParty, str], hostile: int, attack: str
) -> None:
    engine = alice_at.engine
    target = alice_at.is_asked_by(*bank, "nonce-of-sixteen-characters")

    engine.open(ATTACKS[attack](hostile, target))
    if attack != "a frame without an origin":
        engine.press("#go")

    engine.sees(REFUSED)
    assert decision() == "asked"
    engine.open(target)  # the question is as open as before
    engine.press(SHARE)
    engine.until("return location.hash.startsWith('#vp_token=')")
    assert decision() == "granted"


def test_no_script_of_another_site_decides_for_a_holder(
    alice_at: Person, bank: tuple[RelyingParty, str], hostile: int
) -> None:
    engine = alice_at.engine
    target = alice_at.is_asked_by(*bank, "nonce-of-sixteen-characters")
    for host in ("localhost", "127.0.0.1"):
        script = (
            f"fetch('{target}', {{method: 'POST', mode: 'no-cors', credentials: 'include',"
            " body: new URLSearchParams({decision: 'share'})})"
            ".finally(() => { document.title = 'sent'; })"
        )
        engine.open(served(host, hostile, f"<title>x</title><script>{script}</script>"))
        engine.until("return document.title === 'sent'")
        assert decision() == "asked"


def test_forms_and_scripts_of_our_own_pages_are_answered(alice_at: Person) -> None:
    """Also one that is sent again, because its answer is loaded anew."""
    engine = alice_at.engine
    engine.open(f"{alice_at.site}/wallet/security/address/")
    engine.sees("New e-mail address")
    engine.run("document.querySelector('[name=email]').value = 'no address'")
    engine.press("main form button")
    engine.sees("Enter an e-mail address")

    engine.run("document.title = 'before'")
    engine.reload()

    engine.until("return document.title !== 'before'")
    engine.sees("Enter an e-mail address")
    engine.run(
        "fetch('/wallet/passkeys/options/sign-in/', {method: 'POST'})"
        ".then((response) => { document.title = `answered ${response.status}`; })"
    )
    engine.until("return document.title === 'answered 200'")


def test_a_yes_in_one_tab_leaves_the_question_in_another_open(
    alice_at: Person, bank: tuple[RelyingParty, str], hostile: int
) -> None:
    engine = alice_at.engine
    shop = f"http://127.0.0.1:{hostile}/shop"
    alice_at.is_asked_by(*bank, "nonce-of-the-first-tab")
    go_back = engine.new_tab()
    alice_at.is_asked_by(register("Corner Shop", shop), shop, "nonce-of-the-second-tab")

    engine.press(SHARE)
    engine.until("return location.pathname === '/shop' && location.hash.startsWith('#vp_token=')")
    go_back()
    engine.press(SHARE)
    engine.until("return location.pathname === '/callback' && location.hash.startsWith('#vp_token=')")

    assert set(Consent.objects.values_list("decision", flat=True)) == {"granted"}


def test_going_back_after_a_yes_loads_the_page_anew(
    alice_at: Person, bank: tuple[RelyingParty, str], logged: list[dict[str, Any]]
) -> None:
    """So it shows that the question is answered. WebKit kept the page, and its driver hangs in between."""
    alice_at.is_asked_by(*bank, "nonce-of-sixteen-characters")
    alice_at.engine.press(SHARE)
    alice_at.engine.until("return location.hash.startsWith('#vp_token=')")

    alice_at.engine.back()

    served_anew(logged, "consent/<uuid:consent_id>/", 410)
    assert Interaction.objects.get().outcome == Interaction.Outcome.TOKEN


def test_going_back_after_a_sign_out_loads_the_page_anew(
    alice_at: Person, logged: list[dict[str, Any]]
) -> None:
    engine = alice_at.engine
    engine.open(f"{alice_at.site}/wallet/security/")
    engine.press(".account button")
    engine.sees("You are signed out")

    engine.back()

    served_anew(logged, "wallet/security/", 303)


def test_going_back_after_an_operator_signs_out_loads_the_page_anew(
    engine: Engine, site: str, logged: list[dict[str, Any]]
) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("olga"))
    engine.begin(site, {name: morsel.value for name, morsel in client.cookies.items()})
    engine.open(f"{site}/admin/wallet/wallet/")
    engine.press("#logout-form button")
    engine.until("return location.pathname !== '/admin/wallet/wallet/'")
    engine.sees("Log in again")

    engine.back()

    served_anew(logged, "admin/wallet/wallet/", 302)


def served_anew(logged: list[dict[str, Any]], route: str, status: int) -> None:
    """Waits until the service has answered a request for this page so."""
    ends = monotonic() + PATIENCE
    while monotonic() < ends:
        if any(line.get("route") == route and line.get("status") == status for line in logged):
            return
    raise AssertionError(f"{route} was not requested again")
