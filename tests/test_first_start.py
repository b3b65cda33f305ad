"""The steps of "With systemd" in docs/operate.md, executed as they stand there.

Not executed: what installs packages, makes users, and needs systemd or a mail server. The folders are those
of the test, the database is one of the tests' cluster, and the virtual environment is this one.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from time import monotonic, sleep

import pytest

from tests.environment_files import as_systemd_reads
from tests.instances import commands
from tests.own_databases import manage, own_database, reason
from tests.ports import free_port
from tests.project_copy import ROOT

pytestmark = [pytest.mark.postgresql, pytest.mark.slow]
THIS_ENVIRONMENT = ("python3 -m venv .venv", f"ln -s {sys.prefix} .venv")
ANSWERS = """
BASE_URL=https://wallet.example
OPERATOR_NAME=Example "Trust" & Co
OPERATOR_PRIVACY_NOTICE=https://operator.example/privacy
OPERATOR_HELP=help@operator.example
EMAIL_URL=smtp+tls://user:secret@mail.example:587
"""
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

    def in_shell_of_step_3(self, command: str, **environment: str) -> str:
        """A command of the service, after the lines that read the variables."""
        read = "set -a; . /etc/presentation/environment; set +a; "
        return self.shell(read + command, cwd=self.current, **environment)


def step(number: int) -> list[str]:
    """The commands of a step, without those for programs that tests do not run."""
    section = OPERATE.partition("### With systemd")[2].partition("\n### ")[0]
    text = re.split(r"^\d+\. ", section, flags=re.M)[number]
    return re.findall(r"^ +# (.+)$", text, re.M)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """Steps 1 to 4: folders, a release, variables, the check and the migration."""
    with own_database() as url:
        made = Machine(tmp_path_factory.mktemp("machine"), url)
        made.shell("\n".join(line for line in step(1) if line.startswith("install ")))
        answers = made.srv / "answers"
        answers.write_text(f"{ANSWERS}DATABASE_URL={url}\n")
        setup = f"deploy/setup --answers {answers} --into /etc/presentation"
        lines = [line for line in step(2) + step(3) if not re.search("pip install|runuser", line)]
        assert "python3 deploy/setup --for systemd" in lines
        script = "\n".join(lines).replace("deploy/setup", setup)
        made.shell(script.replace(*THIS_ENVIRONMENT))
        for words in commands("presentation-migrate.service"):
            made.in_shell_of_step_3(" ".join(words))
        yield made


def test_the_release_runs_from_the_link_and_its_database_is_migrated(machine: Machine) -> None:
    assert machine.current.resolve().parent == machine.srv / "releases"
    assert list((machine.current / "var").rglob("staticfiles.json"))
    unmigrated = machine.in_shell_of_step_3(".venv/bin/python manage.py migrate --check")
    assert "[ ]" not in unmigrated


def test_a_comment_behind_a_key_is_read_by_systemd_and_refused(machine: Machine, tmp_path: Path) -> None:
    """The file as this document once showed it."""
    written = (machine.etc / "environment").read_text()
    (tmp_path / "one").write_text(
        re.sub("^(KEY_SEALING_KEYS=.*)", r"\1      # as above", written, flags=re.M)
    )
    read = as_systemd_reads(tmp_path / "one")

    refused = manage(read | {"PATH": os.environ["PATH"]}, "check")

    assert read["KEY_SEALING_KEYS"].endswith("# as above")
    assert reason(refused).startswith("KEY_SEALING_KEYS contains a space or #.")
    assert read["KEY_SEALING_KEYS"].split()[0] not in refused.stdout + refused.stderr


def test_the_first_operator_and_the_first_signing_key(machine: Machine, tmp_path: Path) -> None:
    """Steps 6 to 8, with the authority of docs/keys.md; then the key set has the key, and the unit is ready.

    The commands of the operator seal the key, and the service opens it.
    """
    superuser = next(line for line in step(6) if "createsuperuser" in line)
    words = f"{superuser} --no-input --username olga --email olga@example.org"
    assert "created" in machine.in_shell_of_step_3(words, DJANGO_SUPERUSER_PASSWORD="a long password, really")

    printed = machine.in_shell_of_step_3(".venv/bin/python manage.py stage_signing_key")
    kid = re.findall(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", printed)[0]
    request = re.findall(r"-----BEGIN CERTIFICATE REQUEST-----.*?REQUEST-----\n", printed, re.S)[0]
    (tmp_path / "request.pem").write_text(request)
    authority = KEYS.partition("### An authority of your own")[2].partition("\n## ")[0]
    for block in re.findall(r"```sh\n(.*?)```", authority, re.S):
        without_passphrase = block.replace("-newkey ec", "-nodes -newkey ec")
        machine.shell(without_passphrase, cwd=tmp_path)
    key = ".venv/bin/python manage.py"
    machine.in_shell_of_step_3(f"{key} certify_signing_key {kid} --chain {tmp_path}/chain.pem")
    machine.in_shell_of_step_3(f"{key} activate_signing_key {kid}")

    with instance(machine) as port:
        assert kid in [each["kid"] for each in key_set(port)["keys"]]
        [last] = step(8)
        told = machine.shell(re.sub("127.0.0.1:[0-9]+", f"127.0.0.1:{port}", last))
        assert told.count('"status": "ready"') == 2, told


def key_set(port: int) -> dict[str, list[dict[str, str]]]:
    with closing(HTTPConnection("127.0.0.1", port, timeout=10)) as asked:
        headers = {"Host": "wallet.example", "X-Forwarded-Proto": "https"}
        asked.request("GET", "/openid-connect/jwks", headers=headers)
        found: dict[str, list[dict[str, str]]] = json.loads(asked.getresponse().read())
        return found


@contextmanager
def instance(machine: Machine) -> Iterator[int]:
    """The port at which the command of the unit answers, with the variables as systemd reads them."""
    port = free_port()
    [words] = commands("presentation@.service")
    environment = {"PATH": os.environ["PATH"], "LOG_LEVEL": "ERROR"}
    words = (
        f"{words} --bind 127.0.0.1:{port}"
        if isinstance(words, str)
        else [*words, "--bind", f"127.0.0.1:{port}"]
    )
    process = subprocess.Popen(
        words, cwd=machine.current, env=environment | as_systemd_reads(machine.etc / "environment")
    )
    try:
        until = monotonic() + 60
        while True:
            try:
                key_set(port)
                break
            except OSError:
                assert process.poll() is None
                assert monotonic() < until
                sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait(30)
