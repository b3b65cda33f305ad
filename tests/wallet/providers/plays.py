"""The other side of a provider, as the contract suite (`test_contract`) drives it."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.test import Client

from wallet.models import IdentityVerification

# Kinds of ends that a provider may be able to play.
KINDS = ("verified", "review", "again", "refused", "not_here", "failed")


@dataclass(frozen=True)
class Call:
    """An HTTP request that arrives here: the browser's return, or a callback of the provider's machines."""

    path: str  # with its query
    method: str = "GET"
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


class Play:
    """One per provider. The server that it plays is real: another process, a thread, or a library's.

    Made without arguments. `running` is entered before the first test and left after the last.
    """

    name: str  # in IDENTITY_PROVIDERS
    settings: dict[str, str]  # what IDENTITY_PROVIDERS[name] is; read when `running` has been entered
    kinds: frozenset[str]  # of KINDS: the ends that this provider can play
    polled = True  # whether `result` learns of the end without any message
    calls_back = False  # whether its machines call back
    remote = True  # whether it is another machine, which can be down or slow and can lie
    decides_later = False  # whether it can play `person_submits`
    headings: dict[str, str] = {}  # by kind: what the page is headed where it is not as everywhere
    browser: Client  # the person's, signed in; set before each test

    @contextmanager
    def running(self) -> Iterator[None]:
        """The servers that this play needs."""
        yield

    def person_ends(self, attempt: IdentityVerification, address: str, kind: str, **facts: Any) -> None:
        """The person goes to `address` and does what this kind of end needs; the browser is not back yet."""
        raise NotImplementedError

    def person_submits(self, attempt: IdentityVerification, address: str, kind: str) -> None:
        """The person is done there, and the provider knows its result only after `decide`."""
        raise NotImplementedError

    def decide(self, attempt: IdentityVerification) -> None:
        """The provider comes to the result of what was submitted."""
        raise NotImplementedError

    def person_gives_up(self, attempt: IdentityVerification, address: str) -> None:
        """The person goes there and leaves without finishing."""

    def browser_returns(self, attempt: IdentityVerification) -> Call:
        """With what the browser comes back, after `person_ends`."""
        raise NotImplementedError

    def callback(self, attempt: IdentityVerification) -> Call:
        """What the provider's machines send, after `person_ends`; only if `calls_back`."""
        raise NotImplementedError

    def forgeries(self, attempt: IdentityVerification) -> Iterator[Call]:
        """Callbacks that look like `callback` and are not genuine."""
        return iter(())

    @contextmanager
    def down(self) -> Iterator[None]:
        """The provider cannot be reached."""
        yield

    @contextmanager
    def slow(self) -> Iterator[None]:
        """The provider answers later than this service waits."""
        yield

    @contextmanager
    def lying(self) -> Iterator[None]:
        """The provider answers with what makes no sense, or is not signed as it should be."""
        yield


def all_plays() -> list[type[Play]]:
    """Every play in a module named `…_play` beside this one."""
    found = []
    for path in sorted(Path(__file__).parent.glob("*_play.py")):
        module = importlib.import_module(f"tests.wallet.providers.{path.stem}")
        made = [each for each in vars(module).values() if isinstance(each, type) and issubclass(each, Play)]
        found += [each for each in made if each.__module__ == module.__name__ and "kinds" in vars(each)]
    return found


def send(call: Call, client: Client | None = None) -> Any:
    """The request, from this browser, or from a machine that has no cookies."""
    client = client or Client(enforce_csrf_checks=True)
    headers = dict(call.headers)
    kind = next((headers.pop(name) for name in list(headers) if name.lower() == "content-type"), "")
    return client.generic(
        call.method, call.path, call.body, kind or "application/octet-stream", headers=headers
    )
