"""The container file and the compose file: linted, and the steps of the first executed without a container.

`test_compose` builds the image and starts the containers, where Docker can be had.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from fnmatch import fnmatch
from http.client import HTTPConnection
from pathlib import Path
from time import sleep
from typing import Any

import pytest
import yaml

from tests.deployment_check import production_environment
from tests.ports import free_port
from tests.project_copy import copy_project, in_shell

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "Containerfile").read_text()
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
IMAGES = ("database", "backup", "nginx")  # services whose images are others'
OURS = sorted(set(COMPOSE["services"]) - set(IMAGES))
BIN = Path(sys.prefix) / "bin"


def instructions() -> list[tuple[str, str]]:
    """Each instruction of the container file with its words in one line."""
    lines = [line for line in TEXT.splitlines() if not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [(name, words) for name, _, words in (line.partition(" ") for line in joined.splitlines() if line)]


def given(name: str) -> list[str]:
    return [words for instruction, words in instructions() if instruction == name]


@pytest.mark.parametrize(
    "command",
    [
        [BIN / "hadolint", "Containerfile"],
        [BIN / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", "compose.yaml"],
    ],
    ids=lambda command: command[0].name,
)
def test_linters_find_no_fault(command: list[Any]) -> None:
    if not command[0].exists():
        pytest.skip(f"could not run without {command[0].name} (requirements/development.txt)")

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_process_in_the_container_has_a_number_and_gets_the_signals() -> None:
    assert given("USER") == ["10001:10001"]
    assert given("STOPSIGNAL") == ["SIGTERM"]
    (command,) = given("CMD")
    assert command.startswith("[")  # without a shell in between, which would not pass signals on


def test_the_container_does_not_start_as_a_sandbox_and_contains_no_secret() -> None:
    (environment,) = given("ENV")
    assert "ENVIRONMENT=production" in environment.split()
    assert not re.search(r"SECRET|KEY|PASSWORD|URL", environment)


@pytest.mark.parametrize("private", [".git", "var", ".venv", "tests", "deploy/compose/sealing-keys"])
def test_what_is_no_part_of_the_service_is_not_copied_into_the_image(private: str) -> None:
    ignored = (ROOT / ".containerignore").read_text().split()

    assert any(fnmatch(private, pattern) or private.startswith(f"{pattern}/") for pattern in ignored)


@pytest.mark.parametrize("name", OURS)
def test_every_container_of_the_service_is_confined(name: str) -> None:
    service = COMPOSE["services"][name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "ports" not in service  # only nginx can be reached


def test_nothing_of_the_service_starts_before_the_migration_has_ended() -> None:
    for name in set(OURS) - {"migrate"}:
        waits = COMPOSE["services"][name]["depends_on"]
        assert waits["migrate"]["condition"] == "service_completed_successfully"


def test_the_containers_run_the_same_tasks_as_the_systemd_units() -> None:
    units = "".join(unit.read_text() for unit in (ROOT / "deploy" / "systemd").glob("*.service"))
    ours = "".join(shlex.join(COMPOSE["services"][name].get("command", [])) for name in OURS)
    commands = {path.stem for path in ROOT.glob("*/management/commands/*.py")} | {"check", "migrate"}

    started = {name for name in commands if re.search(rf"\b{name}\b", units)}

    assert {name for name in started if not re.search(rf"\b{name}\b", ours)} == set()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder after the container file's own steps, except that the packages are those of the tests."""
    folder = copy_project(tmp_path_factory.mktemp("image"))
    install, compile_and_collect, rights = given("RUN")
    assert "pip install" in install
    assert "a-s" in rights
    done = in_shell(folder, compile_and_collect)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_steps_of_the_container_file_leave_compiled_code_and_static_files(built: Path) -> None:
    assert (built / "var" / "static" / "staticfiles.json").exists()
    assert list((built / "config" / "__pycache__").glob("settings.*.pyc"))


# The folder stands at /srv. Everything is read-only but /tmp and /dev/shm, and the process has no rights. The
# packages are mounted again, because the empty /tmp would hide those of a checkout below it.
CONFINED = """
mount --make-rprivate / && mount --bind "$1" /srv && mount --rbind / /mnt && mount -o remount,ro,bind /mnt &&
mount -o remount,ro,bind /mnt/srv && mount -t tmpfs tmpfs /mnt/tmp && mkdir -p "/mnt$2" &&
mount --bind "$2" "/mnt$2" && mount -o remount,ro,bind "/mnt$2" && cd /mnt && shift 2 &&
exec chroot /mnt setpriv --bounding-set=-all --inh-caps=-all --no-new-privs \\
    sh -c 'cd /srv && exec "$@"' sh "$@"
"""


def test_the_command_of_the_container_serves_with_a_read_only_file_system_and_no_rights(built: Path) -> None:
    if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("setpriv"):
        pytest.skip("could not run without root, unshare and setpriv (Debian's util-linux)")
    (text,) = given("CMD")
    port, environment = free_port(), dict(word.split("=", 1) for word in given("ENV")[0].split())
    program, *words = yaml.safe_load(text)
    assert program == ".venv/bin/gunicorn"
    words[words.index("0.0.0.0:8000")] = f"127.0.0.1:{port}"
    packages = Path(sys.prefix).resolve()
    command = [str(packages / "bin" / "python"), "-m", "gunicorn", *words]
    environment = production_environment() | environment
    running = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", CONFINED, "sh", str(built), str(packages), *command],
        env=environment,
        stderr=subprocess.PIPE,
    )
    try:
        for _ in range(600):
            if running.poll() is not None:
                pytest.fail(running.communicate()[1].decode())
            try:
                with closing(HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
                    connection.request("GET", "/.well-known/openid-configuration")
                    assert connection.getresponse().status == 200
                    break
            except OSError:
                sleep(0.1)
        status = Path(f"/proc/{running.pid}/status").read_text()
        assert re.search(r"^CapBnd:\s*0+$", status, re.M)
        assert re.search(r"^NoNewPrivs:\s*1$", status, re.M)
        root = Path(f"/proc/{running.pid}/mountinfo").read_text()
        assert re.search(r" / ro[ ,]", root), root
        assert re.search(r" /srv ro[ ,]", root), root
    finally:
        running.terminate()
        running.communicate(timeout=60)
    assert running.returncode == 0  # gunicorn got the signal itself
