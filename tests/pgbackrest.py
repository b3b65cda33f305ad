"""A pgBackRest repository with the configuration of deploy/pgbackrest, and clusters restored from it."""

import os
import re
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psycopg

from tests.pgcluster import Cluster, short_folder
from tests.programs import pgbackrest

ROOT = Path(__file__).parents[1]
SHIPPED = ROOT / "deploy" / "pgbackrest"
SECTION = (ROOT / "docs" / "operate.md").read_text().partition("\n### After a restore to a moment\n")[2]
BLOCKS = re.findall(r"^```console\n(.*?)^```", SECTION, re.MULTILINE | re.DOTALL)
PATIENCE = 300.0  # seconds


def after_a_restore(environment: Mapping[str, str], moment: str, log: Path) -> str:
    """What the commands of docs/operate.md after a restore print, with this moment and this log."""
    script = re.sub("MOMENT='.*?'", f"MOMENT='{moment}'", BLOCKS[1].replace("# ", "")).replace(
        "cat log", f"cat {log}"
    )
    return _shell(environment, script)


def accept_the_gap(environment: Mapping[str, str], codes: Mapping[str, str]) -> str:
    """What the command of docs/operate.md prints with which two operators accept the gap after a restore."""
    (command,) = re.findall("manage.py accept_audit_gap .*", BLOCKS[2])
    for operator in codes:
        command = command.replace("<user name>", operator, 1)
    return _shell(environment, command, given="".join(f"{code}\n" for code in codes.values()))


def _shell(environment: Mapping[str, str], script: str, *, given: str = "") -> str:
    begins = f"set -eo pipefail; manage.py() {{ '{sys.executable}' manage.py \"$@\"; }}\n"
    done = subprocess.run(
        ["bash", "-c", begins + script],
        cwd=ROOT,
        env={**environment, "PATH": os.environ["PATH"]},
        input=given,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    if done.returncode:
        raise RuntimeError(f"{done.stdout}\n{done.stderr[-3000:]}")
    return done.stdout


class Repository:
    """Configuration and repository in a folder of their own, which outlives the cluster."""

    def __init__(self, root: Path | None = None) -> None:
        """root: a copy of the folder of another one."""
        self.root = root or short_folder("pgbackrest-")
        self._command = f"{pgbackrest()} --stanza=presentation --config={self.root}/pgbackrest.conf"
        self._command += f" --config-include-path={self.root}/conf.d"
        if root is None:
            for name in ("conf.d", "log", "repository"):
                (self.root / name).mkdir()
            self.encrypt()

    def encrypt(self) -> None:
        """Makes the file with the passphrase."""
        text = f"[global]\nrepo1-cipher-pass={secrets.token_urlsafe(36)}\n"
        (self.root / "conf.d" / "passphrase.conf").write_text(text)

    def options(self) -> dict[str, str]:
        """The settings of archive.conf, for a cluster."""
        found = dict(
            re.findall(r"^(\w+) = '?([^'\n]+)", (SHIPPED / "archive.conf").read_text(), re.MULTILINE)
        )
        found["archive_command"] = found["archive_command"].replace("pgbackrest", self._command, 1)
        found["archive_command"] = found["archive_command"].replace(" --stanza=presentation", "", 1)
        return found | {"full_page_writes": "on"}

    def serve(self, cluster: Cluster) -> None:
        """From now on pgBackRest reads and writes this cluster."""
        text = (SHIPPED / "pgbackrest.conf").read_text()
        text = re.sub(r"(?m)^repo1-path=.*", f"repo1-path={self.root}/repository", text)
        text = re.sub(r"(?m)^pg1-path=.*", f"pg1-path={cluster.root}/d", text)
        paths = "".join(f"{kind}-path={self.root}/{kind}\n" for kind in ("log", "lock", "spool"))
        text += f"pg1-socket-path={cluster.root}\npg1-user=postgres\n[global]\n{paths}"
        (self.root / "pgbackrest.conf").write_text(text)
        owner = cluster.root.stat()
        for path in [self.root, *self.root.rglob("*")]:
            os.chown(path, owner.st_uid, owner.st_gid)
        self._as_owner: dict[str, Any] = cluster.as_owner()

    def run(self, *words: str) -> str:
        """The output of a command of pgBackRest."""
        command = [*self._command.split(), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, **self._as_owner)
        if done.returncode:
            raise RuntimeError(f"pgbackrest {words}: {done.stdout}{done.stderr}")
        return done.stdout

    def remove(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)


class Restored(Cluster):
    """A new cluster, restored to a moment; without one to the end of the archive. `took` is in seconds."""

    def __init__(self, bindir: Path, repository: Repository, moment: str = "", **options: str) -> None:
        self._repository, began = repository, time.monotonic()
        self._target = ["--type=time", f"--target={moment}"] if moment else ["--type=default"]
        super().__init__(bindir, **(repository.options() | options))
        self._until_promoted()
        self.took = time.monotonic() - began

    def _make(self) -> None:
        (self.root / "d").mkdir(mode=0o700)
        os.chown(self.root / "d", self.root.stat().st_uid, self.root.stat().st_gid)
        self._repository.serve(self)
        promote = ["--target-action=promote"] if len(self._target) > 1 else []
        self._repository.run("--delta", *self._target, *promote, "restore")

    def _until_promoted(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with psycopg.connect(self.url) as connection:
                if connection.execute("SELECT pg_is_in_recovery()").fetchone() == (False,):
                    return
            time.sleep(0.1)
        raise RuntimeError((self.root / "log").read_text()[-3000:])
