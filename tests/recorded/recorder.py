"""Records a group: its scenarios, their browsers, and the text of every exchange."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.cookies import SimpleCookie
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from tests.recorded import pages
from tests.recorded.clock import clock
from tests.recorded.exchanges import LEGEND, Answer, request_lines
from tests.recorded.formatting import FORM, JSON, Formatter
from tests.recorded.masks import Masks
from tools.fuzz.gateway import Reply, Wire

if TYPE_CHECKING:
    from tests.recorded.installation import Installation

Pairs = Sequence[tuple[str, str]]


class Recorder:
    """One group of scenarios, which becomes one file."""

    def __init__(self, service: "Installation", *, usual: dict[str, str], reached: Counter[str]) -> None:
        self.service, self.usual, self.reached = service, usual, reached
        self.blocks: list[str] = []
        self.cookies: dict[str, str] = {}  # what is usual about each
        self.frames = pages.Frames()
        self.formatter = Formatter(Masks(), service.as_always)
        self.whole: list[tuple[str, str]] = []  # for people: every long answer, masked
        self._browsers = 0

    @contextmanager
    def scenario(self, title: str) -> Iterator["Browser"]:
        """A section of the file, with a new browser."""
        self.formatter = Formatter(Masks(), self.service.as_always)
        clock.next(minutes=30)
        self.blocks.append(f"## {title}")
        yield self.browser()
        self.service.party_server.taken()

    def browser(self) -> "Browser":
        """Another browser, at a network address of its own."""
        self._browsers += 1
        return Browser(self, f"2001:db8:{self.service.number_of_group:x}:{self._browsers:x}::1")

    def calls(self) -> None:
        """Record what the service has sent to relying parties without a request."""
        calls = self.formatter.calls(self.service.party_server.taken())
        self.blocks.append("\n".join([*calls, "(that is all that is sent)"]))

    def exchange(self, wire: Wire, reply: Reply, cookies: list[str], own: list[tuple[str, str]]) -> None:
        """Record a request, its answer, and the calls and e-mails it caused. `own`: its special headers."""
        messages, formatter = self.service.messages(), self.formatter
        self.reached[self.service.route(wire, reply)] += 1
        lines = request_lines(wire, cookies, own, formatter)
        lines += Answer(self, wire, reply, formatter).lines()
        lines += [*formatter.calls(self.service.party_server.taken()), *formatter.messages(messages)]
        self.blocks.append("\n".join(lines))

    def text(self) -> str:
        """The whole file."""
        usual = [f"    {name}: {value}" for name, value in self.usual.items()]
        always = [f"    {name} = {value}" for name, value in self.service.as_always.items()]
        cookies = [f"    {name}: {usual}" for name, usual in sorted(self.cookies.items())]
        head = [["## How to read this"], LEGEND, ["The usual headers:", *usual], ["As always:", *always]]
        head += [["## Cookies"], ["Usually:", *cookies]]
        return "\n\n".join(["\n".join(lines) for lines in head] + self.blocks + self.frames.blocks()) + "\n"


class Browser:
    """A client with its own cookies and network address. `quiet` requests are sent and not recorded."""

    def __init__(self, recorder: Recorder, address: str) -> None:
        self.recorder, self.service, self.address = recorder, recorder.service, address
        self.cookies: dict[str, str] = {}
        self.quiet = False

    def send(
        self,
        method: str,
        target: str,
        body: str | bytes = b"",
        content_type: str | None = None,
        **headers: str,
    ) -> Reply:
        """One request, recorded unless this browser is quiet."""
        assert target.startswith("/"), target  # otherwise the scenario expected another page
        clock.move(seconds=1)
        said = [("Host", self.service.host), ("X-Forwarded-For", self.address)]
        said += [("X-Forwarded-Proto", "https")] if self.service.https else []
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        said += [("Cookie", cookies)] if cookies else []
        said += [("Content-Type", content_type)] if content_type else []
        own = [(name.replace("_", "-"), value) for name, value in headers.items()]
        octets = body.encode() if isinstance(body, str) else body
        replaced = {name.lower() for name, _ in own}
        wire = Wire(
            method, target, (*(pair for pair in said if pair[0].lower() not in replaced), *own), octets
        )
        self.service.party_server.taken()
        reply = self.service.gateway.send(wire)
        if self.quiet:
            self.service.messages()
        else:
            self.recorder.exchange(wire, reply, list(self.cookies), own)
        self._remember(reply)
        return reply.at_its_own_address()

    def get(self, path: str, query: Pairs | dict[str, Any] | None = None, **headers: str) -> Reply:
        """GET with these pairs as the query."""
        return self.send("GET", path + (f"?{encoded(query)}" if query else ""), **headers)

    def post(self, path: str, form: Pairs | dict[str, Any] = (), **headers: str) -> Reply:
        """A form as a browser sends it; in the admin with its CSRF token."""
        pairs = list(form.items() if isinstance(form, dict) else form)
        if path.startswith("/admin/"):
            secret = self.cookies.setdefault(self.service.csrf_cookie, "a" * 32)
            pairs.append(("csrfmiddlewaretoken", secret))
        headers = {"Origin": self.service.base_url, "Sec_Fetch_Site": "same-origin"} | headers
        return self.send("POST", path, encoded(pairs), FORM, **headers)

    def submit(self, path: str, form: Pairs | dict[str, Any], **headers: str) -> Reply:
        """A form as a machine sends it."""
        return self.send("POST", path, encoded(form), FORM, **headers)

    def submit_json(self, path: str, value: Any, **headers: str) -> Reply:
        """JSON as a machine sends it; a text is sent as it is."""
        return self.send(
            "POST", path, value if isinstance(value, str) else json.dumps(value), JSON, **headers
        )

    def follow(self, reply: Reply) -> Reply:
        """Follow redirects within the service, up to a page or an answer."""
        for _ in range(8):
            place = reply.location.removeprefix(self.service.base_url)
            if not place.startswith("/") or "vp_token=" in place or "error=" in place:
                break
            reply = self.get(place.partition("#")[0])
        return reply

    @contextmanager
    def quietly(self) -> Iterator[None]:
        """Do not record these requests, because another scenario records them."""
        before, self.quiet = self.quiet, True
        yield
        self.quiet = before

    def _remember(self, reply: Reply) -> None:
        for name, value in reply.headers:
            if name.lower() != "set-cookie":
                continue
            for cookie, morsel in SimpleCookie(value).items():
                if morsel["max-age"] == "0" or not morsel.value:
                    self.cookies.pop(cookie, None)
                else:
                    self.cookies[cookie] = morsel.value


def encoded(query: Pairs | dict[str, Any]) -> str:
    """The encoded query or form; a list as the value repeats the name."""
    return urlencode(query, doseq=True, quote_via=quote, errors="surrogatepass")
