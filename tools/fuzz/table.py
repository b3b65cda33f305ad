"""The report of a run: depths reached, replies by address and status, and every kind of failure."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

# Only a sequence of valid requests reaches these. A run of full length must reach each of them.
DEPTHS = (
    *("access tokens given", "requests pushed", "presentations found valid", "outcomes told"),
    *("consent pages", "answers in a redirect: tokens", "answers in a redirect: errors", "answers posted"),
    *("sign-ins by code", "sign-ins by link", "holders switched", "sign-outs half-way", "wallets opened"),
    *("identity checks", "presentations taken back", "applications self-registered", "logos shown"),
    *("tokens by the sandbox’s holder", "answers read at the playground"),
    *("forms sent as they stood on a page", "forms of a wallet", "operations on rows", "recoveries"),
    *("codes given", "codes exchanged", "UserInfo given", "receipts saved", "receipts found genuine"),
    *("evidence given", "evidence found genuine", "archives found genuine"),
    "answers accepted by the client libraries",
    *("passkeys added", "sign-ins with a passkey", "identity checks in review", "identity checks decided"),
)
_CLASSES = ("1xx", "2xx", "3xx", "4xx", "5xx", "escaped", "raised")


@dataclass
class Sum:
    """The results of all processes."""

    sent: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    replies: Counter[str] = field(default_factory=Counter)
    reached: Counter[str] = field(default_factory=Counter)
    failures: dict[str, dict[str, Any]] = field(default_factory=dict)
    routes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @classmethod
    def of(cls, said: Iterable[dict[str, Any]]) -> "Sum":
        total = cls()
        for one in said:
            for name in ("sent", "replies", "reached"):
                getattr(total, name).update(one[name])
            total.refused += one["refused"]
            total.seconds = max(total.seconds, one["seconds"])
            total.routes = one["routes"]
            for key, failure in one["failures"].items():
                known = total.failures.setdefault(key, {**failure, "count": 0})
                known["count"] += failure["count"]
        return total

    @property
    def requests(self) -> int:
        return sum(self.sent.values())

    @property
    def missed(self) -> list[str]:
        """Addresses of the URLconf and depths that no request reached."""
        found = {key.rpartition(" ")[0].replace("^", "") for key in self.replies}
        routes = [route.replace("^", "") for route in self.routes if "(?P<url>" not in route]
        return [route for route in routes if route not in found] + [
            name for name in DEPTHS if not self.reached[name]
        ]


def render(total: Sum, *, seed: str) -> str:
    """The report as text."""
    rate = total.requests / total.seconds if total.seconds else 0
    lines = [*_replies(total), "", "Depths reached:"]
    lines += [f"  {count:>9,}  {name}" for name, count in sorted(total.reached.items())]
    lines += ["", "Requests by scenario:", *(f"  {n:>9,}  {name}" for name, n in sorted(total.sent.items()))]
    if total.missed:
        lines += ["", f"Never reached ({len(total.missed)}):", *(f"  {route}" for route in total.missed)]
    for key, failure in sorted(total.failures.items(), key=lambda item: -item[1]["count"]):
        lines += ["", f"FAILURE, {failure['count']} times: {key}"]
        lines += [f"  again: python -m tools.fuzz --seed {seed} --scenario {failure['scenario']}"]
        lines += [f"  status {failure['status']} {failure['location']}", f"  {failure['error']}"]
        lines += ["    " + line for line in repr(failure["request"])[:1500].split("\\r\\n")[:14]]
        lines += ["    | " + line for line in failure["traceback"].splitlines()[-12:]]
    server = sum(n for key, n in total.replies.items() if key.endswith((" 5xx", " escaped")))
    lines += [
        "",
        f"{total.requests:,} requests (gunicorn refused {total.refused:,} more) in {total.seconds:,.0f} s: "
        f"{rate:,.0f} a second; seed {seed}",
        f"{server:,} with a status of 5xx, {len(total.failures)} kinds of failure",
    ]
    return "\n".join(lines)


def _replies(total: Sum) -> list[str]:
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for key, count in total.replies.items():
        route, _, kind = key.rpartition(" ")
        rows[route][kind] += count
    lines = ["  ".join(f"{kind:>7}" for kind in _CLASSES) + "  address"]
    for route, found in sorted(rows.items()):
        lines.append("  ".join(f"{found[kind] or '':>7}" for kind in _CLASSES) + f"  {route}")
    return lines
