"""One request and its answer as lines of the record."""

import hashlib
import json
import re
import zlib
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from django.utils.http import http_date

from tests.recorded import pages
from tests.recorded.clock import clock
from tests.recorded.formatting import APART, FORM, Formatter, folded
from tests.recorded.masks import Masks
from tools.fuzz.gateway import Reply, Wire

if TYPE_CHECKING:
    from tests.recorded.recorder import Recorder

# Headers that most responses have; the head of the file names them, and a scenario only what differs.
USUAL = (
    "Content-Security-Policy",
    "Cross-Origin-Opener-Policy",
    "Referrer-Policy",
    "Strict-Transport-Security",
    "X-Content-Type-Options",
    "X-Frame-Options",
)
OF_FORMS = ("Origin", "Sec-Fetch-Site")  # what browsers say of each form
# Samples that the service counts: they say how long requests took, and how many scenarios came before.
_COUNTED = re.compile(
    r"^(http_request_duration_seconds|authorization_|sign_ins|consent_questions)\w*\{.*\n", re.MULTILINE
)
_ID = re.compile("[0-9a-f]{32}")
_NEVER = "max-age=0, no-cache, no-store, must-revalidate, private"
# The first words of an answer, and the headers that they stand for.
_SHORT = {
    ("Content-Type", "text/html; charset=utf-8"): "page",
    ("Content-Type", "application/json"): "JSON",
    ("Content-Language", "en-gb"): "English",
    ("Content-Language", "es"): "Spanish",
    ("Cache-Control", "no-store"): "no-store",
    ("Vary", "Cookie"): "Vary: Cookie",
}
LEGEND = (
    "> a request. < status and headers of its answer. | the body. + what the service sends because of it.",
    "Several requests before one answer: each is answered like this.",
    f"The Content-Type of a request with a body is {FORM} where it is not named.",
    "Content-Length is that of the body where it is not named.",
    "Every answer of Django has an X-Request-ID of 32 characters.",
    "An answer has the usual headers where it does not say otherwise.",
    f"“never cached” is Cache-Control: {_NEVER}, and Expires of this moment.",
    *(f"“{word}” is {name}: {value}" for (name, value), word in _SHORT.items() if ":" not in word),
    "A «name» stands before a body that comes again: the same, or with other lines. Its title is line 1.",
    "‹now+600› in JSON is the time 600 seconds after the answer.",
    "“‹this address›” is the path and query of the request.",
)


def request_lines(
    wire: Wire, cookies: list[str], own: list[tuple[str, str]], formatter: Formatter
) -> list[str]:
    """The lines of a request. `own`: the headers that only this request has."""
    masks = formatter.masks
    path, _, query = wire.target.partition("?")
    content_type = next((value for name, value in wire.headers if name == "Content-Type"), "")
    said = [f"{wire.method} {masks.text(path)}"]
    said += [f"Cookie: {', '.join(sorted(plain(name) for name in cookies))}"] if cookies else []
    said += [f"Content-Type: {content_type}"] if content_type not in ("", FORM) else []
    said += [f"{name}: {_sent_header(name, value, masks)}" for name, value in own if name not in OF_FORMS]
    lines = [f"> {APART.join(said)}", *(formatter.pairs(query, "?") if query else [])]
    return lines + (formatter.sent(wire.body, content_type) if wire.body else [])


def _sent_header(name: str, value: str, masks: Masks) -> str:
    scheme, _, token = value.partition(" ")
    if name == "If-None-Match":
        return re.sub('"[0-9a-f]{32}"', "‹tag›", value)
    if name == "Authorization":
        kind = "token" if scheme == "Bearer" else "credentials"
        return f"{scheme} ‹{kind}›" if token else "‹nothing more than a scheme›"
    return masks.text(value)


class Answer:
    """The lines of an answer."""

    def __init__(self, recorder: "Recorder", wire: Wire, reply: Reply, formatter: Formatter) -> None:
        self._recorder, self._wire, self._reply = recorder, wire, reply
        self._written, self._masks = formatter, formatter.masks
        self._static = wire.target.startswith("/static/")

    def lines(self) -> list[str]:
        """Status, headers, body."""
        reply = self._reply
        if reply.refused:
            return ["< refused by gunicorn"]
        if reply.escaped is not None:
            return [f"< {type(reply.escaped).__name__} escaped"]
        body = [] if self._wire.method == "HEAD" else self._body()  # gunicorn sends none
        return [*self._head(), *(f"| {line}".rstrip() for line in body)]

    def _head(self) -> list[str]:
        headers = sorted(self._reply.headers, key=lambda header: header[0].lower())
        headers = [pair for pair in headers if pair[0] != "X-Request-ID" or not _ID.fullmatch(pair[1])]
        short = [(word, pair) for pair, word in _SHORT.items() if pair in headers]
        said = [word for word, _ in short]
        headers = [pair for pair in headers if pair not in _SHORT]
        values = dict(headers)
        if values.get("Cache-Control") == _NEVER and values.get("Expires") == http_date(clock.seconds()):
            said.append("never cached")
            headers = [pair for pair in headers if pair[0] not in ("Cache-Control", "Expires")]
        usual = {name for name, value in self._recorder.usual.items() if values.get(name) == value}
        if len(usual) >= 3:
            left_out = [name for name in self._recorder.usual if name not in values]
            said += [f"without {', '.join(left_out)}"] if left_out else []
        else:
            usual = set()
            said.append("no usual headers")
        said += [part for name, value in headers if name not in usual for part in self._header(name, value)]
        first, *rest = folded(said, 2) or [""]
        return [f"< {self._reply.status} {first.strip()}", *rest]

    def _header(self, name: str, value: str) -> list[str]:
        if name == "Content-Length":
            if value == str(len(self._reply.body)):
                return []
            value = "‹not that of the body›"
        elif name == "ETag" and (self._static or not self._is_constant()):
            value = "‹weak tag›" if value.startswith("W/") else "‹tag›"
        elif name == "Last-Modified" and self._static:
            value = "‹date›"
        elif name == "Set-Cookie":
            value = self._cookie(value)
        elif name in ("Location", "Content-Location"):
            return self._location(name, value)
        return [f"{name}: {self._masks.text(value)}"]

    def _cookie(self, header: str) -> str:
        """Name and value, with the attributes if they differ from those in the head of the file."""
        pair, *attributes = (part.strip() for part in header.split(";"))
        cookie, _, value = pair.partition("=")
        said = f"{cookie}; {'; '.join(_attribute(each) for each in sorted(attributes))}"
        empty = value in ("", '""')
        cookie, value = plain(cookie), "‹nothing›" if empty else "‹value›"
        usual = self._recorder.cookies.setdefault(f"{cookie}={value}", said)
        return f"{cookie}={value}" + (f"; {said}" if said != usual else "")

    def _is_constant(self) -> bool:
        """Whether the body is the same in every run. Then its ETag is constant as well."""
        try:
            said = json.loads(self._reply.body)
        except ValueError:
            return False
        return bool(Masks().json(said) == said)  # new masks, because each decodes a token only once

    def _location(self, name: str, value: str) -> list[str]:
        address, sharp, fragment = value.partition("#")
        path, mark, query = address.partition("?")
        said = [f"{name}: {self._masks.text(path)}{mark}{sharp}"]
        said += self._pairs(query, "?") if query else []
        return ["\n".join([*said, *(self._pairs(fragment, "#") if fragment else [])])]

    def _pairs(self, text: str, mark: str) -> list[str]:
        own = f"next={quote(self._wire.target)}"
        return [f"  {mark}next = ‹this address›"] if text == own else self._written.pairs(text, mark)

    def _body(self) -> list[str]:
        body, media_type = self._reply.body, (self._reply.header("Content-Type") or "").partition(";")[0]
        if not body:
            return []
        if self._reply.header("Content-Encoding") == "gzip":
            body = zlib.decompress(body, 31)
        if media_type.startswith(("image/", "text/javascript")) or (
            self._static and media_type != "text/html"
        ):
            return [f"{len(body)} bytes, SHA-256 {hashlib.sha256(body).hexdigest()}"]
        if media_type == "application/pkix-cert":
            return [self._masks.certificate(body)]
        text = body.decode("utf-8", "replace")
        if media_type.endswith("json"):
            value = json.loads(text)
            self._keep_whole(json.dumps(Masks().json(value), indent=1))
            return self._written.json_body(value)
        if media_type in ("application/jwt", "application/statuslist+jwt"):
            return self._written.json(self._masks.token(text), 0)
        return self._text(self._masks.text(_COUNTED.sub("", text)), media_type)

    def _text(self, masked: str, media_type: str) -> list[str]:
        self._keep_whole(masked)
        if media_type == "text/html":
            return pages.lines(masked, self._recorder.frames)
        return self._written.shortened(masked, 0)

    def _keep_whole(self, text: str) -> None:
        place = f"{self._wire.method} {self._masks.text(self._wire.target)[:100]}"
        self._recorder.whole.append((place, text))


def plain(cookie: str) -> str:
    """The name of a cookie without the prefix for https."""
    return cookie.removeprefix("__Host-")


def _attribute(text: str) -> str:
    """An attribute of a cookie; a time as the difference from now."""
    name, _, value = text.partition("=")
    if name.lower() != "expires":
        return text
    away: Any = parsedate_to_datetime(value) - clock.now()
    return f"{name}=‹in {round(away.total_seconds())} seconds›" if away.days > -1000 else text
