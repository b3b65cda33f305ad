"""The steps of "First start" in docs/operate.md, executed as they stand there.

Not executed: what installs packages, makes users, and needs systemd or a mail server. The folders are those
of the test, the database is one of the tests' cluster, and the virtual environment is this one.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from time import monotonic, sleep

import pytest

from tests.instances import commands
from tests.own_databases import manage, own_database, reason
from tests.ports import free_port
from tests.project_copy import ROOT

pytestmark = [pytest.mark.postgresql, pytest.mark.slow]
THIS_ENVIRONMENT = ("python3 -m venv .venv", f"ln -s {sys.prefix} .venv")
# Prints what systemd reads from files of the form of EnvironmentFile=. It also replaces `$NAME`.
AS_SYSTEMD = Path("/usr/lib/systemd/user-environment-generators/30-systemd-environment-d-generator")
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

    def as_the_shell_reads(self) -> dict[str, str]:
        """The variables of the file, as the commands of the operator get them."""
        printed = self.in_shell_of_step_5("env --null")
        found = dict(each.split("=", 1) for each in printed.split("\0") if each)
        return {name: found[name] for name in self.names()}

    def as_systemd_reads(self) -> dict[str, str]:
        """The variables of the file, as the units get them."""
        return as_systemd_reads((self.etc / "environment").read_text(), self.srv.parent / "read")

    def names(self) -> list[str]:
        return re.findall("^([A-Z_]+)=", (self.etc / "environment").read_text(), re.M)


def step(number: int) -> list[str]:
    """The commands of a step, without those for programs that tests do not run."""
    section = OPERATE.partition("## First start")[2].partition("\n## ")[0]
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


def as_systemd_reads(text: str, folder: Path) -> dict[str, str]:
    """What systemd's own parser makes of a file with variables."""
    if not AS_SYSTEMD.exists():
        pytest.skip("could not run without systemd's generator of environment.d")
    (folder / "environment.d").mkdir(parents=True, exist_ok=True)
    (folder / "environment.d" / "one.conf").write_text(text)
    printed = subprocess.check_output(
        [AS_SYSTEMD], env={"XDG_CONFIG_HOME": str(folder), "HOME": str(folder)}, text=True
    )
    found = dict(shlex.split(line)[0].split("=", 1) for line in printed.splitlines())
    return {name: found[name] for name in re.findall("^([A-Z_]+)=", text, re.M)}


def variables(machine: Machine) -> str:
    """The block of step 4 with its comments; the secrets are made by the command that it names."""
    block = re.search(r"^ +ENVIRONMENT=production\n(?:.+\n)+?(?= +```)", OPERATE, re.M)
    assert block
    text = re.sub("^ +", "", block[0], flags=re.M)
    command = re.search("python3 -c .+", text)
    assert command
    text = re.sub("^DATABASE_URL=.*", f"DATABASE_URL={machine.database}", text, flags=re.M)
    text = re.sub("=…", lambda _: f"={machine.shell(command[0]).strip()}", text)
    return text.replace("…", "secret")


def test_the_release_runs_from_the_link_and_its_database_is_migrated(machine: Machine) -> None:
    assert machine.current.resolve().parent == machine.srv / "releases"
    assert list((machine.current / "var").rglob("staticfiles.json"))
    unmigrated = machine.in_shell_of_step_5(".venv/bin/python manage.py migrate --check")
    assert "[ ]" not in unmigrated


def test_the_units_and_the_shell_read_the_same_values(machine: Machine) -> None:
    assert machine.as_systemd_reads() == machine.as_the_shell_reads()
    assert set(machine.names()) > {"SECRET_KEY", "KEY_SEALING_KEYS", "OPERATOR_NAME"}


def test_a_comment_behind_a_key_is_read_by_systemd_and_refused(machine: Machine, tmp_path: Path) -> None:
    """The file as this document once showed it."""
    text = re.sub("^(KEY_SEALING_KEYS=.*)", r"\1      # as above", variables(machine), flags=re.M)
    read = as_systemd_reads(text, tmp_path)

    refused = manage(read | {"PATH": os.environ["PATH"]}, "check")

    assert read["KEY_SEALING_KEYS"].endswith("# as above")
    assert reason(refused).startswith("KEY_SEALING_KEYS contains a space or #.")
    assert read["KEY_SEALING_KEYS"].split()[0] not in refused.stdout + refused.stderr


def test_the_first_operator_and_the_first_signing_key(machine: Machine, tmp_path: Path) -> None:
    """Steps 8 to 10, with the authority of docs/keys.md; then the key set has the key, and the unit is ready.

    The commands of the operator seal the key, and the service opens it.
    """
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

    with instance(machine) as port:
        assert kid in [each["kid"] for each in key_set(port)["keys"]]
        [last] = step(10)
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
    process = subprocess.Popen(words, cwd=machine.current, env=environment | machine.as_systemd_reads())
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
