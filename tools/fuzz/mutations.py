"""Mutates valid requests with one random generator: text, JSON, forms, tokens and the request itself."""

import json
import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import cbor2

from infra import base64url
from tests.forgery import Key, sign_text
from tests.relying_party import encode
from tools.fuzz.gateway import Wire

# fmt: off
TEXTS = (
    "", " ", "0", "-1", "1.5", "null", "true", "[]", "{}", "[{}]", "é", "\u0663", "٣" * 6, "²", "½",
    "\x80", "\0", "a\0b", "\r\nSet-Cookie: a=b", "a\nb", "%", "%00", "%zz", "%c0%80", "\u202ekcab",
    "\U0001f600", "NaN", "Infinity", "1e999", "1e99999999999999999999", "-0", "0x10", "1_000", "9" * 20,
    "9" * 5000, "//evil.example", "https://evil.example/", "https:evil.example", "/\\evil.example",
    "javascript:alert(1)", "../../etc/passwd", "..%2f..", "' OR 1=1 --", "<script>alert(1)</script>",
    "{{7*7}}", "${7*7}", "[" * 2000, "[" * 900 + "]" * 900, '{"a":' * 300, "a" * 255, "a" * 3000,
    "https://" + "a" * 600, "00000000-0000-0000-0000-000000000000", "urn:ietf:params:oauth:request_uri:x",
    "vp_token code", "a@b", "a@[127.0.0.1]", "=?utf-8?q?a=40evil.example?=@x.example",
    "a@xn--80ak6aa92e.example", "2026-02-30", "0000-00-00", "9999-12-31", "1e5", "UTC", "id,,",
    "__proto__", "constructor", ".",
)
VALUES = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(2**63) - 1, 10**30, 10**4000, 0.5, 1e308, -0.0,
    "", "é", "\0", "\ud800", "a" * 600, [], {}, [[]], {"": ""}, [None], [{}], {"keys": []},
    {"a": {"b": []}},
)
# What CBOR has and JSON has not. The numbers are lengths that `bytes()` cannot or must not make.
OF_CBOR = (
    None, True, -1, 2**31, 2**64, 10**12, 2**70, -(2**70), 0.5, float("nan"), "", "é", "packed", "none", b"",
    b"\0" * 31, b"\0" * 37, b"\xff" * 200, [], [1, 2], {}, {1: 2}, cbor2.undefined, cbor2.CBORSimpleValue(99),
    cbor2.CBORTag(0, "x"), cbor2.CBORTag(1, 1e300), cbor2.CBORTag(2, b"\xff" * 50),
    cbor2.CBORTag(4, [10**6, 1]), cbor2.CBORTag(30, [1, 2]), cbor2.CBORTag(35, "("), cbor2.CBORTag(258, [1]),
)
RAW_JSON = (
    "NaN", "-Infinity", "1e999", "1e99999999999999999999", '"\\ud800"', '"\\u0000"', "9" * 5000,
    "[" * 3000, "[" * 900 + "]" * 900, '{"a":1,"a":2}', "\ufeff{}", "'a'", "01", '"\t"', "{", "", "\x00",
    "[1,]",
)
METHODS = (
    "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "PROPFIND",
    "M-SEARCH",
)
HEADERS = {
    "Content-Type": (
        "application/json", "application/x-www-form-urlencoded", "multipart/form-data", "text/plain", "",
        "application/json; charset=utf-16", "application/x-www-form-urlencoded; charset=base64", ";;=;",
        "multipart/form-data; boundary=x", "multipart/form-data; boundary=" + "b" * 300, "\xe9/\xff",
        "text/plain; a*=nonsense'x'%41", "multipart/form-data; boundary*=idna'x'%C0", "application/jwt",
    ),
    "Host": (
        "evil.example", "", "localhost", "a" * 300, "localhost:99999", "[::1]:8000", "\xe9", "a b",
    ),
    "Accept": (
        "", "application/json", "text/html;q=x", "application/openmetrics-text; version=x", "*/*;q=",
        "\xe9",
    ),
    "Accept-Encoding": ("gzip", "gzip;q=0", "*;q=\xe9", "gzip;q=" + "0" * 2000, ",;,"),
    "Accept-Language": ("de", "x-" * 300, "\xe9", "en;q=nan"),
    "Authorization": (
        "Bearer", "Bearer ", "Bearer \xe9", "Bearer a.b.c", "Bearer ..", "Basic", "Basic \xe9",
        "Basic Og==", "x", "Basic =", "Digest a=b", "bearer " + "a" * 5000, "Bearer " + "." * 100,
        "Basic w6k6w6k=",
    ),
    "Cookie": (
        "", ";", "=", "a", "csrf=", "csrf=\xe9", 'operator="\\000' + "a" * 31 + '"',
        "operator=" + "a" * 32, "holder=" + "a" * 43, "browser=" + "\xe9" * 43, "messages=a",
        "developer=a:b:c", "messages=\xe9$[[]]", 'holder="\\777"', "developer=.eJw:1:x",
        "csrf=" + "a" * 31, "a=b; " * 300,
    ),
    "If-None-Match": ('"x"', "*", "W/", '"' * 50, "\xe9", '"a' + ", " * 2000),
    "If-Modified-Since": (
        "x", "Mon, 99 Foo 99999 99:99:99 GMT", "Thu, 01 Jan 1970 00:00:00 GMT", "\xe9", "0",
    ),
    "Origin": ("null", "https://evil.example", "http://[", "\xe9", "http://localhost:8000"),
    "Range": (
        "bytes=0-1", "bytes=-0", "bytes=9-1", "bytes=\xe9", "bytes=" + "9" * 5000 + "-", "x=1", "bytes=-",
    ),
    "Referer": (
        "http://[", "https://evil.example/", "\xe9", "http://localhost:8000/admin/", "/",
    ),
    "Sec-Fetch-Site": ("", "cross-site", "none", "\xe9", "same-origin, same-origin"),
    "X-Forwarded-For": (
        "", "\xe9", "::1, ::ffff:1.2.3.4", "fe80::1%\xe9", "1" * 1500, ",,,", "999.1.1.1", "[::1]:80",
        "unknown", 'for="[::1]:80"',
    ),
    "X-Forwarded-Proto": ("https", "http", "\xe9", ""),
    "X-Forwarded-Host": ("evil.example", "\xe9"),
    "X-CSRFToken": ("", "\xe9", "a" * 32, "a" * 64),
    "Expect": ("100-continue",),
    "Connection": ("close", "upgrade"),
}
# fmt: on


class Mutator:
    """Mutates the values of a request. `rate` (0 to 1) says how often."""

    def __init__(self, rng: random.Random, rate: float, others: Sequence[str] = ()) -> None:
        """others: values that are valid in other places, such as ids of other people."""
        self.rng, self.rate, self.others = rng, rate, others

    def turns(self, share: float = 1.0) -> bool:
        """Whether to mutate this time."""
        return self.rng.random() < self.rate * share

    def text(self, text: str) -> str:
        """A mutated text: another one, or this one shortened, doubled, or with characters inserted."""
        rng, place = self.rng, self.rng.randint(0, len(text))
        nasty = rng.choice(self.others) if self.others and rng.random() < 0.25 else rng.choice(TEXTS)
        match rng.randrange(9):
            case 0 | 1:
                return nasty
            case 2:
                return text[:place]
            case 3:
                return text[:place] + nasty + text[place:]
            case 4:
                return text[:place] + chr(rng.choice((0, 9, 10, 0x7F, 0xE9, 0x200B, 0x0663))) + text[place:]
            case 5:
                return text[:place] + text[place + 1 :]
            case 6:
                return text.swapcase()
            case 7:
                return text + text
            case _:
                return text + nasty

    def value(self, value: Any) -> Any:
        """A JSON value with a change anywhere in it: another type or value, a member added or removed."""
        rng = self.rng
        if isinstance(value, dict) and value and rng.random() < 0.75:
            name, mutated = rng.choice(list(value)), dict(value)
            match rng.randrange(8):
                case 0:
                    del mutated[name]
                case 1:
                    mutated[self.text(name)] = mutated.pop(name)
                case 2:
                    mutated[rng.choice(TEXTS)] = rng.choice(VALUES)
                case _:
                    mutated[name] = self.value(mutated[name])
            return mutated
        if isinstance(value, list) and value and rng.random() < 0.75:
            place, copy = rng.randrange(len(value)), list(value)
            match rng.randrange(5):
                case 0:
                    del copy[place]
                case 1:
                    copy *= rng.choice((2, 60))
                case _:
                    copy[place] = self.value(copy[place])
            return copy
        if isinstance(value, str) and rng.random() < 0.6:
            return self.text(value)
        if isinstance(value, int | float) and rng.random() < 0.3:
            return value * rng.choice((-1, 0, 2, 10**9, 0.001))
        return rng.choice(VALUES)

    def cbor(self, value: Any) -> Any:
        """A CBOR value with a change anywhere in it, also in authenticator data and the key inside."""
        rng = self.rng
        if isinstance(value, dict) and value and rng.random() < 0.9:
            name, mutated = rng.choice(list(value)), dict(value)
            match rng.randrange(6):
                case 0:
                    del mutated[name]
                case 1:
                    mutated[rng.choice(("fmt", "attStmt", "sig", "x5c", 1, 3, -1, -2, -3))] = rng.choice(
                        OF_CBOR
                    )
                case _:
                    mutated[name] = self.cbor(mutated[name])
            return mutated
        if isinstance(value, bytes) and len(value) > 60 and rng.random() < 0.6:
            return self._authenticator_data(value)
        return rng.choice(OF_CBOR)

    def _authenticator_data(self, data: bytes) -> bytes:
        """With another key inside (WebAuthn Level 3 §6.1, §6.5.1), or with a changed byte."""
        rng, key_begins = self.rng, 37 + 16 + 2 + int.from_bytes(data[53:55], "big")
        with suppress(Exception):  # the data may have no key
            if rng.random() < 0.7:
                return data[:key_begins] + cbor2.dumps(self.cbor(cbor2.loads(data[key_begins:])))
        place = rng.randrange(len(data))
        return data[:place] + rng.randbytes(rng.choice((0, 1, 1, 8))) + data[place + 1 :]

    def encoded_cbor(self, text: str) -> str:
        """Mutated CBOR, or bytes that are none, as base64url."""
        octets = base64url.decode(text)
        with suppress(cbor2.CBORError):
            whole = cbor2.loads(octets)
            octets = cbor2.dumps(self.cbor(whole)) if isinstance(whole, dict) else octets
        if self.rng.random() < 0.25:
            octets = self._authenticator_data(octets)
        return base64url.encode(octets)

    def json(self, value: Any) -> str:
        """The JSON text of a value, mutated before, during or after encoding."""
        if self.turns():
            value = self.value(value)
        text = json.dumps(value, ensure_ascii=self.rng.random() < 0.5)
        if self.turns(0.15):
            text = self.rng.choice(RAW_JSON)
        if self.turns(0.2):
            places = [place for place, character in enumerate(text) if character in ":,["]
            place = self.rng.choice(places) + 1 if places else 0
            text = text[:place] + self.rng.choice(RAW_JSON) + text[place:]
        return text

    def pairs(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """The fields of a form with one changed, removed, repeated or added."""
        mutated = list(pairs)
        while self.turns(0.6) and mutated:
            place = self.rng.randrange(len(mutated))
            name, value = mutated[place]
            match self.rng.randrange(8):
                case 0:
                    del mutated[place]
                case 1:
                    mutated.append((name, self.text(value)))
                case 2:
                    mutated[place] = (self.text(name), value)
                case 3:
                    mutated.append((self.rng.choice(TEXTS), self.rng.choice(TEXTS)))
                case _:
                    mutated[place] = (name, self.field(name, value))
            if self.rng.random() < 0.5:
                break
        return mutated

    def field(self, name: str, value: str) -> str:
        """A mutated field. The number of forms in a formset stays small, because a large one is slow."""
        if name.endswith("_FORMS"):
            return self.rng.choice(("", "0", "1", "7", "-1", "x", "\u0663"))
        if value.isdecimal() and self.rng.random() < 0.5:
            return self.rng.choice(("9" * 5000, "9" * 20, "-1", "\u0663", "0", value + "\0"))
        return self.text(value)

    def form(self, pairs: Sequence[tuple[str, str]]) -> str:
        """The encoded form of a query or body (application/x-www-form-urlencoded)."""
        encoded = []
        for name, value in self.pairs(pairs):
            safe = self.rng.choice(("", "", "", '/:@,;!()*[]{}"é')) if self.rate else ""
            octets = value.encode("utf-8", "surrogatepass")
            if self.turns(0.05):
                octets += self.rng.choice((b"\xff", b"\xed\xa0\x80", b"\xc0\x80", b"\0"))
            encoded.append(f"{quote(name, safe='')}={quote(octets, safe=safe.encode())}")
        text = "&".join(encoded)
        return self.text(text) if self.turns(0.03) else text

    def token(self, header: dict[str, Any], payload: dict[str, Any], key: Key) -> str:
        """A JWT with a valid signature over mutated members, or one that is mutated after signing."""
        parts = [self.json(part).encode("utf-8", "surrogatepass") for part in (header, payload)]
        token = sign_text(".".join(map(encode, parts)), key)
        return self.segments(token) if self.turns(0.4) else token

    def segments(self, token: str) -> str:
        """A token with one segment mutated."""
        mark = "~" if "~" in token and self.rng.random() < 0.5 else "."
        segments = token.split(mark)
        place = self.rng.randrange(len(segments))
        match self.rng.randrange(6):
            case 0:
                segments[place] = self.text(segments[place])
            case 1 | 2:
                segments[place] += self.rng.choice(("é", "=", "\u0663", "A", "%", "\0"))
            case 3:
                segments.insert(place, self.rng.choice(segments))
            case 4:
                del segments[place]
            case _:
                self.rng.shuffle(segments)
        return mark.join(segments)

    def wire(self, wire: Wire) -> Wire:
        """The request with another method, address, header or length of the body."""
        rng = self.rng
        if self.turns(0.08):
            wire = replace(wire, method=rng.choice(METHODS))
        while self.turns(0.25):
            name = rng.choice(list(HEADERS))
            wire = wire.with_header(name, rng.choice(HEADERS[name]))
        if self.turns(0.04):
            wire = replace(wire, target=self.target(wire.target))
        if wire.body and self.turns(0.06):
            place = rng.randrange(len(wire.body))
            junk = rng.choice((b"\0", b"\xff\xfe", b"--x\r\n", b"\r\n\r\n", b"%", b"&" * 500))
            wire = replace(wire, body=wire.body[:place] + junk + wire.body[place + rng.randrange(9) :])
        if self.turns(0.04):
            wire = replace(wire, length=rng.choice(("0", "9" * 12, "9" * 4000, "00012", "-1", "1")))
        elif self.turns(0.04):
            wire = replace(wire, chunked=True)
        return wire

    def target(self, target: str) -> str:
        """A path similar to this one, in characters that gunicorn accepts."""
        path, mark, query = target.partition("?")
        match self.rng.randrange(7):
            case 0:
                path = path.rstrip("/") if path.endswith("/") else path + "/"
            case 1:
                path = "/" + path
            case 2:
                path += self.rng.choice(
                    ("%00", "%ff", "%0a", "%2f", "..", "%2e%2e/", "%ed%a0%80", ";a=b", "\\")
                )
            case 3:
                segments = path.split("/")
                segments[self.rng.randrange(len(segments))] = quote(self.rng.choice(TEXTS)[:900], safe="")
                path = "/".join(segments)
            case 4:
                path = "http://evil.example" + path
            case 5:
                path = path.upper()
            case _:
                query += "&" + "&".join(f"a{number}=%41" for number in range(self.rng.choice((1, 500))))
                mark = "?"
        return path + mark + query
