"""Three database servers under Patroni and one etcd, on loopback, with the settings of `deploy/patroni`."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
import urllib.error
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
    data: Path
    port: int = field(default_factory=free_port)
    rest: int = field(default_factory=free_port)
    patroni: "subprocess.Popen[bytes] | None" = None

    def role(self) -> str:
        """What Patroni on this server says; empty if it or PostgreSQL does not run."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.rest}/patroni", timeout=5) as answer:
                found = json.load(answer)
        except OSError:
            return ""
        if found["state"] != "running":  # a former primary stops, and starts again as a standby
            return ""
        if found["role"] in ("master", "primary"):
            return "leader"
        return "sync_standby" if found.get("sync_standby") else "replica"

    def request(self, path: str, body: dict[str, str]) -> tuple[int, str]:
        """The status and the text with which Patroni on this server answers a POST."""
        url = f"http://127.0.0.1:{self.rest}/{path}"
        request = urllib.request.Request(url, json.dumps(body).encode(), method="POST")
        try:
            with urllib.request.urlopen(request, timeout=LONGEST) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def try_to_restart(self) -> bool:
        """Restarts PostgreSQL; returns False if Patroni still does something else with this server.

        Raises RuntimeError if the restart fails.
        """
        status, text = self.request("restart", {})
        if status != 200 and not text.endswith("already in progress"):
            raise RuntimeError(f"the restart of {self.name} failed: {status} {text}")
        return status == 200

    def lose(self) -> None:
        """Stops Patroni and PostgreSQL: as without power nothing answers, and no connection is closed."""
        self._signal(signal.SIGSTOP)

    def kill(self) -> None:
        """Kills Patroni and PostgreSQL, also after `lose`."""
        if self.patroni:
            self._signal(signal.SIGKILL)
            self.patroni.wait()

    def _signal(self, number: int) -> None:
        assert self.patroni
        pids = [self.patroni.pid]
        with contextlib.suppress(FileNotFoundError):  # PostgreSQL does not run
            postmaster = (self.data / "postmaster.pid").read_text().split()[0]
            children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
            pids += map(int, [postmaster, *children])
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


class Patroni:
    """The cluster; `url` names all its servers. `owner` gives the user of the processes, and its folder."""

    def __init__(self, owner: Cluster) -> None:
        self._owner, self._folder = owner, owner.root / "patroni"
        self._folder.mkdir()
        os.chown(self._folder, owner.root.stat().st_uid, owner.root.stat().st_gid)
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

    def _run(self, name: str, *words: str) -> "subprocess.Popen[bytes]":
        with open(self._folder / f"{name}.log", "ab") as log:
            return subprocess.Popen(words, stdout=log, stderr=log, **self._owner.as_owner())

    def start(self, member: Member) -> None:
        """Starts Patroni, which starts PostgreSQL."""
        path = self._folder / f"{member.name}.yml"
        path.write_text(json.dumps(self._settings_of(member)))  # JSON is YAML as well
        member.patroni = self._run(member.name, "patroni", str(path))

    def restart(self, member: Member) -> None:
        """Gives a lost machine its power back."""
        member.kill()
        self.start(member)

    def _settings_of(self, member: Member) -> dict[str, Any]:
        """The file of `deploy/patroni` with the addresses and folders of this server."""
        hosts = (f"127.0.0.1:{port}" for port in (member.rest, member.port))
        rest, port = ({"listen": host, "connect_address": host} for host in hosts)
        postgresql = self._settings["postgresql"] | port
        postgresql["data_dir"], postgresql["bin_dir"] = str(member.data), str(binaries())
        postgresql["pgpass"] = f"{self._folder}/pgpass-{member.name}"
        postgresql["pg_hba"] = [rule.replace("10.0.0.0/24", "127.0.0.1/32") for rule in postgresql["pg_hba"]]
        postgresql["parameters"] = postgresql["parameters"] | {"unix_socket_directories": str(self._folder)}
        changes = {"name": member.name, "restapi": rest, "etcd3": {"hosts": [self._etcd_host]}}
        return self._settings | changes | {"watchdog": {"mode": "off"}, "postgresql": postgresql}

    def switch_over(self) -> None:
        """Does what `patronictl switchover` does; returns when another server is the primary."""
        leader = self.member("leader")
        status, text = leader.request("switchover", {"leader": leader.name})
        if status != 200:
            raise RuntimeError(f"the switchover failed: {status} {text}")

    def restart_postgresql(self, member: Member) -> None:
        """Does what `patronictl restart` does with one server, as after an update of its packages.

        Patroni refuses while it does something else there, such as the demotion after a switchover.
        """
        self.until_whole()
        until(member.try_to_restart, f"Patroni is busy with {member.name}")
        self.until_whole()

    def member(self, role: str) -> Member:
        """The server with this role."""
        return next(member for member in self.members if member.role() == role)

    def standbys(self) -> list[Member]:
        """The servers that follow the primary."""
        leader = self.member("leader")
        return [member for member in self.members if member is not leader]

    def logs(self) -> str:
        """The last lines of the log of each process."""
        tails = {path.name: path.read_text(errors="replace")[-6000:] for path in self._folder.glob("*.log")}
        return "\n".join(f"{name}:\n{tail}" for name, tail in sorted(tails.items()))

    def until_roles(self, *wanted: str) -> None:
        """Waits until the servers that run have these roles. etcd remembers a killed one for the ttl."""
        until(lambda: sorted(filter(None, map(Member.role, self.members))) == sorted(wanted), f"not {wanted}")

    def until_whole(self) -> None:
        """Waits until all three run, one of them as the primary's synchronous standby."""
        self.until_roles("leader", "sync_standby", "replica")

    def stop(self) -> None:
        """Kills everything; the data is removed with the folder of `owner`."""
        for member in self.members:
            member.kill()
        self.etcd.kill()
        self.etcd.wait()


@contextlib.contextmanager
def cluster(owner: Cluster) -> Iterator[Patroni]:
    """A whole cluster. Raises MissingProgramError."""
    if not (shutil.which("patroni") and shutil.which("etcd")):
        raise MissingProgramError("This drill needs Debian’s patroni and etcd-server.")
    found = Patroni(owner)
    try:
        found.start(found.members[0])
        found.until_roles("leader")
        for member in found.members[1:]:
            found.start(member)
        found.until_whole()
        yield found
    except Exception as error:
        error.add_note(found.logs())
        raise
    finally:
        found.stop()


def until(true: Callable[[], bool], otherwise: str) -> None:
    deadline = time.monotonic() + LONGEST
    while not true():
        if time.monotonic() > deadline:
            raise RuntimeError(otherwise)
        time.sleep(0.1)
