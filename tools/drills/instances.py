"""The processes of an installation: instances of the service whose sockets are held outside, and nginx."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from tests.ports import free_port
from tests.programs import nginx
from tools.benchmarks.sites import ROOT, children, die_with_parent

LONGEST = 60.0  # seconds for a start or an end
READY = "/.well-known/openid-configuration"
BACKLOG = 2048


class Instance:
    """One gunicorn as deploy/gunicorn.conf.py has it. Its socket listens from the first start to `close`.

    So a connection that arrives during a restart waits in the socket, as with systemd's socket units.
    """

    def __init__(self, environment: Mapping[str, str], log: Path, *, workers: int = 2) -> None:
        self.environment, self.log = {"WEB_CONCURRENCY": str(workers), **environment}, log
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
        self.port: int = self.listener.getsockname()[1]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, **changes: str) -> None:
        """Starts gunicorn without waiting for it. `changes` are of its environment."""
        command = [sys.executable, "-m", "gunicorn", "config.wsgi", "--config", "deploy/gunicorn.conf.py"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--bind", f"fd://{self.listener.fileno()}"],
                cwd=ROOT,
                env={**self.environment, **changes, "PATH": os.environ["PATH"]},
                stdout=log,
                stderr=log,
                pass_fds=[self.listener.fileno()],
                preexec_fn=die_with_parent,
            )

    def wait(self) -> None:
        """Waits until the instance answers; raises RuntimeError."""
        deadline = time.monotonic() + LONGEST
        while time.monotonic() < deadline:
            if self.process is None or self.process.poll() is not None:
                break
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 5) as probe:
                probe.sendall(f"GET {READY} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
                if probe.recv(64):  # any status: discovery is served to every host
                    return
            time.sleep(0.05)
        raise RuntimeError(f"an instance does not answer\n{self.tail()}")

    def restart(self, **changes: str) -> None:
        """Ends gunicorn as systemd does, starts it again and waits for it."""
        self.end()
        self.start(**changes)
        self.wait()

    def end(self) -> None:
        assert self.process
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(LONGEST)

    def workers(self) -> list[int]:
        """The numbers of the processes that answer."""
        return children(self.process.pid) if self.process else []

    def kill(self) -> None:
        """`kill -9` of all processes at once."""
        assert self.process
        for pid in [self.process.pid, *self.workers()]:
            os.kill(pid, signal.SIGKILL)
        self.process.wait(LONGEST)

    def close(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
        self.listener.close()

    def tail(self) -> str:
        return self.log.read_text(errors="replace")[-3000:] if self.log.is_file() else ""


class Proxy:
    """nginx with deploy/nginx.conf in front of the instances, with the paths and ports of a drill."""

    def __init__(self, folder: Path, port: int, ports: Sequence[int], logs: Path | None = None) -> None:
        self.folder, self.port, self._ports, self._logs = folder, port, ports, logs
        folder.mkdir()
        made = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost"
        made += " -addext subjectAltName=DNS:localhost,DNS:wallet.example"
        files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem")]
        subprocess.run([*made.split(), *files], check=True, capture_output=True)
        self.configure(ROOT)
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        paths = " ".join(f"{kind}_temp_path {folder / kind};" for kind in kinds)
        user = "user root; " if os.geteuid() == 0 else ""  # www-data could not write here
        (folder / "nginx.conf").write_text(
            f"daemon off; {user}worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;\n"
            f"events {{}}\nhttp {{ {paths} include {folder}/site.conf; }}\n"
        )
        self.process: subprocess.Popen[bytes] | None = None

    def configure(self, code: Path) -> None:
        """Takes over the nginx.conf of this code. An nginx that runs needs a SIGHUP then."""
        shipped = (code / "deploy" / "nginx.conf").read_text()
        text = configuration(shipped, self.folder, self.port, self._ports)
        if self._logs:
            text = re.sub(r"(access_log|error_log) \S+\.log", rf"\1 {self._logs}", text)
        (self.folder / "site.conf").write_text(text)

    def __enter__(self) -> Self:
        command = [str(nginx()), "-p", str(self.folder), "-c", str(self.folder / "nginx.conf")]
        with (self.folder / "output").open("ab") as output:
            self.process = subprocess.Popen(
                [*command, "-e", str(self.folder / "error.log")],
                stdout=output,
                stderr=output,
                preexec_fn=die_with_parent,
            )
        for _ in range(1200):
            if self.process.poll() is not None:
                break
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port)).close()
                return self
            time.sleep(0.05)
        raise RuntimeError(f"nginx does not start: {(self.folder / 'output').read_text()}")

    def __exit__(self, *_: object) -> None:
        assert self.process
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(LONGEST)


def configuration(shipped: str, folder: Path, port: int, ports: Sequence[int]) -> str:
    """deploy/nginx.conf for these instances. Without an upstream of its own it gets one."""
    text = re.sub(r"listen 443 ssl", f"listen 127.0.0.1:{port} ssl", shipped)
    text = re.sub(r"listen 80;", f"listen 127.0.0.1:{free_port()};", text)
    text = re.sub(r"(?m)^\s*listen \[::\].*$", "", text)
    text = re.sub(r"/etc/ssl/[\w.-]+/fullchain.pem", str(folder / "certificate.pem"), text)
    text = re.sub(r"/etc/ssl/[\w.-]+/privkey.pem", str(folder / "key.pem"), text)
    text = text.replace("/var/log/nginx", str(folder))
    text = re.sub(r"/srv/presentation(/current)?", str(ROOT), text)
    server = re.compile(r"(?m)^(\s*)server (?:127\.0\.0\.1|localhost):\d+([^;{]*);.*$")
    if found := server.search(text):
        lines = "\n".join(f"{found[1]}server 127.0.0.1:{one}{found[2]};" for one in ports)
        return server.sub("", text[: found.start()] + "\0" + text[found.end() :]).replace("\0", lines)
    servers = "".join(f"server 127.0.0.1:{one} max_fails=1 fail_timeout=2s;\n" for one in ports)
    return f"upstream instances {{\n{servers}}}\n" + text.replace("http://127.0.0.1:8000", "http://instances")
