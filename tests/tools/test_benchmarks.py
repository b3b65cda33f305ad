"""What the benchmarks reckon and compare with; `.ci/run` runs them. No test checks how fast anything is."""

import os
from collections.abc import Iterator

import psycopg
import pytest

from tests.pgcluster import Cluster, binaries
from tools.benchmarks import provider
from tools.benchmarks.browsers import Browser
from tools.benchmarks.bursts import Contender, Ratio, alternate
from tools.benchmarks.servers import create
from tools.benchmarks.sites import children
from tools.benchmarks.table import Row


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL for the provider; nothing is left running."""
    before = children(os.getpid())
    running = Cluster(binaries())
    yield running
    running.stop()
    assert children(os.getpid()) == before


@pytest.mark.postgresql
@pytest.mark.node_provider
def test_node_oidc_provider_asks_for_consent_in_every_flow_and_keeps_its_state_in_postgresql(
    cluster: Cluster,
) -> None:
    create(cluster, "provider")
    with provider.Provider(cluster) as server:
        (holder,) = provider.provider_holders(server, 1)
        with Browser(server.port, holder.cookies) as browser:
            for number in (1, 2):
                # `give` fails if no page with a form comes before the answer.
                assert browser.give(holder.request(), holder.yes).startswith(holder.answer)
                assert browser.requests == 4 * number  # authorize, page, confirm, resume
        with Browser(server.port) as stranger, pytest.raises(RuntimeError, match="403"):
            stranger.give(holder.request(), holder.yes)
        database = cluster.url.replace("/postgres?", "/provider?")
        with psycopg.connect(database) as connection:
            codes = connection.execute(
                "SELECT count(*) FROM state WHERE kind = 'AuthorizationCode'"
            ).fetchall()
            assert codes == [(3,)]
            assert connection.execute("SHOW synchronous_commit").fetchall() == [("on",)]


def test_bursts_take_turns_and_the_median_of_pairs_decides() -> None:
    clock, order = [0.0], []

    def contender(name: str, seconds_each: list[float]) -> Contender:
        costs = iter(seconds_each)

        def burst(size: int) -> None:
            order.append(name)
            clock[0] += size * next(costs)

        return Contender(name, burst, lambda: clock[0], lambda: 2 * clock[0])

    slow = contender("slow", [9.0, 0.5, 0.5, 4.0])  # the first warms up, the last is an outlier
    fast = contender("fast", [9.0, 0.1, 0.2, 0.1])
    measured = alternate([slow, fast], bursts=3, size=10)
    assert order == ["slow", "fast", "slow", "fast", "fast", "slow", "slow", "fast"]
    assert [measured.rate(0), measured.rate(1)] == pytest.approx([2.0, 10.0])
    ratio = measured.ratio(1, 0)  # of the pairs 5, 2.5 and 40
    assert [ratio.low, ratio.median, ratio.high] == pytest.approx([3.75, 5.0, 22.5])
    assert measured.rate(0, database=True) == pytest.approx(2.0 / 3)
    assert measured.database_alone(1) == pytest.approx(0.8 / 3)


def test_a_ratio_meets_its_target_from_above_or_from_below() -> None:
    assert Row("b", "flow", 100, "per second", 1.5, 1.5).met
    assert not Row("b", "flow", 100, "per second", 1.4, 1.5).met
    assert Row("d", "memory", 90, "MB", 1.01, 1.03, at_most=True).met
    assert not Row("d", "memory", 90, "MB", 1.04, 1.03, at_most=True).met
    assert Row("b", "peer", 70, "per second").met is None
    assert Row("b", "flow", 100, "per second", Ratio(1.5, 1.0, 1.6), 1.5).met
