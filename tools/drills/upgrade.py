"""The drill of an upgrade: a cluster goes from the release before to this one and back, under load.

There are three database servers under Patroni, and two machines with an instance each and what runs in the
background. The commands are those of docs/operate.md. PostgreSQL restarts as after an update of its packages.
"""

import base64
import json
import os
import signal
import ssl
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import psycopg

from tests.instances import Instances, commands, previous
from tools.benchmarks.servers import MissingProgramError, Work
from tools.benchmarks.sites import ROOT, die_with_parent
from tools.drills.drill import AFTER, WARM, document
from tools.drills.instances import Proxy
from tools.drills.mail import Mail, newcomers
from tools.drills.patroni import Patroni, cluster
from tools.drills.people import Outcome
from tools.drills.place import HOLDERS, Installation, Place, database
from tools.drills.reckoning import reckon
from tools.drills.results import Result

OLD = "0.2.0"
NEW: str = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
PAUSE = 0.2  # seconds between two presentations of a person, so that instances start while people present
WORKER = "presentation-worker.service"
OLD_UNITS = ("presentation-emails.service", "presentation-webhooks.service")
OLD_TIMERS = ("rotate_signing_keys", "sweep_identity_verifications", "clear_expired", "send_share_emails")
NEWCOMERS = 2
LIMIT = {"REQUESTS_PER_CLIENT": "3000"}  # newcomers come from few addresses
ENVIRONMENT = {OLD: LIMIT | {"SIGN_IN_EMAILS_PER_CLIENT": "3000"}, NEW: LIMIT}  # 0.3.0 refuses that name


class Machine(Instances):
    """One machine with an instance, and the units that run in the background there.

    `shared` is the part of the environment that both releases have.
    """

    def __init__(self, folder: Path, releases: Mapping[str, Path], shared: Mapping[str, str]) -> None:
        folder.mkdir()
        super().__init__(folder, releases, shared, instances=1)
        self._releases, self._shared = releases, dict(shared)
        self.units: dict[str, subprocess.Popen[bytes]] = {}
        self.write_environment(OLD)

    def write_environment(self, release: str) -> None:
        """Writes the environment file of this release."""
        self.environment = self._shared | ENVIRONMENT[release]

    def switch(self, release: str) -> None:
        """Runs `deploy/restart` with the name of this release."""
        done = self.deploy_restart(release)
        if done.returncode:
            raise RuntimeError(done.stderr + (self.folder / "log").read_text(errors="replace")[-3000:])

    def enable(self, *units: str) -> None:
        """Does what `systemctl enable --now` does."""
        for unit in units:
            (command,) = commands(unit, self._releases[OLD if unit in OLD_UNITS else NEW])
            self.units[unit] = subprocess.Popen(
                command, **self._where(), stdout=self.log, stderr=self.log, preexec_fn=die_with_parent
            )

    def disable(self, *units: str) -> None:
        """Does what `systemctl disable --now` does."""
        for unit in units:
            process = self.units.pop(unit)
            process.terminate()
            process.wait(60)

    def manage(self, command: str) -> None:
        """Runs a management command to its end."""
        words = commands("presentation-migrate.service")[0][:2]  # Python and manage.py
        done = subprocess.run([*words, command], **self._where(), capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{command}: {done.stdout}{done.stderr}")

    def systemctl(self, words: list[str]) -> tuple[bool, str]:
        """As the base class, with the units of this machine. One that fails at its start fails later."""
        match words:
            case ["show", "--property=Wants", "--value", "multi-user.target"]:
                return True, " ".join(self.units)
            case ["try-restart", unit]:
                self.disable(unit)
                self.enable(unit)
                return True, ""
        return super().systemctl(words)

    def close(self) -> None:
        self.disable(*self.units)
        super().close()

    def _where(self) -> dict[str, Any]:
        return {"cwd": (self.folder / "current").resolve(), "env": self.environment | self.state()}


class Site:
    """The whole cluster, and the steps of its upgrade."""

    def __init__(self, where: Installation, machines: list[Machine], servers: Patroni, old: Path) -> None:
        self.where, self._machines, self._servers, self._old = where, machines, servers, old

    def up(self) -> None:
        """Web and worker, one machine after the other. The first one migrates."""
        self._reload_nginx(ROOT)
        for machine in self._machines:
            machine.write_environment(NEW)
            machine.switch(NEW)
            machine.enable(WORKER)
            machine.disable(*OLD_UNITS)

    def standbys(self) -> None:
        """PostgreSQL on both standbys."""
        for standby in self._servers.standbys():
            self._servers.restart_postgresql(standby)

    def primary(self) -> None:
        """PostgreSQL on the primary, which is a standby by then."""
        former = self._servers.member("leader")
        self._servers.switch_over()
        self._servers.restart_postgresql(former)

    def back(self) -> None:
        """Web and worker, one machine after the other. The database stays as it is."""
        self._reload_nginx(self._old)
        for machine in self._machines:
            if machine.units[WORKER].poll() is not None:
                raise RuntimeError("a worker has ended")
            machine.disable(WORKER)
            machine.write_environment(OLD)
            machine.switch(OLD)
            machine.enable(*OLD_UNITS)
        self.timers()

    def timers(self) -> None:
        """What the timers of the old release start."""
        for command in OLD_TIMERS:
            self._machines[0].manage(command)

    def _reload_nginx(self, code: Path) -> None:
        self.where.proxy.configure(code)
        assert self.where.proxy.process
        self.where.proxy.process.send_signal(signal.SIGHUP)


def upgrade(place: Place) -> Iterator[Result]:
    """Takes a cluster from the release before to this one and back. One result, of all steps."""
    try:
        old = previous(place.folder / "before")
    except LookupError as error:
        raise MissingProgramError(str(error)) from None
    mail = Mail(place.folder / "mail")
    mail.start()
    try:
        with cluster(place.cluster) as servers, _site(place, servers, old, mail.environment) as site:
            yield _under_load(site, mail)
    finally:
        mail.stop()


@contextmanager
def _site(place: Place, servers: Patroni, old: Path, changes: Mapping[str, str]) -> Iterator[Site]:
    url, facts = _filled(place, servers, old)
    shared = {"PATH": os.environ["PATH"], **place.environment(url), **changes}
    with ExitStack() as stack:
        machines = [
            stack.enter_context(Machine(place.folder / name, {OLD: old, NEW: ROOT}, shared))
            for name in ("one", "two")
        ]
        for machine in machines:
            machine.enable(*OLD_UNITS)
        ports = [port for machine in machines for port in machine.ports]
        proxy = Proxy(place.folder / "nginx", place.port, ports)
        proxy.configure(old)
        stack.enter_context(proxy)
        yield Site(Installation(place, url, facts, [], proxy, shared), machines, servers, old)


def _filled(place: Place, servers: Patroni, old: Path) -> tuple[str, dict[str, Any]]:
    """A database that the old release has made, and what `tools.drills.prepare` would say of it."""
    url = database(servers.url, "service")
    with psycopg.connect(servers.url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE service")
    environment = place.environment(url) | {"ENVIRONMENT": "sandbox"}
    with Work(["-m", "tests.benchmarks.holders", str(HOLDERS)], environment, code=old) as filling:
        facts: dict[str, Any] = json.loads(filling.done())
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE keys_databasemark SET environment = 'production'")
        (root,) = connection.execute("SELECT root_pem FROM keys_authority").fetchone() or ("",)
    der = base64.b64encode(ssl.PEM_cert_to_DER_cert(root)).decode()
    holders = list(zip(facts["emails"], facts["cookies"], strict=True))
    return url, facts | {"root": der, "holders": holders}


def _under_load(site: Site, mail: Mail) -> Result:
    steps = (
        ("web and worker", site.up),
        ("standbys", site.standbys),
        ("switchover and former primary", site.primary),
        ("back", site.back),
    )
    took: list[str] = []
    site.timers()
    with site.where.crowd(pause=PAUSE) as crowd, newcomers(site.where, mail, NEWCOMERS) as came:
        for name, step in steps:
            crowd.wait_for(WARM)
            began, before = monotonic(), len(crowd.flows)
            step()
            took.append(f"{name} {monotonic() - began:.0f} s")
            crowd.wait_for(AFTER)
            troubled = sum(not flow.clean for flow in crowd.flows[before:])
            print(f"{took[-1]}, {troubled} flows met trouble", file=sys.stderr, flush=True)
    if crowd.failed:
        raise RuntimeError(f"the drill itself failed: {crowd.failed}") from crowd.failed[0]
    where = site.where
    count = reckon(crowd.flows, where.url, where.party(), lambda url: document(where, url))
    result = Result(f"a cluster from {OLD} to {NEW}, and back", count)
    result.untroubled()
    others = [flow for flow in came if flow.outcome is not Outcome.ANSWERED or flow.server_errors]
    result.target(not others, f"{len(came) - len(others)} of {len(came)} newcomers signed in")
    for page, count in Counter(flow.last_page or "no end in time" for flow in others).items():
        result.said.append(f"{count} newcomers: {page}")
    result.said.append(", ".join(took))
    return result
