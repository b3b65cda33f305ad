"""Where the table is played: stories with browsers in them, and the text of every exchange."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.cookies import SimpleCookie
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from tests.fuzz.gateway import Reply, Wire
from tests.recorded import pages
from tests.recorded.clock import clock
from tests.recorded.exchanges import LEGEND, Answer, request_lines
from tests.recorded.masks import Masks
from tests.recorded.written import FORM, JSON, Written

if TYPE_CHECKING:
    from tests.recorded.world import World

Pairs = Sequence[tuple[str, str]]


class Stage:
    """One group of stories, which becomes one file."""

    def __init__(self, world: "World", *, usual: dict[str, str], reached: Counter[str]) -> None:
        self.world, self.usual, self.reached = world, usual, reached
        self.lines: list[str] = []
        self.cookies: dict[str, str] = {}  # what is usual about each
        self.frames = pages.Frames()
        self.written = Written(Masks(), world.as_always)
        self.last_body: list[str] = []
        self.whole: list[tuple[str, str]] = []  # for people: every long answer, masked
        self._browsers = 0

    @contextmanager
    def story(self, title: str) -> Iterator["Browser"]:
        """A section of the file, with a browser that was never here before."""
        self.written, self.last_body = Written(Masks(), self.world.as_always), []
        clock.next(minutes=30)
        self.lines += ["", f"## {title}", ""]
        yield self.browser()
        self.world.far_end.taken()

    def browser(self) -> "Browser":
        """Another browser, at a network address of its own."""
        self._browsers += 1
        return Browser(self, f"2001:db8:{self.world.number_of_group:x}:{self._browsers:x}::1")

    def calls(self) -> None:
        """Record what the service has sent to relying parties without a request."""
        self.lines += [*self.written.calls(self.world.far_end.taken()), "(that is all that is sent)", ""]

    def exchange(self, wire: Wire, reply: Reply, cookies: list[str], own: list[tuple[str, str]]) -> None:
        """Record a request, its answer, and what the service did besides; `own` are its special headers."""
        letters, written = self.world.letters(), self.written
        self.reached[self.world.route(wire, reply)] += 1
        self.lines += request_lines(wire, cookies, own, written)
        self.lines += Answer(self, wire, reply, written).lines()
        self.lines += [*written.calls(self.world.far_end.taken()), *written.letters(letters), ""]

    def text(self) -> str:
        """The whole file."""
        usual = [f"    {name}: {value}" for name, value in self.usual.items()]
        always = [f"    {name} = {value}" for name, value in self.world.as_always.items()]
        head = ["The usual headers are:", *usual, "", "As always:", *always]
        cookies = [f"    {name}: {usual}" for name, usual in sorted(self.cookies.items())]
        head += ["", "Cookies are usually:", *cookies, "", *LEGEND]
        return "\n".join([*head, *self.lines, *self.frames.lines(), ""])


class Browser:
    """Cookies and a network address of its own. `quiet` requests are sent and not recorded."""

    def __init__(self, stage: Stage, address: str) -> None:
        self.stage, self.world, self.address = stage, stage.world, address
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
        assert target.startswith("/"), target  # otherwise a story has lost its way
        clock.move(seconds=1)
        said = [("Host", self.world.host), ("X-Forwarded-For", self.address)]
        said += [("X-Forwarded-Proto", "https")] if self.world.https else []
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        said += [("Cookie", cookies)] if cookies else []
        said += [("Content-Type", content_type)] if content_type else []
        own = [(name.replace("_", "-"), value) for name, value in headers.items()]
        octets = body.encode() if isinstance(body, str) else body
        replaced = {name.lower() for name, _ in own}
        wire = Wire(
            method, target, (*(pair for pair in said if pair[0].lower() not in replaced), *own), octets
        )
        self.world.far_end.taken()
        reply = self.world.gateway.send(wire)
        if self.quiet:
            self.world.letters()
        else:
            self.stage.exchange(wire, reply, list(self.cookies), own)
        self._remember(reply)
        return reply

    def get(self, path: str, query: Pairs | dict[str, Any] | None = None, **headers: str) -> Reply:
        """GET with these pairs as the query."""
        return self.send("GET", path + (f"?{encoded(query)}" if query else ""), **headers)

    def post(self, path: str, form: Pairs | dict[str, Any] = (), **headers: str) -> Reply:
        """A form as a browser sends it, with the token against forgery."""
        secret = self.cookies.setdefault(self.world.csrf_cookie, "a" * 32)
        pairs = list(form.items() if isinstance(form, dict) else form)
        headers = {"Origin": self.world.base_url} | headers
        return self.send("POST", path, encoded([*pairs, ("csrfmiddlewaretoken", secret)]), FORM, **headers)

    def submit(self, path: str, form: Pairs | dict[str, Any], **headers: str) -> Reply:
        """A form as a machine sends it."""
        return self.send("POST", path, encoded(form), FORM, **headers)

    def submit_json(self, path: str, value: Any, **headers: str) -> Reply:
        """JSON as a machine sends it; a text is sent as it is."""
        return self.send(
            "POST", path, value if isinstance(value, str) else json.dumps(value), JSON, **headers
        )

    def follow(self, reply: Reply) -> Reply:
        """Redirects within the service, to the page or to the answer."""
        for _ in range(8):
            place = reply.location.removeprefix(self.world.base_url)
            if not place.startswith("/") or "vp_token=" in place or "error=" in place:
                break
            reply = self.get(place.partition("#")[0])
        return reply

    @contextmanager
    def quietly(self) -> Iterator[None]:
        """What happens meanwhile is not recorded, because another story does."""
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
    """As a query or a form; a list as the value repeats the name."""
    return urlencode(query, doseq=True, quote_via=quote, errors="surrogatepass")
