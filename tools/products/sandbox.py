"""A sandbox of its own for one run, with its database in a temporary folder."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.ports import free_port
from tools.products.waiting import until_it_answers

ROOT = Path(__file__).resolve().parents[2]


class Sandbox:
    """A running sandbox; a context manager. `base_url` is its address."""

    def __init__(self, folder: Path) -> None:
        self._port = free_port()
        self._log = folder / "sandbox.log"
        self.base_url = f"http://localhost:{self._port}"
        folder.mkdir(parents=True, mode=0o700)
        self._environment = {
            "PATH": os.environ["PATH"],
            "ENVIRONMENT": "sandbox",
            "STATE_DIRECTORY": str(folder),
            "PORT": str(self._port),
            "LOG_LEVEL": "WARNING",
        }

    def __enter__(self) -> Self:
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [sys.executable, "manage.py", "sandbox"],
                cwd=ROOT,
                env=self._environment,
                stdout=log,
                stderr=log,
            )
        until_it_answers(f"{self.base_url}/openid-connect/jwks", self._process, self._log)
        return self

    def __exit__(
        self, _type: type | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait(30)

    def register(self, calls: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
        """Registers a client of OpenID Connect for each list of words of `register_relying_party`.

        Each answer has `client_id` and `client_secret`.
        """
        done = subprocess.run(
            [sys.executable, "-m", "tools.products.registering"],
            cwd=ROOT,
            env=self._environment,
            input=json.dumps(calls),
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        clients: list[dict[str, Any]] = json.loads(done.stdout)
        return clients
