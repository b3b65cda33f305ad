"""A hardware module to test with: SoftHSM 2 with a token of its own, and p11-kit's server in front of it.

The server is another process, so it can be restarted under a service that has a session open.
"""

import os
import secrets
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from tempfile import gettempdir
from time import sleep
from typing import Any
from urllib.parse import quote

import pytest

MACHINES = ("x86_64-linux-gnu", "aarch64-linux-gnu")
FOLDERS = ("/usr/lib/softhsm", *(f"/usr/lib/{machine}" for machine in MACHINES))
SERVER = Path("/usr/libexec/p11-kit/p11-kit-server")
LABEL = "signing keys"


def _library(name: str) -> str:
    found = (Path(folder) / name for folder in FOLDERS)
    return next((str(path) for path in found if path.exists()), "")


SOFTHSM = _library("libsofthsm2.so")
CLIENT = _library("pkcs11/p11-kit-client.so")
INSTALLED = bool(SOFTHSM and CLIENT and which("softhsm2-util") and SERVER.exists())


class Token:
    """A token in a folder of its own; `settings` are what the service is told of it."""

    def __init__(self, folder: Path) -> None:
        self.pin = str(secrets.randbelow(10**8)).zfill(8)
        self._tokens, self._away = folder / "tokens", folder / "tokens-away"
        self._tokens.mkdir()
        self.configuration = folder / "softhsm2.conf"
        self.configuration.write_text(
            f"directories.tokendir = {self._tokens}\nobjectstore.backend = file\nlog.level = ERROR\n"
        )
        self.environment = {"SOFTHSM2_CONF": str(self.configuration)}
        self.settings = {"PKCS11_MODULE": SOFTHSM, "PKCS11_TOKEN": LABEL, "PKCS11_PIN": self.pin}
        self.initialise(LABEL)

    def initialise(self, label: str) -> None:
        """One token more, with our pin."""
        words = ["--init-token", "--free", "--label", label, "--so-pin", "87654321", "--pin", self.pin]
        environment = {"PATH": os.environ["PATH"], **self.environment}
        subprocess.run(["softhsm2-util", *words], env=environment, check=True, capture_output=True)

    def take_away(self) -> None:
        self._tokens.rename(self._away)

    def put_back(self) -> None:
        self._away.rename(self._tokens)


class Server:
    """p11-kit's server in front of a token; `settings` reach the token through it."""

    def __init__(self, token: Token) -> None:
        self._token = token
        self._socket = Path(gettempdir()) / f"p11-{os.getpid()}"  # the client asks where it is only once
        self.environment = {"P11_KIT_SERVER_ADDRESS": f"unix:path={self._socket}"}
        self.settings = {**token.settings, "PKCS11_MODULE": CLIENT}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        address = f"pkcs11:token={quote(LABEL)}"
        words = ["--provider", SOFTHSM, "--foreground", "--name", str(self._socket), address]
        self._process = subprocess.Popen(
            [SERVER, *words],
            env={"PATH": os.environ["PATH"], **self._token.environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # it has a process for each of its clients
        )
        for _ in range(6000):
            if self._socket.exists():
                return
            sleep(0.01)
        raise RuntimeError("p11-kit's server did not start within a minute")

    def stop(self) -> None:
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(60)
            self._process = None
        self._socket.unlink(missing_ok=True)


@pytest.fixture
def token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Token]:
    """SoftHSM with a fresh token, as this service's hardware module; nothing rests after a failure."""
    from keys.private_keys import hardware_module, key_stores

    token = Token(tmp_path)
    for name, value in token.environment.items():
        monkeypatch.setenv(name, value)
    for name, value in token.settings.items():
        setattr(settings, name, value)
    monkeypatch.setattr(hardware_module, "PAUSE", 0.0)
    key_stores._modules.clear()
    yield token
    key_stores._modules.clear()


@pytest.fixture
def server(token: Token, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Server]:
    """The same token, reached through a server of its own process, which runs."""
    server = Server(token)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    for name, value in server.settings.items():
        setattr(settings, name, value)
    server.start()
    yield server
    server.stop()
