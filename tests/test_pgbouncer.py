"""A real PgBouncer whose server connections are shared: each client gets its own rows, or is refused."""

import json
import os
import secrets
from collections import Counter
from collections.abc import Iterator
from time import sleep
from typing import Any

import psycopg
import pytest

from tests.pgbouncer import pgbouncer
from tests.pgcluster import Cluster, binaries
from tests.warm_start import WarmSite, run
from tools.benchmarks.browsers import ORIGIN, Browser
from tools.benchmarks.flows import Holder, parallel_flows, service_holders
from tools.benchmarks.servers import Prepared, Work

pytestmark = [pytest.mark.postgresql, pytest.mark.pgbouncer]
JWKS = "/openid-connect/jwks"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    bindir = binaries()
    if bindir is None:
        pytest.skip("could not run without PostgreSQL's programs")
    running = Cluster(bindir)
    with psycopg.connect(running.url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE service")
    yield running
    running.stop()


@pytest.fixture(scope="module")
def environment(cluster: Cluster, tmp_path_factory: Any) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "ENVIRONMENT": "sandbox",
        "BASE_URL": ORIGIN,
        "DATABASE_URL": of_service(cluster.url),
        "SECRET_KEY": secrets.token_urlsafe(32),
        "KEY_SEALING_KEYS": secrets.token_urlsafe(32),
        "STATE_DIRECTORY": str(tmp_path_factory.mktemp("state")),
        "TRUSTED_PROXY_COUNT": "1",
        "LOG_LEVEL": "ERROR",
    }


@pytest.fixture(scope="module")
def holders(environment: dict[str, str]) -> list[Holder]:
    """Migrates and fills the database directly, without PgBouncer, as docs/database.md says."""
    with Work(["-m", "tools.benchmarks.holders", "4"], environment) as filling:
        facts = json.loads(filling.done())
    return service_holders(Prepared("config.wsgi", environment, JWKS, facts))


def of_service(url: str) -> str:
    return url.replace("/postgres?", "/service?")


def got(environment: dict[str, str]) -> Counter[str]:
    """The counts that `tests.pooled_clients` prints."""
    ended = run(environment, "-m", "tests.pooled_clients")
    assert ended.returncode == 0, ended.stderr[-3000:]
    return Counter(json.loads(ended.stdout))


@pytest.mark.usefixtures("holders")
def test_clients_that_share_connections_get_their_own_rows_and_no_error(
    cluster: Cluster, environment: dict[str, str]
) -> None:
    with pgbouncer(cluster) as url:
        found = got(environment | {"DATABASE_URL": of_service(url), "DATABASE_POOLER": "transaction"})

    assert set(found) == {"mine"}


@pytest.mark.usefixtures("holders")
def test_with_prepared_statements_clients_would_get_the_rows_of_others(
    cluster: Cluster, environment: dict[str, str]
) -> None:
    """Shows the danger: a pooler in transaction mode while the setting says session mode."""
    with pgbouncer(cluster) as url:
        found = got(environment | {"DATABASE_URL": of_service(url), "DATABASE_POOLER": "session"})

    assert found.total() - found["mine"] > 0


def test_parallel_flows_of_several_holders_end_with_their_own_answers(
    cluster: Cluster, environment: dict[str, str], holders: list[Holder]
) -> None:
    with pgbouncer(cluster) as url:
        pooled = environment | {"DATABASE_URL": of_service(url), "DATABASE_POOLER": "transaction"}
        with WarmSite("config.wsgi", pooled, ready=JWKS) as site:
            parallel_flows(site, holders, at_once=4)(24)


@pytest.mark.usefixtures("holders")
@pytest.mark.parametrize(("mode", "ignored"), [("transaction", "options"), ("session", "")])
def test_a_pooler_that_the_settings_do_not_name_is_refused(
    cluster: Cluster, environment: dict[str, str], mode: str, ignored: str
) -> None:
    with pgbouncer(cluster, mode=mode, ignored=ignored) as url:
        undeclared = environment | {"DATABASE_URL": of_service(url)}
        command = run(undeclared, "manage.py", "list_signing_keys")
        check = run(undeclared, "manage.py", "check", "--deploy")
        declared = run(undeclared | {"DATABASE_POOLER": mode}, "manage.py", "list_signing_keys")

    assert command.returncode != 0
    assert "Set DATABASE_POOLER to its mode" in command.stderr
    assert "infra.E003" in check.stderr
    assert declared.returncode == 0, declared.stderr


@pytest.mark.usefixtures("holders")
def test_the_checks_warn_of_options_in_the_address_of_a_pooler(
    cluster: Cluster, environment: dict[str, str]
) -> None:
    with pgbouncer(cluster, ignored="options") as url:
        told = environment | {
            "DATABASE_URL": f"{of_service(url)}&options=-c%20statement_timeout%3D1s",
            "DATABASE_POOLER": "transaction",
        }
        check = run(told, "manage.py", "check", "--deploy")

    assert "infra.W001" in check.stderr
    assert "infra.E003" not in check.stderr


@pytest.mark.usefixtures("holders")
@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_the_checks_warn_of_a_server_behind_a_pooler_without_a_statement_timeout(
    cluster: Cluster, environment: dict[str, str], mode: str
) -> None:
    """The service cannot send its limits through a pooler, so the database has to have them."""
    setting = "ALTER ROLE postgres IN DATABASE service {}"
    with psycopg.connect(cluster.url, autocommit=True) as owner:
        with pgbouncer(cluster, mode=mode) as url:
            told = environment | {"DATABASE_URL": of_service(url), "DATABASE_POOLER": mode}
            without = run(told, "manage.py", "check", "--deploy")
        owner.execute(setting.format("SET statement_timeout = '5s'"))
        try:
            with pgbouncer(cluster, mode=mode) as url:
                limited = run(told, "manage.py", "check", "--deploy")
        finally:
            owner.execute(setting.format("RESET statement_timeout"))
    directly = run(environment, "manage.py", "check", "--deploy")

    assert "infra.W002" in without.stderr
    for quiet in (limited, directly):
        assert "infra.W002" not in quiet.stderr


def test_requests_fail_while_the_database_behind_it_hangs_and_succeed_afterwards(
    cluster: Cluster, environment: dict[str, str], holders: list[Holder]
) -> None:
    with pgbouncer(cluster) as url:
        pooled = environment | {"DATABASE_URL": of_service(url), "DATABASE_POOLER": "transaction"}
        told = {"DATABASE_ANSWER_TIMEOUT": "3"}
        with WarmSite("config.wsgi", pooled | told, ready=JWKS) as site:

            def status(path: str) -> int:
                with Browser(site.port, holders[0].cookies) as browser:
                    return browser.get(path).status

            assert status("/wallet/history/") == 200
            with cluster.hanging():
                assert [status("/wallet/history/") for _ in range(3)] == [503] * 3
                assert status(JWKS) == 200
            for _ in range(100):
                if status("/wallet/history/") == 200:
                    break
                sleep(0.2)
            parallel_flows(site, holders, at_once=4)(4)
