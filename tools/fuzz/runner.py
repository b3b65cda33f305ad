"""Sends requests one by one, checks each reply, and counts the results."""

import logging
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.core.signals import got_request_exception
from structlog import DropEvent

from tools.fuzz.gateway import Gateway, Reply, Wire
from tools.fuzz.routes import route_of

if TYPE_CHECKING:
    from tools.fuzz.dataset import Dataset
    from tools.fuzz.oracles import Oracles

SIGNS = {"vp_token=": "answers in a redirect: tokens", "error=": "answers in a redirect: errors"}


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
        self.keep()

    def processor(self, logger: Any, method: str, event: Any) -> Any:
        """A processor of structlog, after which nothing is written."""
        self.keep()
        raise DropEvent

    def keep(self) -> None:
        if sys.exc_info()[0] is not None:
            self.text = traceback.format_exc()

    def seen(self, **_: Any) -> None:
        self.text = traceback.format_exc()


class Runner:
    """One process's way to the service."""

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
            self.note(wrong, route, wire.octets().decode("latin-1"), reply)
        return reply

    def tried(
        self,
        scenario: str,
        place: str,
        allowed: type[Exception] | tuple[type[Exception], ...],
        given: object,
        call: Callable[..., Any],
        *arguments: Any,
    ) -> Any:
        """What a verifier says that runs without the service; None if it raises an `allowed` exception.

        Any other exception is a failure. A call counts as a request, and as an answer with 2xx, 4xx or
        “raised”.
        given: what to print if it fails.
        """
        self.account.sent[scenario] += 1
        try:
            result = call(*arguments)
        except allowed:
            self.account.replies[f"({place}) 4xx"] += 1
            return None
        except Exception as error:
            self.account.replies[f"({place}) raised"] += 1
            escaped = Reply(escaped=error)
            self.note(f"{type(error).__name__} escaped", f"({place})", repr(given), escaped)
            return None
        self.account.replies[f"({place}) 2xx"] += 1
        return result

    def note(self, wrong: str, route: str, sent: str, reply: Reply) -> None:
        """Counts a failure, and prints the first of its kind. sent: what caused it."""
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
                "request": sent[:3000],
                "status": reply.status,
                "location": reply.location[:300],
                "traceback": text[-6000:],
                "error": last,
            },
        )
        known["count"] += 1
