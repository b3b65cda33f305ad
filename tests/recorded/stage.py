"""Where the table is played: stories with browsers in them, and the text of every exchange."""

import hashlib
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.cookies import SimpleCookie
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from tests.fuzz.gateway import Reply, Wire
from tests.recorded import pages
from tests.recorded.clock import clock
from tests.recorded.masks import Masks

if TYPE_CHECKING:
    from tests.recorded.world import World

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
LONGEST = 20_000  # characters of a body that are kept as they are
Pairs = Sequence[tuple[str, str]]
# Headers that most responses have; the record names only what differs from the usual.
USUAL = (
    "Content-Security-Policy",
    "Cross-Origin-Opener-Policy",
    "Referrer-Policy",
    "Strict-Transport-Security",
    "X-Content-Type-Options",
    "X-Frame-Options",
)


class Stage:
    """One group of stories, which becomes one file."""

    def __init__(self, world: "World", *, usual: dict[str, str], reached: Counter[str]) -> None:
        self.world, self.usual, self.reached = world, usual, reached
        self.lines: list[str] = []
        self.frames = pages.Frames()
        self.masks = Masks()
        self.last_body: list[str] = []
        self.whole: list[tuple[str, bytes]] = []  # for people: every answer as it was, masked as text
        self._browsers = 0

    @contextmanager
    def story(self, title: str) -> Iterator["Browser"]:
        """A section of the file, with a browser that was never here before."""
        self.masks, self.last_body = Masks(), []
        clock.move(minutes=1)
        self.lines += ["", f"## {title}", ""]
        yield self.browser()
        self.world.far_end.taken()

    def browser(self) -> "Browser":
        """Another browser, at a network address of its own."""
        self._browsers += 1
        return Browser(self, f"2001:db8:{self.world.number_of_group:x}:{self._browsers:x}::1")

    def text(self) -> str:
        """The whole file."""
        usual = [f"    {name}: {value}" for name, value in self.usual.items()]
        always = [f"    {name} = {value}" for name, value in self.world.as_always.items()]
        head = ["The usual headers are:", *usual, "", "As always:", *always]
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
        shown: Any = None,
        **headers: str,
    ) -> Reply:
        """One request. `shown`: how the record shows the body, when not as it is."""
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
        if not self.quiet:
            self.stage.reached[self.world.route(method, reply.path or target.partition("?")[0], reply)] += 1
            self.stage.lines += Exchange(self.stage, self, wire, reply, content_type, own).lines()
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


class Exchange:
    """One request and its answer, as lines."""

    def __init__(
        self,
        stage: Stage,
        browser: Browser,
        wire: Wire,
        reply: Reply,
        content_type: str | None,
        own: list[tuple[str, str]],
    ) -> None:
        self.stage, self.wire, self.reply = stage, wire, reply
        self.masks = stage.masks
        self.content_type, self.own = content_type, own
        self.cookies = sorted(browser.cookies)
        self.path, _, self.query = wire.target.partition("?")

    def lines(self) -> list[str]:
        """The request, the answer, and what the service did besides."""
        world = self.stage.world
        return [*self._request(), *self._answer(), *self._calls(), *self._letters(world.letters()), ""]

    def _request(self) -> list[str]:
        said = [f"> {self.wire.method} {self.masks.text(self.path)}"]
        if self.query:
            said += self._pairs(self.query, "?")
        said += [f"  Cookie: {', '.join(self.cookies)}"] if self.cookies else []
        said += [f"  Content-Type: {self.content_type}"] if self.content_type else []
        said += [f"  {name}: {self._header(name, value)}" for name, value in self.own if name != "Origin"]
        if self.wire.body:
            said += self._sent(self.wire.body, self.content_type or "")
        return said

    def _sent(self, body: bytes, content_type: str) -> list[str]:
        text = body.decode("utf-8", "replace")
        if content_type.startswith(FORM):
            without = "&".join(
                each for each in text.split("&") if not each.startswith("csrfmiddlewaretoken=")
            )
            return self._pairs(without, "") if without else []
        if content_type.startswith("application/json"):
            try:
                return self._json(self.masks.json(json.loads(text)), 2)
            except (ValueError, RecursionError):
                pass
        return self._shortened(self.masks.text(text), 2)

    def _pairs(self, text: str, mark: str) -> list[str]:
        found = self.masks.pairs(text)
        if found is None:
            return self._shortened(mark + self.masks.text(text), 2)
        always = [name for name, value in found if self.stage.world.as_always.get(name) == value]
        always = always if len(always) > 2 and len(set(always)) == len(always) else []
        said = [f"  {mark}{', '.join(always)} as always"] if always else []
        for name, value in found:
            if name in always:
                continue
            if isinstance(value, str):
                said += self._shortened(f"{mark}{name} = {_visible(value)}", 2)
            else:
                said += [f"  {mark}{name} =", *self._json(value, 4)]
        return said

    def _header(self, name: str, value: str) -> str:
        scheme, _, token = value.partition(" ")
        if name == "If-None-Match":
            return re.sub('"[0-9a-f]{32}"', "<tag>", value)
        if name == "Authorization":
            return (
                f"{scheme} <{'token' if scheme == 'Bearer' else 'credentials'}>" if token else "<credentials>"
            )
        return self.masks.text(value)

    def _answer(self) -> list[str]:
        reply = self.reply
        if reply.refused:
            return ["< refused by gunicorn"]
        if reply.escaped is not None:
            return [f"< {type(reply.escaped).__name__} escaped"]
        body = [] if self.wire.method == "HEAD" else self._body()  # gunicorn leaves it out
        if len(body) > 5 and body == self.stage.last_body:
            body = ["  (the same body as before)"]
        elif body:
            self.stage.last_body = body
        return [f"< {reply.status}", *self._headers(), *body]

    def _headers(self) -> list[str]:
        headers = sorted(self.reply.headers, key=lambda header: header[0].lower())
        values = dict(headers)
        usual = {name for name, value in self.stage.usual.items() if values.get(name) == value}
        said = []
        if len(usual) >= 3:
            left_out = [name for name in self.stage.usual if name not in values]
            without = f", without {', '.join(left_out)}" if left_out else ""
            said.append(f"  (the usual headers{without})")
        else:
            usual = set()
        for name, value in headers:
            if name not in usual:
                said += self._own_header(name, value)
        return said

    def _own_header(self, name: str, value: str) -> list[str]:
        static = self.path.startswith("/static/")
        if name == "Content-Length":
            fits = self.wire.method != "HEAD" and value == str(len(self.reply.body))
            return [f"  {name}: {'<that of the body>' if fits else '<of a body that is not there>'}"]
        if name == "ETag" and not static and self._is_constant():
            return [f"  {name}: {value}"]
        if name == "ETag" or (static and name == "Last-Modified"):
            weak = "weak " if value.startswith("W/") else ""
            return [f"  {name}: <{weak}{'tag' if name == 'ETag' else 'date'}>"]
        if name == "Set-Cookie":
            return [f"  {name}: {re.sub(r'^([^=]+)=([^;]+)', _cookie, value)}"]
        if name in ("Location", "Content-Location"):
            return self._location(name, value)
        return [f"  {name}: {self.masks.text(value)}"]

    def _is_constant(self) -> bool:
        """Whether the body has nothing in it that differs between runs; then its tag is constant as well."""
        try:
            said = json.loads(self.reply.body)
        except ValueError:
            return False
        return bool(self.masks.json(said) == said)

    def _location(self, name: str, value: str) -> list[str]:
        address, sharp, fragment = value.partition("#")
        path, mark, query = address.partition("?")
        said = [f"  {name}: {self.masks.text(path)}{mark}{sharp}"]
        said += self._pairs(query, "?") if query else []
        return said + (self._pairs(fragment, "#") if fragment else [])

    def _body(self) -> list[str]:
        body, media_type = self.reply.body, (self.reply.header("Content-Type") or "").partition(";")[0]
        if not body:
            return []
        if self.reply.header("Content-Encoding") == "gzip":
            body = zlib.decompress(body, 31)
        if media_type.startswith("image/") or (
            self.path.startswith("/static/") and media_type != "text/html"
        ):
            return [f"  {len(body)} bytes, SHA-256 {hashlib.sha256(body).hexdigest()}"]
        if media_type == "application/pkix-cert":
            return self._json(self.masks.certificate(body), 2)
        text = body.decode("utf-8", "replace")
        if media_type.endswith("json"):
            return self._json_body(json.loads(text))
        masked = self.masks.text(text)
        self.stage.whole.append((f"{self.wire.method} {self.wire.target[:100]}", masked.encode()))
        if media_type == "text/html":
            of_admin = self.path.startswith("/admin/")
            return [f"  {line}" for line in pages.lines(masked, self.stage.frames, of_admin=of_admin)]
        if media_type in ("application/jwt", "application/statuslist+jwt"):
            return self._json(self.masks.token(text), 2)
        return self._shortened(masked, 2)

    def _json_body(self, value: Any) -> list[str]:
        said = self.masks.json(value)
        if len(json.dumps(said)) <= LONGEST:
            return self._json(said, 2)
        return [f"  {line}" for line in _hashes(said)]

    def _json(self, value: Any, indent: int) -> list[str]:
        text = json.dumps(value, indent=1, ensure_ascii=False)
        return [" " * indent + _visible(line) for line in text.splitlines()]

    def _shortened(self, text: str, indent: int) -> list[str]:
        if len(text) > LONGEST:
            return [
                f"{' ' * indent}{len(text)} characters, SHA-256 {hashlib.sha256(text.encode()).hexdigest()}"
            ]
        if len(text) > 600 and len(set(text)) < 20:
            text = f"{text[:60]}… ({len(text)} characters)"
        return [" " * indent + line for line in text.split("\n")]

    def _calls(self) -> list[str]:
        said = []
        for method, path, headers, body in self.stage.world.far_end.taken():
            said.append(f"+ the service calls {method} {self.masks.text(path)} of the relying party")
            sent = {name: value for name, value in headers.items() if name.lower() != "content-length"}
            for name, value in sorted(sent.items()):
                said.append(f"  {name}: {_call_header(name, self.masks.text(value))}")
            if body:
                said += self._sent(body, headers.get("Content-Type", ""))
        return said

    def _letters(self, letters: list[Any]) -> list[str]:
        said = []
        for letter in letters:
            said.append(
                f"+ the service sends an e-mail to {', '.join(letter.to)}: {self.masks.text(letter.subject)}"
            )
            said += self._shortened(self.masks.text(letter.body), 2)
        return said


def encoded(query: Pairs | dict[str, Any]) -> str:
    """As a query or a form; a list as the value repeats the name."""
    return urlencode(query, doseq=True, quote_via=quote, errors="surrogatepass")


def _cookie(found: re.Match[str]) -> str:
    empty = found[2] in ("", '""')
    return f"{found[1]}={found[2] if empty else '<value>'}"


def _call_header(name: str, value: str) -> str:
    return "<signature>" if name.lower() == "webhook-signature" else value


def _visible(text: str) -> str:
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def _hashes(value: dict[str, Any]) -> list[str]:
    """A long JSON document: the hash of each part, so that a diff says which part has changed."""
    said = []
    for name, part in value.items():
        parts = part.items() if isinstance(part, dict) and len(json.dumps(part)) > 2000 else [("", part)]
        for inner, each in parts:
            text = json.dumps(each, sort_keys=True)
            said.append(f"{name} {inner}".strip() + f": {len(text)} characters, SHA-256 {_hash(text)}")
    return said


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
