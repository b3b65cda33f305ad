"""Load on running instances: holders who present, and relying parties who fetch documents."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from threading import Event, Thread
from time import monotonic, sleep, time
from typing import Any

from tests.relying_party import (
    Jwt,
    RejectedError,
    RelyingParty,
    demand,
    read_jwt,
    status_in,
    status_reference,
)
from tools.benchmarks.browsers import ORIGIN, Browser

FOLLOWED_WITHIN = 60.0  # seconds
MOST_LOADS = 20  # of one consent page
JWKS = "/openid-connect/jwks"


@dataclass(frozen=True)
class Signed:
    """A token, and when its request began and ended."""

    kid: str
    presentation: str
    sent: dict[str, Any]
    begun: float
    ended: float


@dataclass
class Load:
    """Holders who present and relying parties who poll, on every instance in turn, until the block ends."""

    ports: list[int]
    parties: list[tuple[RelyingParty, str, dict[str, str]]]
    tokens: list[Signed] = field(default_factory=list)
    key_sets: list[tuple[float, frozenset[str]]] = field(default_factory=list)  # each served key set
    failed: list[BaseException] = field(default_factory=list)
    over: Event = field(default_factory=Event)
    tls: bool = False  # whether the ports are those of a proxy
    rest: float = 0.0  # seconds between two presentations of a holder; without it, all of the CPU
    # Whether holders load a page again whose form was refused, as the answer tells them. The previous version
    # refuses the forms of this one, which have no token.
    loads_again: bool = False

    def __enter__(self) -> "Load":
        hands = [(self.present, party) for party in self.parties] + [(self.poll, port) for port in self.ports]
        self.threads = [Thread(target=self._until_over, args=hand) for hand in hands]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        for thread in self.threads:
            thread.join(60)

    def _until_over(self, work: Any, what: Any) -> None:
        turns = count()
        while not self.over.is_set() and not self.failed:
            try:
                work(what, next(turns))
            except BaseException as error:  # noqa: BLE001 - the test tells of it
                self.failed.append(error)

    def present(self, who: tuple[RelyingParty, str, dict[str, str]], turn: int) -> None:
        """One presentation. It has its own connection, so that any worker may accept it."""
        party, email, cookies = who
        begun = monotonic()
        with Browser(self.ports[turn % len(self.ports)], cookies, tls=self.tls) as browser:
            home = self._answered(browser, party.authorize_url(login_hint=email).removeprefix(ORIGIN))
        token = party.read(home).presentation
        assert token, home[:300]
        self.tokens.append(Signed(str(jwt_of(token).header["kid"]), token, party.sent, begun, monotonic()))
        self.over.wait(self.rest)

    def _answered(self, browser: Browser, target: str) -> str:
        """Shares on the consent page of this request; the address that results."""
        for _ in range(MOST_LOADS):
            try:
                return browser.give(target, ("decision", "share"))
            except RuntimeError as refused:
                if not (self.loads_again and " answered 403: " in str(refused)):
                    raise
        raise AssertionError("the form was refused each time")

    def poll(self, port: int, turn: int) -> None:
        with Browser(port, tls=self.tls) as browser:
            answer = browser.get(JWKS)
        assert answer.status == 200, answer
        kids = frozenset(key["kid"] for key in json.loads(answer.body)["keys"])
        self.key_sets.append((monotonic(), kids))
        sleep(0.03 + self.rest)

    def follow(self, kid: str) -> None:
        """Waits until all new tokens are signed by this key."""
        deadline = monotonic() + FOLLOWED_WITHIN
        while not self.failed and monotonic() < deadline:
            since = monotonic()
            sleep(1)
            kids = {token.kid for token in self.tokens if token.begun >= since}
            if kids == {kid}:
                return
        raise AssertionError(f"{kid} is not followed", self.failed)

    def believe(self, token: Signed) -> None:
        """Verifies the token as a relying party with new copies of all published documents."""
        party = self.parties[0][0]
        party.sent = token.sent
        party.verify(token.presentation)

    def demand_invalid(self, token: Signed) -> None:
        """Checks that the published status is invalid."""
        idx, uri = status_reference(jwt_of(token.presentation).payload)
        party = self.parties[0][0]
        found = status_in(read_jwt(party.fetch(uri).decode()), uri, idx, now=time())
        demand(found == 1, "status", f"{found}, not 1")

    def pause(self, seconds: float) -> None:
        self.over.wait(seconds)
        assert self.failed == [], repr(self.failed)[:1500]


def jwt_of(presentation: str) -> Jwt:
    return read_jwt(presentation.split("~")[0])


def patiently(look: Callable[[], Any]) -> None:
    """Repeats `look` until it succeeds; raises its last refusal on a timeout."""
    deadline = monotonic() + FOLLOWED_WITHIN
    while True:
        try:
            look()
            return
        except RejectedError:
            if monotonic() > deadline:
                raise
            sleep(0.5)
