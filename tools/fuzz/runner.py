"""Runs scenarios in this process on a given database, and prints the results as JSON."""

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

from tools.fuzz.gateway import BASE_URL, HOST, Gateway, Reply, Wire

if TYPE_CHECKING:
    from tools.fuzz.dataset import Dataset
    from tools.fuzz.oracles import Oracles

FORM = "application/x-www-form-urlencoded"
REPAIRED_EVERY = 40  # scenarios
SIGNS = {"vp_token=": "answers in a redirect: tokens", "error=": "answers in a redirect: errors"}
WARM_UP = 40  # scenarios
MOST_FOLLOWED = 8  # redirects


@dataclass
class Account:
    """Counts of requests and replies, and the failures."""

    sent: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    replies: Counter[str] = field(default_factory=Counter)  # "route status class"
    reached: Counter[str] = field(default_factory=Counter)  # the depths of `table`
    failures: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.sent.values())


class LastTraceback(logging.Handler):
    """Remembers the newest traceback that anything logged or that ended in 500."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        if sys.exc_info()[0] is not None:
            self.text = traceback.format_exc()

    def seen(self, **_: Any) -> None:
        self.text = traceback.format_exc()


class Runner:
    """Sends requests one by one, checks each reply, and counts the results."""

    def __init__(self, gateway: Gateway, oracles: "Oracles", dataset: "Dataset", account: Account) -> None:
        self.gateway, self.oracles, self.dataset, self.account = gateway, oracles, dataset, account
        self.last_traceback = LastTraceback()
        got_request_exception.connect(self.last_traceback.seen)
        self.number = 0  # of the scenario

    def send(self, wire: Wire, scenario: str) -> Reply:
        """Sends one request and checks the reply with every oracle."""
        self.last_traceback.text = ""
        reply = self.gateway.send(wire)
        if reply.refused:
            self.account.refused += 1
            return reply
        self.account.sent[scenario] += 1
        route = route_of(reply.path)
        kind = f"{reply.status // 100}xx" if reply.status else "escaped"
        self.account.replies[f"{route} {kind}"] += 1
        for sign, name in SIGNS.items():
            self.account.reached[name] += sign in reply.location
        for wrong in self.oracles.wrong(reply):
            self._note(wrong, route, wire, reply)
        return reply

    def _note(self, wrong: str, route: str, wire: Wire, reply: Reply) -> None:
        text = self.last_traceback.text
        if reply.escaped is not None:
            text = "".join(traceback.format_exception(reply.escaped))
        last = text.strip().splitlines()[-1][:160] if text else ""
        where = [line.strip() for line in text.splitlines() if line.strip().startswith("File ")]
        ours = [line for line in where if "site-packages" not in line and "/lib/python" not in line]
        key = f"{wrong} at {route}: {last.split(':')[0]} {(ours or where or [''])[-1]}"
        if key not in self.account.failures:
            print(f"scenario {self.number}: {key}", file=sys.stderr, flush=True)
        known = self.account.failures.setdefault(
            key,
            {
                "count": 0,
                "scenario": self.number,
                "request": wire.octets()[:3000].decode("latin-1"),
                "status": reply.status,
                "location": reply.location[:300],
                "traceback": text[-6000:],
                "error": last,
            },
        )
        known["count"] += 1


def route_of(path: str) -> str:
    """The pattern of the URLconf that matches a path."""
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
    """A client with its own cookies and network address. Its mutator changes what it sends."""

    def __init__(self, runner: Runner, scenario: str, mutator: Any) -> None:
        self.runner, self.scenario, self.mutator = runner, scenario, mutator
        rng = mutator.rng
        self.cookies: dict[str, str] = {}
        self.address = f"2001:db8:{rng.randrange(65536):x}:{rng.randrange(65536):x}::1"

    def send(
        self, method: str, target: str, body: str | bytes = b"", content_type: str = FORM, **headers: str
    ) -> Reply:
        """Sends a request, mutated or not, and stores the cookies of the reply."""
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        said = [("Host", HOST), ("X-Forwarded-For", self.address)]
        said += [("Cookie", cookies)] if cookies else []
        octets = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
        said += [("Content-Type", content_type)] if method == "POST" else []
        said += [(name.replace("_", "-"), as_header(value)) for name, value in headers.items()]
        wire = self.mutator.wire(Wire(method, target, tuple(said), octets))
        reply = self.runner.send(wire, self.scenario)
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
        query = "?" + self.mutator.form(pairs) if pairs else ""
        return self.send("GET", path + query, **headers)

    def post(self, path: str, pairs: list[tuple[str, str]], **headers: str) -> Reply:
        """Posts a form with its CSRF token, which may be mutated."""
        secret = self.cookies.setdefault("csrf", "a" * 32)
        return self.send(
            "POST", path, self.mutator.form([*pairs, ("csrfmiddlewaretoken", secret)]), **headers
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
    """UTF-8 decoded as Latin-1, as gunicorn decodes headers."""
    return text.encode("utf-8", "surrogatepass").decode("latin-1")


def run_scenarios(runner: Runner, seed: str, first: int, step: int, count: int, only: str = "") -> None:
    """Run the scenarios `first`, `first + step` … until `count` requests were sent."""
    from tools.fuzz import scenarios
    from tools.fuzz.mutations import Mutator

    told = time.monotonic()
    for number in range(first, sys.maxsize, step):
        if runner.account.total >= count:
            return
        if (number - first) // step % REPAIRED_EVERY == 0:
            runner.dataset.repair()
        for party in runner.dataset.parties:
            party.token = ""
        runner.number = number
        rng = random.Random(f"{seed} {number}")
        rate = rng.choice((0.0, 0.05, 0.1, 0.2, 0.3, 0.6))
        mutator = Mutator(rng, rate, runner.dataset.others)
        name = scenarios.choose(rng, only)
        scenarios.SCENARIOS[name](Browser(runner, name, mutator))
        if os.environ.get("FUZZ_PROGRESS") and time.monotonic() - told > 60:
            told = time.monotonic()
            done = f"{runner.account.total} requests, {len(runner.account.failures)} failures"
            print(f"{done}, {time.process_time():.0f} s of a core", file=sys.stderr)


def warm_up(runner: Runner) -> None:
    """Create rows of other people by scenarios without mutation."""
    from tools.fuzz import scenarios
    from tools.fuzz.mutations import Mutator

    for number in range(WARM_UP):
        mutator = Mutator(random.Random(f"dataset {number}"), 0)
        scenarios.SCENARIOS["enrol" if number % 8 == 7 else "present"](Browser(runner, "", mutator))
    runner.dataset.others = runner.dataset.ids()
    runner.account = Account()


def begin(fault: str) -> tuple[Gateway, "Dataset"]:
    """The migrated service with its dataset, and with a fault if `fault` names one."""
    from django.conf import settings

    import config.wsgi

    settings.PASSWORD_HASHERS = [
        "django.contrib.auth.hashers.MD5PasswordHasher"
    ]  # cheap: it is not tried here
    call_command("migrate", verbosity=0, interactive=False)
    from tools.fuzz import dataset, faults

    faults.FAULTS[fault]()
    built = dataset.build()
    return Gateway(config.wsgi.application), built


def main() -> None:
    parser = argparse.ArgumentParser()
    for name, kind in (
        ("seed", str),
        ("first", int),
        ("step", int),
        ("count", int),
        ("only", str),
        ("fault", str),
    ):
        parser.add_argument(f"--{name}", type=kind, required=True)
    asked = parser.parse_args()
    django.setup()
    gateway, dataset = begin(asked.fault)
    from tools.fuzz.oracles import Oracles

    runner = Runner(gateway, Oracles(dataset.redirect_uris, dataset.client_of), dataset, Account())
    for logger in (logging.getLogger(), logging.getLogger("django"), logging.getLogger("django.request")):
        logger.handlers = [runner.last_traceback]
    warm_up(runner)
    account, began = runner.account, time.monotonic()
    run_scenarios(runner, asked.seed, asked.first, asked.step, asked.count, asked.only)
    print(json.dumps({**vars(account), "seconds": time.monotonic() - began, "routes": list(routes())}))


if __name__ == "__main__":
    main()
