"""Instances behind nginx as on a machine with systemd: held sockets, `current`, and `deploy/restart`.

systemd itself cannot run inside a test. `Instances` does what it does with the shipped units: it holds the
sockets, starts the commands of the units with LISTEN_FDS and NOTIFY_SOCKET, and stops them with SIGTERM. The
`systemctl` that `deploy/restart` finds in PATH hands its words over to it.
"""

import io
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Self

import django

ROOT = Path(__file__).resolve().parent.parent
PREVIOUS = "2c2e00e"  # version 0.2.0, the oldest and the newest release that people upgrade from
LONGEST = 400  # seconds; a longer wait never ends
# Descriptor 3 and the process id of the program itself, which systemd passes (sd_listen_fds(3)).
AS_SYSTEMD = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[2], sys.argv[2:])
"""
SYSTEMCTL = """#!/bin/sh
exec curl --silent --show-error --fail --max-time 300 --data "$*" http://127.0.0.1:{port}/
"""
# The state folder of each code that was installed, with its static files; collecting them takes seconds.
_collected: dict[Path, tempfile.TemporaryDirectory[str]] = {}


def commands(unit: str, code: Path = ROOT) -> list[list[str]]:
    """The commands that a shipped unit starts, with this Python in place of the release's own."""
    text = (code / "deploy" / "systemd" / unit).read_text()
    found = [shlex.split(line) for line in re.findall(r"^ExecStart=(.+)$", text, re.M)]
    programs = {"python": [sys.executable], "gunicorn": [sys.executable, "-m", "gunicorn"]}
    return [[*programs[Path(program).name], *words] for program, *words in found]


def previous(folder: Path) -> Path:
    """The code of the previous version, out of git.

    Raises LookupError without its history, or without the Django it needs.
    """
    if django.VERSION[:2] != (5, 2):
        raise LookupError("could not run without Django 5.2, the only one that the previous version knows")
    packed = subprocess.run(["git", "archive", PREVIOUS], cwd=ROOT, capture_output=True)
    if packed.returncode:
        raise LookupError(f"could not run without the commit {PREVIOUS} in git")
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


class Instances:
    """The instances of one machine, in `folder` as in /srv/presentation; a context manager.

    `releases` are folders with code, by name; the first one is current. `environment` is that of every unit.
    `said` has all commands that systemctl was given.
    """

    def __init__(
        self,
        folder: Path,
        releases: Mapping[str, Path],
        environment: Mapping[str, str],
        *,
        instances: int = 2,
    ) -> None:
        self.folder, self.environment = folder, dict(environment)
        self.said: list[str] = []
        (folder / "releases").mkdir()
        for name, code in releases.items():
            self._install(folder / "releases" / name, code)
        (folder / "current").symlink_to(f"releases/{next(iter(releases))}")
        self.sockets = [socket.create_server(("127.0.0.1", 0), backlog=2048) for _ in range(instances)]
        self.ports = sorted(held.getsockname()[1] for held in self.sockets)
        self.held = {held.getsockname()[1]: held for held in self.sockets}
        self.running: dict[int, subprocess.Popen[bytes]] = {}
        self.log = (folder / "log").open("wb")
        self.control = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        Thread(target=self.control.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        program = folder / "bin" / "systemctl"
        program.parent.mkdir()
        program.write_text(SYSTEMCTL.format(port=self.control.server_port))
        program.chmod(0o755)

    def __enter__(self) -> Self:
        for port in self.ports:
            self.start(port)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.control.shutdown()
        self.control.server_close()
        for process in self.running.values():
            process.send_signal(signal.SIGTERM)
        for process in self.running.values():
            process.wait(LONGEST)
        for held in self.held.values():
            held.close()
        self.log.close()

    def deploy_restart(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Runs deploy/restart to its end."""
        return subprocess.run(
            ["sh", str(ROOT / "deploy" / "restart"), *words],
            env={
                "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
                "FOLDER": str(self.folder),
                **environment,
            },
            capture_output=True,
            text=True,
            timeout=LONGEST,
        )

    def start(self, port: int) -> bool:
        """Starts gunicorn as presentation@.service does; returns whether it said that it is ready."""
        (command,) = commands("presentation@.service")
        held = self.held[port]
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notify.bind(f"\0{self.folder}/{port}/{os.urandom(4).hex()}")
        address = notify.getsockname().decode().replace("\0", "@")
        self.running[port] = subprocess.Popen(
            [sys.executable, "-c", AS_SYSTEMD, str(held.fileno()), *command],
            cwd=(self.folder / "current").resolve(),
            env=self.environment | self.state() | {"NOTIFY_SOCKET": address},
            stdout=self.log,
            stderr=self.log,
            pass_fds=[held.fileno()],
        )
        return self._said_ready(notify, self.running[port])

    def stop(self, port: int) -> None:
        process = self.running.pop(port)
        process.send_signal(signal.SIGTERM)
        process.wait(LONGEST)

    def systemctl(self, words: list[str]) -> tuple[bool, str]:
        """What deploy/restart asks of systemd: whether it succeeded, and what it printed."""
        self.said.append(" ".join(words))
        match words:
            case ["show", "--property=Wants", "--value", "sockets.target"]:
                return True, " ".join(f"presentation@{port}.socket" for port in self.ports)
            case ["show", "--property=Wants", "--value", "multi-user.target"]:
                return True, "cron.service presentation-worker.service presentation@8001.service"
            case ["start", "presentation-migrate.service"]:
                return all(self._run(command) for command in commands("presentation-migrate.service")), ""
            case ["restart", unit]:
                port = int(unit.removeprefix("presentation@").removesuffix(".service"))
                if port in self.running:
                    self.stop(port)
                return self.start(port), ""
            case ["stop", socket_unit, _service]:
                port = int(socket_unit.removeprefix("presentation@").removesuffix(".socket"))
                self.stop(port)
                self.held.pop(port).close()
        return True, ""

    def _install(self, folder: Path, code: Path) -> None:
        """A release as docs/operate.md makes it, of code that stands elsewhere."""
        folder.mkdir()
        for each in code.iterdir():
            if each.name not in (".venv", "var", ".git"):
                (folder / each.name).symlink_to(each)
        (folder / ".venv").symlink_to(sys.prefix)
        known = (code / "config").resolve()
        if known not in _collected:
            _collected[known] = tempfile.TemporaryDirectory(prefix="static-")
            collect = [sys.executable, "manage.py", "collectstatic", "--no-input", "--verbosity", "0"]
            environment = self.environment | {"STATE_DIRECTORY": _collected[known].name}
            subprocess.run(collect, cwd=folder, env=environment, check=True, timeout=LONGEST)
        (folder / "var").symlink_to(_collected[known].name)

    def state(self) -> dict[str, str]:
        """The variable of a release's own `var`. Here its code stands elsewhere, so it has to be told."""
        return {"STATE_DIRECTORY": str((self.folder / "current").resolve() / "var")}

    def _run(self, command: list[str]) -> bool:
        ended = subprocess.run(
            command,
            cwd=(self.folder / "current").resolve(),
            env=self.environment | self.state(),
            stdout=self.log,
            stderr=self.log,
            timeout=LONGEST,
        )
        return ended.returncode == 0

    def _said_ready(self, notify: socket.socket, process: subprocess.Popen[bytes]) -> bool:
        notify.settimeout(0.2)
        with notify:
            for _ in range(LONGEST * 5):
                with suppress(TimeoutError):
                    if b"READY=1" in notify.recv(4096):
                        return True
                if process.poll() is not None:
                    return False
        return False


def _handler(instances: Instances) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            words = self.rfile.read(int(self.headers["Content-Length"])).decode().split()
            succeeded, printed = instances.systemctl(words)
            self.send_response(200 if succeeded else 500)
            self.end_headers()
            self.wfile.write(f"{printed}\n".encode())

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler
