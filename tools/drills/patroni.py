"""Three database servers under Patroni and one etcd, on loopback, with the settings of `deploy/patroni`."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.pgcluster import Cluster, binaries
from tests.ports import free_port
from tools.benchmarks.servers import MissingProgramError

SETTINGS = Path(__file__).resolve().parents[2] / "deploy" / "patroni" / "patroni.yml"
LONGEST = 90.0  # seconds until a server has started or follows again


@dataclass
class Member:
    """One database server: the ports of PostgreSQL and of Patroni's REST interface, and its processes."""

    name: str
    folder: Path
    port: int = field(default_factory=free_port)
    rest: int = field(default_factory=free_port)
    patroni: "subprocess.Popen[bytes] | None" = None

    def role(self) -> str:
        """What Patroni says of this server; nothing if it does not run."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.rest}/patroni", timeout=5) as answer:
                found = json.load(answer)
        except OSError:  # also while PostgreSQL does not run: Patroni answers 503
            return ""
        if found["role"] in ("master", "primary"):
            return "leader"
        return "sync_standby" if found.get("sync_standby") else "replica"

    def kill(self) -> None:
        """Kills Patroni and PostgreSQL at once, as if the machine lost its power."""
        assert self.patroni
        for pid in [self.patroni.pid, *self._postgresql()]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.patroni.wait()

    def _postgresql(self) -> list[int]:
        """The postmaster and its children, if PostgreSQL runs."""
        try:
            postmaster = int((self.folder / "data" / "postmaster.pid").read_text().splitlines()[0])
            children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text()
        except FileNotFoundError:
            return []
        return [postmaster, *map(int, children.split())]


class Patroni:
    """The cluster; `url` names all its servers. `owner` gives the user of the processes, and its folder."""

    def __init__(self, owner: Cluster) -> None:
        self._owner, self._folder = owner, owner.root / "patroni"
        self._make_folder(self._folder)
        self._settings: dict[str, Any] = yaml.safe_load(SETTINGS.read_text())
        self.ttl: int = self._settings["bootstrap"]["dcs"]["ttl"]
        self.members = [Member(name, self._folder / name) for name in ("db1", "db2", "db3")]
        hosts = ",".join(f"127.0.0.1:{member.port}" for member in self.members)
        password = self._settings["postgresql"]["authentication"]["superuser"]["password"]
        options = "target_session_attrs=read-write&connect_timeout=2"
        self.url = f"postgresql://postgres:{password}@{hosts}/postgres?{options}"
        self._etcd_host = f"127.0.0.1:{free_port()}"
        client, peer = f"http://{self._etcd_host}", f"http://127.0.0.1:{free_port()}"
        words = ["--listen-client-urls", client, "--advertise-client-urls", client]
        words += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]
        words += ["--name", "etcd", "--initial-cluster", f"etcd={peer}", "--data-dir", f"{self._folder}/etcd"]
        self.etcd = self._run("etcd", "etcd", *words)

    def _make_folder(self, folder: Path) -> None:
        folder.mkdir()
        owner = self._owner.root.stat()
        os.chown(folder, owner.st_uid, owner.st_gid)

    def _run(self, name: str, *words: str) -> "subprocess.Popen[bytes]":
        with open(self._folder / f"{name}.log", "ab") as log:
            return subprocess.Popen(words, stdout=log, stderr=log, **self._owner.as_owner())

    def start(self, member: Member) -> None:
        """Starts Patroni, which starts PostgreSQL."""
        path = self._folder / f"{member.name}.yml"
        path.write_text(json.dumps(self._settings_of(member)))  # JSON is YAML as well
        if not member.folder.exists():
            self._make_folder(member.folder)
        member.patroni = self._run(member.name, "patroni", str(path))

    def _settings_of(self, member: Member) -> dict[str, Any]:
        """The file of `deploy/patroni` with the addresses and folders of this server."""
        rest, port = f"127.0.0.1:{member.rest}", f"127.0.0.1:{member.port}"
        postgresql = self._settings["postgresql"]
        return self._settings | {
            "name": member.name,
            "restapi": {"listen": rest, "connect_address": rest},
            "etcd3": {"hosts": [self._etcd_host]},
            "watchdog": {"mode": "off"},
            "postgresql": postgresql
            | {
                "listen": port,
                "connect_address": port,
                "data_dir": str(member.folder / "data"),
                "bin_dir": str(binaries()),
                "pgpass": str(member.folder / "pgpass"),
                "pg_hba": [line.replace("10.0.0.0/24", "127.0.0.1/32") for line in postgresql["pg_hba"]],
                "parameters": postgresql["parameters"] | {"unix_socket_directories": str(member.folder)},
            },
        }

    def switch_over(self) -> None:
        """Does what `patronictl switchover` does; returns when another server is the primary."""
        leader = self.member("leader")
        body = json.dumps({"leader": leader.name}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{leader.rest}/switchover", body, method="POST")
        urllib.request.urlopen(request, timeout=LONGEST).close()

    def member(self, role: str) -> Member:
        """The server with this role."""
        return next(member for member in self.members if member.role() == role)

    def until_roles(self, *wanted: str) -> None:
        """Waits until the servers that run have these roles. etcd remembers a killed one for the ttl."""
        until(lambda: sorted(filter(None, map(Member.role, self.members))) == sorted(wanted), f"not {wanted}")

    def until_whole(self) -> None:
        """Waits until all three run, one of them as the primary's synchronous standby."""
        self.until_roles("leader", "sync_standby", "replica")

    def stop(self) -> None:
        """Kills everything; the data is removed with the folder of `owner`."""
        for member in self.members:
            if member.patroni:
                member.kill()
        self.etcd.kill()
        self.etcd.wait()


@contextlib.contextmanager
def cluster(owner: Cluster) -> Iterator[Patroni]:
    """A whole cluster. Raises MissingProgramError."""
    if not (shutil.which("patroni") and shutil.which("etcd")):
        raise MissingProgramError("The drill `failover` needs Debian’s patroni and etcd-server.")
    found = Patroni(owner)
    try:
        found.start(found.members[0])
        found.until_roles("leader")
        for member in found.members[1:]:
            found.start(member)
        found.until_whole()
        yield found
    finally:
        found.stop()


def until(true: Callable[[], bool], otherwise: str) -> None:
    deadline = time.monotonic() + LONGEST
    while not true():
        if time.monotonic() > deadline:
            raise RuntimeError(otherwise)
        time.sleep(0.1)
