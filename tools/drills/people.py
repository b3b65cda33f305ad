"""Holders who present while something fails, and go on as people do: they reload, and follow the page."""

import html
import re
import secrets
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from threading import Event, Thread
from time import monotonic, sleep

from tests.relying_party import Answer as Given
from tests.relying_party import RelyingParty
from tools.benchmarks.browsers import Answer, Browser

PAUSE = 0.3  # seconds before a person tries again
GIVES_UP = 30.0  # seconds after which a person who sees no end is stuck
_MAIN = re.compile(r"<main\b.*</main>", re.DOTALL)
_FORM = re.compile(r'<form\b[^>]*\baction="([^"]+)"[^>]*>(.*?)</form>', re.DOTALL)
_HIDDEN = re.compile(r'<input\b[^>]*\btype="hidden"[^>]*\bname="([^"]+)"[^>]*\bvalue="([^"]*)"')
_LINK = re.compile(r'<a\b[^>]*\bhref="([^"]*)"')
_HEADING = re.compile(r"<h1[^>]*>(.*?)</h1>", re.DOTALL)
_CONTEXT = ssl.create_default_context()
_CONTEXT.check_hostname, _CONTEXT.verify_mode = False, ssl.CERT_NONE


class Outcome(Enum):
    """How a flow ended for the person."""

    ANSWERED = "the relying party has the answer"
    GOES_ON = "the person was told how to go on, or the relying party was"
    STUCK = "neither"


@dataclass
class Flow:
    """One presentation from the request to its end, and what the person met."""

    email: str
    nonce: str
    begun: float
    ended: float = 0.0
    outcome: Outcome = Outcome.STUCK
    troubles: list[str] = field(default_factory=list)
    server_errors: int = 0  # answers with 5xx
    bare: int = 0  # of them those without a page of ours
    token: str = ""  # the presentation that the relying party received
    last_page: str = ""  # status and heading of the page on which the flow ended

    @property
    def clean(self) -> bool:
        return self.outcome is Outcome.ANSWERED and not self.troubles


class Window(Browser):
    """A browser that comes by TLS through nginx, from an address of its own."""

    def __init__(self, port: int, cookies: dict[str, str], *, host: str, source: str = "") -> None:
        self._source = source
        super().__init__(port, cookies, host=host)

    def _connect(self, port: int) -> socket.socket:
        source = (self._source, 0) if self._source else None
        plain = socket.create_connection(("127.0.0.1", port), GIVES_UP, source_address=source)
        return _CONTEXT.wrap_socket(plain, server_hostname="localhost")


@dataclass(frozen=True)
class Step:
    """The next request of the browser; with `fields` it sends a form, from the page `referer`."""

    path: str
    fields: dict[str, str] | None = None
    referer: str = ""


class Person:
    """A signed-in holder whose browser keeps its cookies."""

    def __init__(
        self, party: RelyingParty, email: str, cookies: dict[str, str], *, port: int, source: str = ""
    ) -> None:
        self.party, self.email, self.cookies = party, email, dict(cookies)
        self._port, self._source = port, source
        self._host = party.base_url.removeprefix("https://")

    def present(self) -> Flow:
        """One whole flow. Raises nothing that the service or the fault may cause."""
        nonce = secrets.token_urlsafe(24)
        address = self.party.authorize_url(login_hint=self.email, nonce=nonce)
        flow = Flow(self.email, nonce, monotonic())
        step: Step | None = Step(self._path(address))
        while step is not None and monotonic() < flow.begun + GIVES_UP:
            step = self._try(step, flow)
        flow.ended = monotonic()
        return flow

    def submit(self, path: str) -> Answer:
        """Opens a page and sends its form."""
        main = _MAIN.search(self._send(Step(path)).body.decode())
        hidden = {name: html.unescape(value) for name, value in _HIDDEN.findall(main[0] if main else "")}
        return self._send(Step(path, hidden, path))

    def _try(self, step: Step, flow: Flow) -> Step | None:
        try:
            answer = self._send(step)
        except OSError as error:  # the browser's own page: the connection broke
            flow.troubles.append(type(error).__name__)
            sleep(PAUSE)
            return step
        if answer.status >= 500:
            flow.troubles.append(str(answer.status))
            flow.server_errors += 1
            flow.last_page = _summary(answer)
            flow.bare += b"<main" not in answer.body
            sleep(PAUSE)
            return self._as_the_page_says(answer, step)
        if answer.location is not None:
            return self._follow(answer.location, flow)
        return self._read(answer, step, flow)

    def _send(self, step: Step) -> Answer:
        with Window(self._port, self.cookies, host=self._host, source=self._source) as window:
            try:
                if step.fields is None:
                    return window.get(step.path)
                return window.post(step.path, step.fields, Referer=f"{self.party.base_url}{step.referer}")
            finally:
                self.cookies = window.cookies

    def _as_the_page_says(self, answer: Answer, step: Step) -> Step:
        """After a form the page links to where one sees what was saved; otherwise the person reloads."""
        main = _MAIN.search(answer.body.decode(errors="replace"))
        links = [html.unescape(link) for link in _LINK.findall(main[0])] if main else []
        ours = [self._path(link) for link in links if link.startswith((self.party.base_url, "/"))]
        return Step(ours[0]) if step.fields is not None and ours else step

    def _follow(self, location: str, flow: Flow) -> Step | None:
        path = self._path(location)
        if path.startswith("/"):
            return Step(path)
        given: Given = self.party.read(location)
        flow.outcome = Outcome.ANSWERED if given.presentation else Outcome.GOES_ON
        flow.token = given.presentation or ""
        flow.last_page = "" if given.presentation else f"error={given.error}"
        return None

    def _read(self, answer: Answer, step: Step, flow: Flow) -> Step | None:
        """Says yes on the consent page. Any other page has to say how to go on."""
        main = _MAIN.search(answer.body.decode(errors="replace"))
        forms = _FORM.findall(main[0]) if main else []
        for action, inside in forms:
            if 'name="decision"' in inside and 'value="share"' in inside:
                hidden = {name: html.unescape(value) for name, value in _HIDDEN.findall(inside)}
                return Step(self._path(html.unescape(action)), hidden | {"decision": "share"}, step.path)
        flow.last_page = _summary(answer)
        flow.troubles.append(str(answer.status))
        ways = forms or (_LINK.findall(main[0]) if main else [])
        flow.outcome = Outcome.GOES_ON if ways else Outcome.STUCK
        return None

    def _path(self, address: str) -> str:
        return address.removeprefix(self.party.base_url)


def _summary(answer: Answer) -> str:
    heading = _HEADING.search(answer.body.decode(errors="replace"))
    text = html.unescape(re.sub("<[^>]+>", "", heading[1])).strip() if heading else "without a heading"
    return f"{answer.status} {text}"


class Crowd:
    """People who present one time after the other until the block ends; `flows` has the flows so far."""

    def __init__(self, people: Sequence[Person], *, pause: float = 0.05) -> None:
        self.flows: list[Flow] = []
        self.failed: list[BaseException] = []  # errors of the drill itself, and answers that cannot be read
        self._people, self._pause, self._over = people, pause, Event()

    def __enter__(self) -> "Crowd":
        self._threads = [Thread(target=self._live, args=(one,), daemon=True) for one in self._people]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(2 * GIVES_UP)

    def _live(self, person: Person) -> None:
        while not self._over.is_set() and not self.failed:
            try:
                self.flows.append(person.present())
            except BaseException as error:  # noqa: BLE001 - the drill tells of it
                self.failed.append(error)
            self._over.wait(self._pause)

    def wait_for(self, flows: int, *, seconds: float = 60.0) -> None:
        """Waits until so many more flows have been answered."""
        wanted, deadline = self._answered() + flows, monotonic() + seconds
        while self._answered() < wanted and not self.failed and monotonic() < deadline:
            sleep(0.02)

    def _answered(self) -> int:
        return sum(flow.outcome is Outcome.ANSWERED for flow in list(self.flows))
