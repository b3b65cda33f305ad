"""Bench (e): places in status lists, making a list, and serving it beside a bare view of the same bytes."""

import json
from collections.abc import Callable
from typing import Any

from tests.benchmarks.browsers import Browser
from tests.benchmarks.bursts import Contender, alternate
from tests.benchmarks.sites import Site, cpu_seconds
from tests.benchmarks.stage import Stage, Work
from tests.benchmarks.table import Row

TARGET = 0.9


def run(stage: Stage, *, bursts: int, size: int) -> list[Row]:
    """Places per CPU second at each load, what a list costs and weighs, and requests per CPU second."""
    taken = size // 5  # so few that a list stays as full as it was
    with Work(["-m", "tests.benchmarks.places", str(bursts), str(taken)], stage.service.environment) as work:
        found = json.loads(work.done())
    return [*_given(found["rates"]), *_made(found["made"]), *_served(stage, found["list"], bursts, size)]


def _given(rates: dict[str, float]) -> list[Row]:
    first, *others = rates
    rows = [
        Row(
            "e",
            f"places given, list {first} full",
            rates[first],
            "per CPU second",
            note="with the database's",
        )
    ]
    for load in others:
        ratio = rates[load] / rates[first]
        rows.append(Row("e", f"places given, list {load} full", rates[load], "per CPU second", ratio, TARGET))
    return rows


def _made(lists: dict[str, dict[str, Any]]) -> list[Row]:
    rows = []
    for share, cost in lists.items():
        label = f"a list of 2^20 with {share} invalid"
        rows.append(Row("e", f"{label}: made and signed", cost["milliseconds"], "ms of CPU"))
        rows.append(Row("e", f"{label}: on the wire", cost["gzip"], "bytes", note=f"{cost['plain']:,} plain"))
    return rows


def _served(stage: Stage, number: int, bursts: int, size: int) -> list[Row]:
    path = f"/status-lists/{number}"
    with stage.service.open() as service:
        with Browser(service.port) as browser:
            body = browser.get(path).body
        with stage.bare({path: body}).open() as bare:
            contenders = [
                Contender(str(site.port), _reader(site, path, len(body)), _accounts(site))
                for site in (service, bare)
            ]
            ours, floor = alternate(contenders, bursts=bursts, size=size)
    unit, note = "requests per CPU second", f"{len(body):,} bytes, against a bare Django view"
    return [
        Row("e", "a status list served", ours, unit, ours / floor, TARGET, note=note),
        Row("e", "the same from the bare view", floor, unit),
    ]


def _reader(site: Site, path: str, length: int) -> Callable[[int], None]:
    def burst(size: int) -> None:
        with Browser(site.port) as browser:
            for _ in range(size):
                answer = browser.get(path)
                if answer.status != 200 or abs(len(answer.body) - length) > 10:  # it may be signed anew
                    raise RuntimeError(f"{path} answered {answer.status}: {answer.body[:200]!r}")

    return burst


def _accounts(site: Site) -> Callable[[], float]:
    return lambda: cpu_seconds(site.worker)
