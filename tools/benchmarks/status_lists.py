"""Benchmark (e): allocating entries, building a status list, and serving it, compared with a bare view."""

import json
from collections.abc import Callable
from typing import Any

from tools.benchmarks.browsers import Browser
from tools.benchmarks.bursts import Contender, alternate
from tools.benchmarks.servers import Servers, Work
from tools.benchmarks.sites import Site, cpu_seconds
from tools.benchmarks.table import Row

TARGET = 0.9


def run(servers: Servers, *, bursts: int, size: int) -> list[Row]:
    """Entries per CPU second at each load, cost and size of a list, and requests per CPU second."""
    taken = size // 5  # few enough not to change the load of a list
    with Work(
        ["-m", "tools.benchmarks.status_entries", str(bursts), str(taken)], servers.service.environment
    ) as work:
        found = json.loads(work.done())
    return [*_given(found["rates"]), *_made(found["made"]), *_served(servers, found["list"], bursts, size)]


def _given(rates: dict[str, float]) -> list[Row]:
    first, *others = rates
    rows = [
        Row(
            "e",
            f"entries allocated, list {first} full",
            rates[first],
            "per CPU second",
            note="with the database's",
        )
    ]
    for load in others:
        ratio = rates[load] / rates[first]
        rows.append(
            Row("e", f"entries allocated, list {load} full", rates[load], "per CPU second", ratio, TARGET)
        )
    return rows


def _made(lists: dict[str, dict[str, Any]]) -> list[Row]:
    rows = []
    for share, cost in lists.items():
        label = f"a list of 2^20 with {share} invalid"
        rows.append(Row("e", f"{label}: made and signed", cost["milliseconds"], "ms of CPU"))
        rows.append(Row("e", f"{label}: on the wire", cost["gzip"], "bytes", note=f"{cost['plain']:,} plain"))
    return rows


def _served(servers: Servers, number: int, bursts: int, size: int) -> list[Row]:
    path = f"/status-lists/{number}"
    with servers.service.open() as service:
        with Browser(service.port) as browser:
            body = browser.get(path).body
        with servers.bare({path: body}).open() as bare:
            contenders = [
                Contender(str(site.port), _reader(site, path, len(body)), _accounts(site))
                for site in (service, bare)
            ]
            measured = alternate(contenders, bursts=bursts, size=size)
    unit, note = "requests per CPU second", f"{len(body):,} bytes, against a bare Django view"
    return [
        Row("e", "a status list served", measured.rate(0), unit, measured.ratio(0, 1), TARGET, note=note),
        Row("e", "the same from the bare view", measured.rate(1), unit),
    ]


def _reader(site: Site, path: str, length: int) -> Callable[[int], None]:
    def burst(size: int) -> None:
        with Browser(site.port) as browser:
            for _ in range(size):
                answer = browser.get(path)
                if (
                    answer.status != 200 or abs(len(answer.body) - length) > 10
                ):  # it may be signed again meanwhile
                    raise RuntimeError(f"{path} answered {answer.status}: {answer.body[:200]!r}")

    return burst


def _accounts(site: Site) -> Callable[[], float]:
    return lambda: cpu_seconds(site.worker)
