"""Plays stories in this process, on the database it is given, and says as JSON what came of it."""

import argparse
import json
import logging
import os
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from http.cookies import SimpleCookie
from typing import TYPE_CHECKING, Any

import django
from django.core.management import call_command
from django.core.signals import got_request_exception

from tests.fuzz.gateway import BASE_URL, HOST, Gateway, Reply, Wire

if TYPE_CHECKING:
    from tests.fuzz.oracles import Oracles
    from tests.fuzz.world import World

FORM = "application/x-www-form-urlencoded"
MENDED_EVERY = 40  # stories
SIGNS = {"vp_token=": "answers in a redirect: tokens", "error=": "answers in a redirect: errors"}
WARM_UP = 40  # stories
MOST_FOLLOWED = 8  # redirects


@dataclass
class Account:
    """What was sent, what came back, and what was wrong with it."""

    sent: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    replies: Counter[str] = field(default_factory=Counter)  # "route status class"
    reached: Counter[str] = field(default_factory=Counter)  # what shows that it got deep
    failures: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.sent.values())


class Trouble(logging.Handler):
    """Remembers the newest traceback that anything logged or that ended in 500."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        if sys.exc_info()[0] is not None:
            self.text = traceback.format_exc()

    def seen(self, **_: Any) -> None:
        self.text = traceback.format_exc()


class Player:
    """Sends requests one by one, looks at each reply, and keeps account."""

    def __init__(self, gateway: Gateway, oracles: "Oracles", world: "World", account: Account) -> None:
        self.gateway, self.oracles, self.world, self.account = gateway, oracles, world, account
        self.trouble = Trouble()
        got_request_exception.connect(self.trouble.seen)
        self.number = 0  # of the story

    def send(self, wire: Wire, story: str) -> Reply:
        """One request, and every oracle's word on the reply."""
        self.trouble.text = ""
        reply = self.gateway.send(wire)
        if reply.refused:
            self.account.refused += 1
            return reply
        self.account.sent[story] += 1
        route = route_of(reply.path)
        kind = f"{reply.status // 100}xx" if reply.status else "escaped"
        self.account.replies[f"{route} {kind}"] += 1
        for sign, name in SIGNS.items():
            self.account.reached[name] += sign in reply.location
        for wrong in self.oracles.wrong(reply):
            self._note(wrong, route, wire, reply)
        return reply

    def _note(self, wrong: str, route: str, wire: Wire, reply: Reply) -> None:
        text = self.trouble.text
        if reply.escaped is not None:
            text = "".join(traceback.format_exception(reply.escaped))
        last = text.strip().splitlines()[-1][:160] if text else ""
        where = [line.strip() for line in text.splitlines() if line.strip().startswith("File ")]
        ours = [line for line in where if "site-packages" not in line and "/lib/python" not in line]
        key = f"{wrong} at {route}: {last.split(':')[0]} {(ours or where or [''])[-1]}"
        if key not in self.account.failures:
            print(f"story {self.number}: {key}", file=sys.stderr, flush=True)
        known = self.account.failures.setdefault(
            key,
            {
                "count": 0,
                "story": self.number,
                "request": wire.octets()[:3000].decode("latin-1"),
                "status": reply.status,
                "location": reply.location[:300],
                "traceback": text[-6000:],
                "error": last,
            },
        )
        known["count"] += 1


def route_of(path: str) -> str:
    """The pattern in the URLconf that a path belongs to."""
    from django.urls import Resolver404, resolve

    if path.startswith("/static/"):
        return "/static/"
    try:
        return "/" + resolve(path or "/").route
    except Resolver404:
        return "(nowhere)"


@cache
def routes() -> tuple[str, ...]:
    """Every pattern of the URLconf."""
    from django.urls import get_resolver

    def walk(patterns: Any, before: str) -> Iterator[str]:
        for pattern in patterns:
            route = before + str(pattern.pattern)
            if hasattr(pattern, "url_patterns"):
                yield from walk(pattern.url_patterns, route)
            else:
                yield route

    return tuple(walk(get_resolver().url_patterns, "/"))


class Browser:
    """Cookies and a network address of its own; spoils what it sends as its story's spoiler says."""

    def __init__(self, player: Player, story: str, spoiler: Any) -> None:
        self.player, self.story, self.spoiler = player, story, spoiler
        chance = spoiler.chance
        self.cookies: dict[str, str] = {}
        self.address = f"2001:db8:{chance.randrange(65536):x}:{chance.randrange(65536):x}::1"

    def send(
        self, method: str, target: str, body: str | bytes = b"", content_type: str = FORM, **headers: str
    ) -> Reply:
        """A request of this browser, spoilt or not; remembers the cookies of the reply."""
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        said = [("Host", HOST), ("X-Forwarded-For", self.address)]
        said += [("Cookie", cookies)] if cookies else []
        octets = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
        said += [("Content-Type", content_type)] if method == "POST" else []
        said += [(name.replace("_", "-"), as_header(value)) for name, value in headers.items()]
        wire = self.spoiler.wire(Wire(method, target, tuple(said), octets))
        reply = self.player.send(wire, self.story)
        for name, value in reply.headers:
            if name.lower() == "set-cookie":
                self._keep(value)
        return reply

    def _keep(self, header: str) -> None:
        for name, morsel in SimpleCookie(header).items():
            if morsel["max-age"] == "0" or not morsel.value:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = morsel.value

    def get(self, path: str, pairs: list[tuple[str, str]] | None = None, **headers: str) -> Reply:
        """With a query of these pairs."""
        query = "?" + self.spoiler.form(pairs) if pairs else ""
        return self.send("GET", path + query, **headers)

    def post(self, path: str, pairs: list[tuple[str, str]], **headers: str) -> Reply:
        """A form; by a browser, so with the token against forgery unless that is spoilt."""
        secret = self.cookies.setdefault("csrf", "a" * 32)
        return self.send(
            "POST", path, self.spoiler.form([*pairs, ("csrfmiddlewaretoken", secret)]), **headers
        )

    def follow(self, reply: Reply) -> Reply:
        """Redirects within the service, until one leads to a page, or carries an answer."""
        for _ in range(MOST_FOLLOWED):
            place = reply.location.removeprefix(BASE_URL)
            if not place.startswith("/") or "vp_token=" in place or "error=" in place:
                break
            reply = self.send("GET", place.partition("#")[0])
        return reply


def as_header(text: str) -> str:
    """Text as the octets of UTF-8, one character each (what gunicorn makes of a header)."""
    return text.encode("utf-8", "surrogatepass").decode("latin-1")


def play(player: Player, seed: str, first: int, step: int, count: int, only: str = "") -> None:
    """Stories `first`, `first + step` … until so many requests were sent."""
    from tests.fuzz import stories
    from tests.fuzz.spoiling import Spoiler

    told = time.monotonic()
    for number in range(first, sys.maxsize, step):
        if player.account.total >= count:
            return
        if (number - first) // step % MENDED_EVERY == 0:
            player.world.mend()
        for party in player.world.parties:
            party.token = ""
        player.number = number
        chance = random.Random(f"{seed} {number}")
        wildness = chance.choice((0.0, 0.05, 0.1, 0.2, 0.3, 0.6))
        spoiler = Spoiler(chance, wildness, player.world.others)
        name = stories.choose(chance, only)
        stories.STORIES[name](Browser(player, name, spoiler))
        if os.environ.get("FUZZ_PROGRESS") and time.monotonic() - told > 60:
            told = time.monotonic()
            print(
                f"{player.account.total} requests, {len(player.account.failures)} failures", file=sys.stderr
            )


def warm_up(player: Player) -> None:
    """Presentations, interactions and consents of others, by stories that nothing is spoilt in."""
    from tests.fuzz import stories
    from tests.fuzz.spoiling import Spoiler

    for number in range(WARM_UP):
        spoiler = Spoiler(random.Random(f"world {number}"), 0)
        stories.STORIES["enrol" if number % 8 == 7 else "present"](Browser(player, "", spoiler))
    player.world.others = player.world.ids()
    player.account = Account()


def begin(plant: str) -> tuple[Gateway, "World"]:
    """The service, migrated and filled; spoilt on purpose where `plant` says so."""
    from django.conf import settings

    import config.wsgi

    settings.PASSWORD_HASHERS = [
        "django.contrib.auth.hashers.MD5PasswordHasher"
    ]  # cheap: it is not tried here
    call_command("migrate", verbosity=0, interactive=False)
    from tests.fuzz import planting, world

    planting.PLANTS[plant]()
    built = world.build()
    return Gateway(config.wsgi.application), built


def main() -> None:
    parser = argparse.ArgumentParser()
    for name, kind in (
        ("seed", str),
        ("first", int),
        ("step", int),
        ("count", int),
        ("only", str),
        ("plant", str),
    ):
        parser.add_argument(f"--{name}", type=kind, required=True)
    asked = parser.parse_args()
    django.setup()
    gateway, world = begin(asked.plant)
    from tests.fuzz.oracles import Oracles

    player = Player(gateway, Oracles(world.redirect_uris, world.client_of), world, Account())
    for logger in (logging.getLogger(), logging.getLogger("django"), logging.getLogger("django.request")):
        logger.handlers = [player.trouble]
    warm_up(player)
    account, began = player.account, time.monotonic()
    play(player, asked.seed, asked.first, asked.step, asked.count, asked.only)
    print(json.dumps({**vars(account), "seconds": time.monotonic() - began, "routes": list(routes())}))


if __name__ == "__main__":
    main()
