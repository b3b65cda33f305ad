"""Two instances with two workers each follow a rotation and a withdrawal while holders present.

Time is compressed: keys are staged as if it had been two days ago, and a relying party's copy of the key set
is good for MAX_AGE instead of an hour. What instances need to publish and to follow is as it is.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from io import StringIO
from itertools import count
from threading import Event, Thread
from time import monotonic, sleep, time
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from keys import rotation
from keys.moves import State, find, in_state
from tests.benchmarks import holders
from tests.benchmarks.browsers import ORIGIN, Browser
from tests.benchmarks.sites import Site
from tests.processes import environment
from tests.relying_party import (
    Jwt,
    RejectedError,
    RelyingParty,
    demand,
    read_jwt,
    status_in,
    status_reference,
)

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]
MAX_AGE = 2.0  # seconds
PUBLISHED_WITHIN = 5.0 + 1.0  # what instances promise, and a second for a machine that is busy with this test
FOLLOWED_WITHIN = 20.0
LONG_AGO, TWO_DAYS_AGO = timedelta(days=100), timedelta(hours=49)
JWKS = "/openid-connect/jwks"


@dataclass(frozen=True)
class Signed:
    """A token that came back: begun before and ended after it was signed."""

    kid: str
    presentation: str
    sent: dict[str, Any]
    begun: float
    ended: float


@dataclass
class Load:
    """Holders who present and relying parties who poll, on every instance in turn, until it is over."""

    ports: list[int]
    parties: list[tuple[RelyingParty, str, dict[str, str]]]
    tokens: list[Signed] = field(default_factory=list)
    key_sets: list[tuple[float, frozenset[str]]] = field(default_factory=list)  # every one that was served
    failed: list[BaseException] = field(default_factory=list)
    over: Event = field(default_factory=Event)

    def __enter__(self) -> "Load":
        hands = [(self.present, party) for party in self.parties] + [(self.poll, port) for port in self.ports]
        self.threads = [Thread(target=self._until_over, args=hand) for hand in hands]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        for thread in self.threads:
            thread.join(30)

    def _until_over(self, work: Any, what: Any) -> None:
        turns = count()
        while not self.over.is_set() and not self.failed:
            try:
                work(what, next(turns))
            except BaseException as error:  # noqa: BLE001 - the test tells of it
                self.failed.append(error)

    def present(self, who: tuple[RelyingParty, str, dict[str, str]], turn: int) -> None:
        """One holder's way through a request; a connection of its own, so any worker may get it."""
        party, email, cookies = who
        begun = monotonic()
        with Browser(self.ports[turn % len(self.ports)], cookies) as browser:
            home = browser.give(
                party.authorize_url(login_hint=email).removeprefix(ORIGIN), ("decision", "share")
            )
        token = party.read(home).presentation
        assert token, home[:300]
        self.tokens.append(Signed(str(jwt_of(token).header["kid"]), token, party.sent, begun, monotonic()))

    def poll(self, port: int, turn: int) -> None:
        with Browser(port) as browser:
            answer = browser.get(JWKS)
        assert answer.status == 200, answer
        kids = frozenset(key["kid"] for key in json.loads(answer.body)["keys"])
        self.key_sets.append((monotonic(), kids))
        sleep(0.03)

    def follow(self, kid: str) -> None:
        """Wait until whatever is begun from now on is signed by this key."""
        deadline = monotonic() + FOLLOWED_WITHIN
        while not self.failed and monotonic() < deadline:
            since = monotonic()
            sleep(1)
            kids = {token.kid for token in self.tokens if token.begun >= since}
            if kids == {kid}:
                return
        raise AssertionError(f"{kid} is not followed", self.failed)

    def believe(self, token: Signed) -> None:
        """As a relying party with fresh copies of everything that is published."""
        party = self.parties[0][0]
        party.sent = token.sent
        party.verify(token.presentation)

    def demand_invalid(self, token: Signed) -> None:
        """Its status is published as invalid."""
        idx, uri = status_reference(jwt_of(token.presentation).payload)
        party = self.parties[0][0]
        found = status_in(read_jwt(party.fetch(uri).decode()), uri, idx, now=time())
        demand(found == 1, "status", f"{found}, not 1")

    def pause(self, seconds: float) -> None:
        self.over.wait(seconds)
        assert self.failed == []


def jwt_of(presentation: str) -> Jwt:
    return read_jwt(presentation.split("~")[0])


@pytest.fixture
def instances(settings: Any, tmp_path: Any, transactional_db: None) -> Iterator[list[int]]:
    """The ports of two instances, and this process as a third that runs the commands."""
    settings.BASE_URL = ORIGIN
    settings.HOLDER_COOKIE_NAME, settings.BROWSER_COOKIE_NAME = "__Host-holder", "__Host-browser"
    rotation.rotate(now=timezone.now() - LONG_AGO)
    surroundings = {**environment(settings, tmp_path), "WEB_CONCURRENCY": "2"}
    with ExitStack() as running:
        yield [
            running.enter_context(Site("config.wsgi", surroundings, ready=JWKS)).port
            for _instance in range(2)
        ]


@pytest.fixture
def load(instances: list[int]) -> Load:
    """Three holders of wallets, and whom they present to."""
    registered = holders.register()
    asked = count()

    def fetch(url: str) -> bytes:
        with Browser(instances[next(asked) % 2]) as browser:
            answer = browser.get(url.removeprefix(ORIGIN))
        assert answer.status == 200, (url, answer)
        return answer.body

    def party() -> RelyingParty:
        return RelyingParty(registered.client_id, holders.REDIRECT_URI, ORIGIN, fetch=fetch)

    people = [holders.sign_in(f"holder{number}@example.org", timezone.now()) for number in range(3)]
    return Load(instances, [(party(), email, cookies) for email, cookies in people])


def stage_two_days_ago() -> str:
    return str(rotation.stage(now=timezone.now() - TWO_DAYS_AGO))


def test_nobody_notices_a_rotation_and_a_withdrawn_key_signs_nothing_more(load: Load) -> None:
    first = str(in_state(State.ACTIVE))
    with load:
        load.pause(1)
        second = stage_two_days_ago()
        load.pause(PUBLISHED_WITHIN + MAX_AGE)
        call_command("rotate_signing_keys", stdout=StringIO())
        assert (find(first).state, find(second).state) == (State.RETIRED, State.ACTIVE)
        load.follow(second)
        third = stage_two_days_ago()
        load.pause(PUBLISHED_WITHIN + MAX_AGE)
        call_command("withdraw_signing_key", "--reason", "stolen", "--yes", stdout=StringIO())
        withdrawn = monotonic()
        load.pause(PUBLISHED_WITHIN + 1)
    assert load.failed == []
    assert {token.kid for token in load.tokens} == {first, second, third}
    assert [token.kid for token in load.tokens if token.begun > withdrawn and token.kid != third] == []
    assert missing(load) == []
    at_the_end = {kids for at, kids in load.key_sets if at > withdrawn + PUBLISHED_WITHIN}
    assert at_the_end == {frozenset({first, third})}
    newest = {token.kid: token for token in load.tokens}
    patiently(lambda: [load.believe(newest[kid]) for kid in (first, third)])
    with pytest.raises(RejectedError, match=f"kid: '{second}' is not in the key set"):
        load.believe(newest[second])
    patiently(lambda: load.demand_invalid(newest[second]))


def patiently(look: Callable[[], Any]) -> None:
    """Until instances have published what follows from a withdrawal; the last refusal, when they do not."""
    deadline = monotonic() + FOLLOWED_WITHIN
    while True:
        try:
            look()
            return
        except RejectedError:
            if monotonic() > deadline:
                raise
            sleep(0.5)


def missing(load: Load) -> list[tuple[Signed, frozenset[str]]]:
    """Tokens whose key some key set lacked that was served within MAX_AGE before they were signed."""
    return [
        (token, kids)
        for token in load.tokens
        for at, kids in load.key_sets
        if token.ended - MAX_AGE <= at <= token.begun and token.kid not in kids
    ]
