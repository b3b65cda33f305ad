"""Benchmark (c): published documents, compared with a bare Django view that returns the same bytes."""

from collections.abc import Callable

from tools.benchmarks.browsers import Browser
from tools.benchmarks.bursts import Contender, alternate
from tools.benchmarks.servers import Servers
from tools.benchmarks.sites import Site, cpu_seconds
from tools.benchmarks.table import Row

DOCUMENTS = {"key set (JWKS)": "/openid-connect/jwks", "discovery": "/.well-known/openid-configuration"}
TARGET = 1.0


def run(servers: Servers, *, bursts: int, size: int) -> list[Row]:
    """Requests per second of server CPU for each document, and the ratio to the bare view."""
    with servers.service.open() as service:
        bodies = {path: _body(service, path) for path in DOCUMENTS.values()}
        with servers.bare(bodies).open() as bare:
            contenders = [
                Contender(f"{path} of {site.port}", _reader(site, path, body), _accounts(site))
                for path, body in bodies.items()
                for site in (service, bare)
            ]
            measured = alternate(contenders, bursts=bursts, size=size)
    rows = []
    for number, label in enumerate(DOCUMENTS):
        ours, bare_view = 2 * number, 2 * number + 1
        unit, ratio = "requests per CPU second", measured.ratio(ours, bare_view)
        note = "against a bare Django view"
        rows.append(Row("c", label, measured.rate(ours), unit, ratio, TARGET, note=note))
        rows.append(Row("c", f"{label}, from the bare view", measured.rate(bare_view), unit))
    return rows


def _body(site: Site, path: str) -> bytes:
    with Browser(site.port) as browser:
        return browser.get(path).body


def _reader(site: Site, path: str, body: bytes) -> Callable[[int], None]:
    def burst(size: int) -> None:
        with Browser(site.port) as browser:
            for _ in range(size):
                answer = browser.get(path)
                if answer.status != 200 or answer.body != body:
                    raise RuntimeError(f"{path} answered {answer.status}: {answer.body[:200]!r}")

    return burst


def _accounts(site: Site) -> Callable[[], float]:
    return lambda: cpu_seconds(site.worker)
