"""`deploy/restart` under load: real gunicorns behind the shipped nginx, on held sockets. No flow fails.

One test upgrades to this version from the previous one and goes back, on one database.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.instances import LONGEST, Instances, previous
from tests.journeys.load import Load
from tests.nginx_in_front import proxy
from tests.own_databases import ROOT, own_database, production, sandbox
from tests.ports import free_port
from tests.relying_party import RelyingParty
from tools.benchmarks.browsers import ORIGIN

pytestmark = [pytest.mark.postgresql, pytest.mark.nginx, pytest.mark.curl, pytest.mark.slow]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "srv").mkdir()
    (tmp_path / "nginx").mkdir()
    return tmp_path


@dataclass(frozen=True)
class Filled:
    """A database with signed-in holders, a relying party and a key, its environment, and who they are."""

    url: str
    environment: dict[str, str]
    facts: dict[str, Any]


@contextmanager
def filled(code: Path, folder: Path) -> Iterator[Filled]:
    """Filled by this code, as a sandbox, whose authority certifies the key; then it is production's."""
    with own_database() as url:
        ours = production(url, folder) | {"TRUSTED_PROXY_COUNT": "1", "WEB_CONCURRENCY": "1"}
        environment = {**ours, **sandbox(url, folder), "BASE_URL": ORIGIN}
        tools = "tools" if (code / "tools").is_dir() else "tests"  # 0.2.0 has the benchmarks among its tests
        command = [sys.executable, "-m", f"{tools}.benchmarks.holders", "2"]
        done = subprocess.run(
            command, cwd=code, env=environment, capture_output=True, text=True, timeout=LONGEST
        )
        assert done.returncode == 0, done.stderr
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("UPDATE keys_databasemark SET environment = 'production'")
        yield Filled(url, ours, json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    with filled(ROOT, tmp_path_factory.mktemp("template")) as found:
        yield found


Machine = tuple[Instances, Load, str]


@contextmanager
def machine(
    folder: Path, releases: Mapping[str, Path], data: Filled
) -> Iterator[tuple[Instances, Load, str]]:
    """Two instances of the first release behind nginx, a load that has not begun, and the database's URL."""
    with own_database(template=data.url) as url:
        ours, facts, port = data.environment | {"DATABASE_URL": url}, data.facts, free_port()
        with (
            Instances(folder / "srv", releases, ours) as instances,
            proxy(folder / "nginx", port, *instances.ports),
        ):
            people = zip(facts["emails"], facts["cookies"], strict=True)
            parties = [
                (RelyingParty(facts["client_id"], facts["redirect_uri"], ORIGIN), *one) for one in people
            ]
            yield instances, Load([port], parties, tls=True, rest=0.2), url


def answered(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT count(*) FROM consent_consent WHERE decision = 'granted'").fetchone()
    assert row
    return int(row[0])


def test_a_rolling_restart_fails_no_flow_and_answers_each_once(folder: Path, template: Filled) -> None:
    with machine(folder, {"now": ROOT}, template) as (instances, load, url):
        before = [instances.running[port].pid for port in instances.ports]
        with load:
            load.pause(0.5)
            done = instances.deploy_restart()
            load.pause(0.5)

        assert done.returncode == 0, done.stderr
        assert load.failed == []
        assert {instances.running[port].pid for port in instances.ports}.isdisjoint(before)
        assert answered(url) == len(load.tokens) > 3
        assert instances.said[-1] == "try-restart presentation-worker.service"


def test_an_upgrade_from_the_previous_version_and_the_way_back_fail_no_flow(folder: Path) -> None:
    """The previous version made the database, and this one migrates it while the previous one runs on it.

    The previous one refuses the form of a page of this one, and says to load the page again.
    """
    try:
        old = previous(folder / "before")
    except LookupError as without:
        pytest.skip(str(without))
    with (
        filled(old, folder) as data,
        machine(folder, {"before": old, "now": ROOT}, data) as (instances, load, url),
    ):
        load.loads_again = True
        with load:
            load.pause(0.5)
            up = instances.deploy_restart("now")
            load.pause(0.5)
            back = instances.deploy_restart("before")
            load.pause(0.5)

        assert up.returncode == 0, up.stderr
        assert back.returncode == 0, back.stderr
        assert "Every instance runs releases/now." in up.stderr
        assert load.failed == []
        assert answered(url) == len(load.tokens) > 3


def broken(folder: Path) -> Path:
    """A version whose checks and migrations pass, but whose web server does not start."""
    folder.mkdir()
    for each in ROOT.iterdir():
        if each.name not in (".venv", "var", ".git", "deploy"):
            (folder / each.name).symlink_to(each)
    (folder / "deploy").mkdir()
    (folder / "deploy" / "gunicorn.conf.py").write_text("import sys\nsys.exit('broken')\n")
    return folder


def test_a_version_that_does_not_start_is_taken_back_and_no_flow_fails(
    folder: Path, template: Filled
) -> None:
    with machine(folder, {"now": ROOT, "broken": broken(folder / "broken")}, template) as (
        instances,
        load,
        _url,
    ):
        second = instances.running[instances.ports[1]].pid
        with load:
            done = instances.deploy_restart("broken", PATIENCE="2")
            load.pause(0.5)

        assert done.returncode == 1
        assert "It runs releases/now again" in done.stderr
        assert instances.folder.joinpath("current").readlink() == Path("releases/now")
        assert instances.running[instances.ports[1]].pid == second
        assert load.failed == []
        assert len(load.tokens) > 3


def test_an_instance_that_does_not_come_up_leaves_everything_to_the_other(
    folder: Path, template: Filled
) -> None:
    with machine(folder, {"now": ROOT}, template) as (instances, load, _url):
        instances.environment["GUNICORN_CMD_ARGS"] = "--no-such-option"  # which no check reads
        done = instances.deploy_restart(PATIENCE="1")
        with load:
            load.pause(1)

        assert done.returncode == 1
        assert "Its socket is closed." in done.stderr
        assert list(instances.running) == instances.ports[1:]
        assert load.failed == []
        assert load.tokens


def test_nothing_restarts_while_the_check_or_the_migration_fails(folder: Path, template: Filled) -> None:
    with machine(folder, {"now": ROOT, "next": ROOT}, template) as (instances, _load, _url):
        before = dict(instances.running)
        instances.environment["DATABASE_FILE"] = "/nowhere"  # a warning of `check`
        done = instances.deploy_restart("next")

        assert done.returncode == 1
        assert "nothing was restarted" in done.stderr
        assert instances.running == before
        assert instances.folder.joinpath("current").readlink() == Path("releases/now")


def test_a_release_that_is_not_complete_is_refused_before_anything_happens(folder: Path) -> None:
    instances = Instances(
        folder / "srv", {"now": ROOT}, production("postgresql://nobody@127.0.0.1:1/x", folder)
    )
    (instances.folder / "releases" / "half").mkdir()

    for name in ("half", "none", "../now"):
        refused = instances.deploy_restart(name)
        assert refused.returncode == 1
        assert "is not complete" in refused.stderr

    instances.close()
    assert instances.said == []
