"""The steps of "Before the first start" in docs/operate.md, executed as they stand there.

Not executed: what installs packages, makes users, and needs systemd or a mail server. The folders are those
of the test, the database is one of the tests' cluster, and the virtual environment is this one.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from time import monotonic, sleep

import pytest

from tests.instances import commands
from tests.own_databases import own_database
from tests.ports import free_port
from tests.project_copy import ROOT

pytestmark = [pytest.mark.postgresql, pytest.mark.slow]
THIS_ENVIRONMENT = ("python3 -m venv .venv", f"ln -s {sys.prefix} .venv")
OPERATE, KEYS = ((ROOT / "docs" / name).read_text() for name in ("operate.md", "keys.md"))


class Machine:
    """A machine whose /srv/presentation and /etc/presentation are folders of the test."""

    def __init__(self, folder: Path, database: str) -> None:
        self.srv, self.etc, self.database = folder / "srv", folder / "etc", database
        self.current = self.srv / "current"

    def moved(self, text: str) -> str:
        moved = text.replace("/srv/presentation", str(self.srv)).replace("/etc/presentation", str(self.etc))
        return moved.replace("ADDRESS", str(ROOT))

    def shell(self, script: str, *, cwd: Path = ROOT, stdin: str = "", **environment: str) -> str:
        """Runs a script as root's shell would; gives what it printed."""
        own = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | environment
        run = subprocess.run(
            ["sh", "-e", "-c", self.moved(script)],
            cwd=cwd,
            env=own,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert run.returncode == 0, run.stdout + run.stderr
        return run.stdout

    def in_shell_of_step_5(self, command: str, **environment: str) -> str:
        """A command of the service, after the lines that read the variables."""
        read = "set -a; . /etc/presentation/environment; set +a; "
        return self.shell(read + command, cwd=self.current, **environment)


def step(number: int) -> list[str]:
    """The commands of a step, without those for programs that tests do not run."""
    section = OPERATE.partition("## Before the first start")[2].partition("\n## ")[0]
    text = re.split(r"^\d+\. ", section, flags=re.M)[number]
    return re.findall(r"^ +# (.+)$", text, re.M)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """Steps 2 to 6: folders, variables, a release, the check and the migration."""
    with own_database() as url:
        made = Machine(tmp_path_factory.mktemp("machine"), url)
        made.shell("\n".join(line for line in step(2) if line.startswith("install ")))
        (made.etc / "environment").write_text(variables(made))
        made.shell(
            "\n".join(line.replace(*THIS_ENVIRONMENT) for line in step(5) if "pip install" not in line)
        )
        for words in commands("presentation-migrate.service"):
            made.in_shell_of_step_5(" ".join(words))
        yield made


def variables(machine: Machine) -> str:
    """The block of step 4; each secret is made by the command beside it."""
    block = re.search(r"^ +ENVIRONMENT=production\n(?:.+\n)+?(?= +```)", OPERATE, re.M)
    assert block
    made, command = [], ""
    for line in map(str.strip, block[0].splitlines()):
        setting, _, comment = line.partition("#")
        if comment.strip().startswith("python3"):
            command = comment.strip()
        if setting.startswith("DATABASE_URL="):
            setting = f"DATABASE_URL={machine.database}"
        secret = machine.shell(command).strip() if command and setting.strip().endswith("=…") else "secret"
        made.append(setting.strip().replace("…", secret))
    return "\n".join(made) + "\n"


def test_the_release_runs_from_the_link_and_its_database_is_migrated(machine: Machine) -> None:
    assert machine.current.resolve().parent == machine.srv / "releases"
    assert list((machine.current / "var").rglob("staticfiles.json"))
    unmigrated = machine.in_shell_of_step_5(".venv/bin/python manage.py migrate --check")
    assert "[ ]" not in unmigrated


def test_the_first_operator_and_the_first_signing_key(machine: Machine, tmp_path: Path) -> None:
    """Steps 8 to 10, with the authority of docs/keys.md; the key set then shows the key."""
    superuser = next(line for line in step(8) if "createsuperuser" in line)
    words = f"{superuser} --no-input --username olga --email olga@example.org"
    assert "created" in machine.in_shell_of_step_5(words, DJANGO_SUPERUSER_PASSWORD="a long password, really")

    printed = machine.in_shell_of_step_5(".venv/bin/python manage.py stage_signing_key")
    kid = re.findall(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", printed)[0]
    request = re.findall(r"-----BEGIN CERTIFICATE REQUEST-----.*?REQUEST-----\n", printed, re.S)[0]
    (tmp_path / "request.pem").write_text(request)
    authority = KEYS.partition("### An authority of your own")[2].partition("\n## ")[0]
    for block in re.findall(r"```sh\n(.*?)```", authority, re.S):
        without_passphrase = block.replace("-newkey ec", "-nodes -newkey ec")
        machine.shell(without_passphrase, cwd=tmp_path)
    key = ".venv/bin/python manage.py"
    machine.in_shell_of_step_5(f"{key} certify_signing_key {kid} --chain {tmp_path}/chain.pem")
    machine.in_shell_of_step_5(f"{key} activate_signing_key {kid}")

    assert kid in [each["kid"] for each in key_set(machine)["keys"]]


def key_set(machine: Machine) -> dict[str, list[dict[str, str]]]:
    """What the command of the unit answers at /openid-connect/jwks."""
    port = free_port()
    [words] = commands("presentation@.service")
    script = machine.moved("set -a; . /etc/presentation/environment; set +a; exec " + " ".join(words))
    environment = {"PATH": os.environ["PATH"], "BIND": f"127.0.0.1:{port}", "LOG_LEVEL": "ERROR"}
    process = subprocess.Popen(["sh", "-c", script], cwd=machine.current, env=environment)
    try:
        until = monotonic() + 60
        while True:
            try:
                with closing(HTTPConnection("127.0.0.1", port, timeout=10)) as asked:
                    headers = {"Host": "wallet.example", "X-Forwarded-Proto": "https"}
                    asked.request("GET", "/openid-connect/jwks", headers=headers)
                    found: dict[str, list[dict[str, str]]] = json.loads(asked.getresponse().read())
                    return found
            except OSError:
                assert process.poll() is None
                assert monotonic() < until
                sleep(0.1)
    finally:
        process.terminate()
        process.wait(30)
