"""In the folder of a sandbox, and only there, commands work without ENVIRONMENT."""

import json
import re
import shutil
from pathlib import Path

import pytest

from keys.sandbox_folder import MARK, SET_FOR_A_SERVICE, base_url, leave_mark, says_sandbox
from tests.project_copy import ROOT, copy_project, in_shell, recipe

LIST = ".venv/bin/python manage.py list_signing_keys"
REFUSED = "Cannot start: ENVIRONMENT is not set"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone of the repository in which `make sandbox` was run once."""
    copy = copy_project(tmp_path_factory.mktemp("clone"))
    before = in_shell(copy, LIST)
    assert before.stderr.startswith(REFUSED)
    prepared = in_shell(copy, recipe("sandbox", copy) + " --prepare-only")
    assert prepared.returncode == 0, prepared.stderr
    return copy


def shown(path: str) -> list[str]:
    """The commands in a document that register a relying party, as a reader would copy them."""
    text = (ROOT / path).read_text().replace("{{ redirect_uri }}", "http://localhost:8000/callback")
    if path.endswith(".html"):
        text = text.replace("Acme Bank", "A New Bank")  # the sandbox has an Acme Bank already
    found = re.findall(r"\.venv/bin/python manage\.py register_relying_party(?:[^\n<]*\\\n)*[^\n<]*", text)
    assert found, path
    return found


@pytest.mark.parametrize("path", ["README.md", "docs/protocol.md", "templates/playground/no_parties.html"])
def test_the_command_of_each_document_runs_as_it_is_printed(folder: Path, path: str) -> None:
    (folder / "my-shop.json").unlink(missing_ok=True)
    for command in shown(path):
        run = in_shell(folder, command, BASE_URL="http://localhost:8000", PORT="8080")

        assert run.returncode == 0, run.stderr
        printed = run.stdout or (folder / "my-shop.json").read_text()
        assert json.loads(printed)["client_id"]
        assert "using the sandbox of this folder" in run.stderr


@pytest.mark.parametrize("command", ["list_signing_keys", "rotate_signing_keys", "check", "migrate"])
def test_commands_of_the_operators_drill_run_in_the_folder(folder: Path, command: str) -> None:
    run = in_shell(folder, f".venv/bin/python manage.py {command}")

    assert run.returncode == 0, run.stderr


def test_gunicorn_does_not_believe_the_folder(folder: Path) -> None:
    command = ".venv/bin/python -m gunicorn config.wsgi --config deploy/gunicorn.conf.py --bind 127.0.0.1:0"
    run = in_shell(folder, command)

    assert run.returncode != 0
    assert REFUSED in run.stderr


def test_a_copy_of_the_folder_is_not_believed(folder: Path, tmp_path: Path) -> None:
    """A copy of the folder including `var/`, as rsync makes it."""
    copy = copy_project(tmp_path / "srv")
    shutil.copytree(folder / "var", copy / "var")
    assert (copy / "var" / MARK).read_bytes() == (folder / "var" / MARK).read_bytes()

    assert in_shell(copy, LIST).stderr.startswith(REFUSED)


@pytest.mark.parametrize("name", [*SET_FOR_A_SERVICE, "BASE_URL"])
@pytest.mark.parametrize("empty", [False, True], ids=["set", "empty"])
def test_a_shell_that_is_set_up_for_a_service_is_not_believed(tmp_path: Path, name: str, empty: bool) -> None:
    leave_mark(tmp_path, "http://localhost:8080")
    assert says_sandbox(tmp_path, {"PORT": "8080", "BASE_URL": "http://localhost:8080"})

    assert not says_sandbox(tmp_path, {name: "" if empty else "https://wallet.example"})


def test_a_variable_that_production_needs_is_enough_for_manage_py(folder: Path) -> None:
    for given in ({"DATABASE_URL": "postgresql://wallet@127.0.0.1:1/wallet"}, {"ENVIRONMENT": ""}):
        assert in_shell(folder, LIST, **given).stderr.startswith(REFUSED)
    elsewhere = in_shell(folder, LIST, STATE_DIRECTORY=str(folder / "var"))
    assert elsewhere.stderr.startswith(REFUSED)


def test_every_variable_that_production_needs_is_looked_at() -> None:
    table = (ROOT / "docs" / "settings.md").read_text()
    needed = set(re.findall(r"^\| `(\w+)` \| \*\*yes\*\*", table, re.MULTILINE))

    assert "DATABASE_URL" in needed
    assert needed - {"ENVIRONMENT", "BASE_URL"} <= set(SET_FOR_A_SERVICE)


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe", b"x" * 100_000])
def test_a_broken_or_missing_mark_says_nothing(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / MARK).write_bytes(content)

    assert not says_sandbox(tmp_path, {})
    assert not says_sandbox(tmp_path / "nowhere", {})


def test_a_mark_of_an_earlier_release_has_no_address(tmp_path: Path) -> None:
    leave_mark(tmp_path, "")

    assert says_sandbox(tmp_path, {})
    assert base_url(tmp_path) == ""


def test_a_command_knows_the_port_of_the_sandbox_unless_it_is_given_another(tmp_path: Path) -> None:
    copy = copy_project(tmp_path)
    prepared = in_shell(copy, recipe("sandbox", copy) + " --prepare-only", PORT="8123")
    assert prepared.returncode == 0, prepared.stderr
    program = "from django.conf import settings; print(settings.BASE_URL)"
    ask = f".venv/bin/python manage.py shell -v0 -c '{program}'"

    for given, address in (
        ({}, "http://localhost:8123"),
        ({"PORT": "8456"}, "http://localhost:8456"),
        ({"BASE_URL": "http://localhost:8789"}, "http://localhost:8789"),
    ):
        assert in_shell(copy, ask, **given).stdout.strip() == address


def test_a_folder_that_was_moved_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    leave_mark(tmp_path / "here", "http://localhost:8080")
    (tmp_path / "here").rename(tmp_path / "there")

    assert not says_sandbox(tmp_path / "there", {})
