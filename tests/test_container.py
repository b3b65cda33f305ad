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
from http.client import HTTPConnection
from pathlib import Path
from time import sleep
from typing import Any

import pytest
import yaml

from tests.build_context import is_copied
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


PACKAGES = ("config", "consent", "infra", "keys", "operators", "presentation", "sandbox", "wallet")


def test_the_image_takes_every_file_of_the_service_and_no_other() -> None:
    tracked = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).split("\0")
    needed = (*(f"{name}/" for name in (*PACKAGES, "locale", "templates", "requirements")), "deploy/away/")
    alone = ("manage.py", "deploy/gunicorn.conf.py", "deploy/nginx.conf.template")

    copied = {name for name in tracked if name and is_copied(name)}
    assert copied == {name for name in tracked if name.startswith(needed) or name in alone}


@pytest.mark.parametrize(
    "folder",
    [
        "",
        "secrets/",
        "deploy/",
        "deploy/compose/",
        "deploy/compose-2/",
        "deploy/kubernetes/",
        "deploy/config/",
    ]
    + ["my/config/", ".secrets/", "deploy/production/", "docs/", "tools/", "var/", "configuration/"],
)
def test_what_the_setup_writes_is_not_copied_into_the_image(folder: str) -> None:
    names = ["environment", "database.sql", "database-password", "sealing-keys", "presentation.yaml"]

    assert [name for name in names if is_copied(folder + name)] == []


@pytest.mark.parametrize("private", [".git/config", ".env", ".venv/bin/python", "config/__pycache__/a.pyc"])
def test_what_is_no_part_of_the_service_is_not_copied_into_the_image(private: str) -> None:
    assert not is_copied(private)


# Images, and where each is written down.
IMAGES_OF = {
    "Containerfile": r"^ARG BASE=(\S+)",
    "compose.yaml": r"^ +image: (docker\.io/\S+)",
    "deploy/kubernetes-base/front.yaml": r"^ +image: (docker\.io/\S+)",
    ".github/workflows/ci.yml": r'image: "(python:[^"]+)"',
}
# Those that have none yet, because no two sources that agree were found. `docs/operate.md`, "Images",
# says how an operator gives them one.
WITHOUT_DIGEST = {
    "docker.io/nginxinc/nginx-unprivileged:1.30.5",
    *(
        "python:3.11-bookworm",
        "python:3.12-bookworm",
        "python:3.13-bookworm",
    ),  # of the tests, not the service
}


def images() -> list[str]:
    texts = {name: (ROOT / name).read_text() for name in IMAGES_OF}
    return [image for name, shape in IMAGES_OF.items() for image in re.findall(shape, texts[name], re.M)]


def test_an_image_is_named_by_its_digest_or_among_those_without() -> None:
    without = {image for image in images() if not re.search(r":[\w.-]+@sha256:[0-9a-f]{64}$", image)}

    assert without == WITHOUT_DIGEST
    assert len(images()) == 8


def test_an_image_has_the_same_digest_everywhere() -> None:
    names = {image.partition("@")[0] for image in images()}

    assert len(set(images())) == len(names)


def test_every_deployment_has_the_same_nginx_of_a_branch_that_is_mended() -> None:
    [mended] = re.findall(r"nginx\*\* is ([0-9.]+),", (ROOT / "docs" / "operate.md").read_text())
    versions = {version for image in images() for version in re.findall(r"/nginx(?:-\w+)?:([0-9.]+)", image)}

    assert versions == {mended}


def test_a_workflow_uses_actions_by_their_commit() -> None:
    used = re.findall(r"uses: (\S+)", "".join(p.read_text() for p in (ROOT / ".github").rglob("*.yml")))

    assert used
    assert [action for action in used if not re.search("@[0-9a-f]{40}$", action)] == []


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
