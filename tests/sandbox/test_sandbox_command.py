"""`make sandbox` in an empty folder, repeated, and with everything that can prevent it."""

import os
import socket
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from presentation.relying_parties.metadata.logos import content_type
from tests.warm_start import run


def prepare(state: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command without serving, with its state in a folder of its own."""
    given = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "PORT")}
    given |= {"STATE_DIRECTORY": str(state)} | environment
    return run(given, "manage.py", "sandbox", "--prepare-only", *options)


def complaint(refused: subprocess.CompletedProcess[str]) -> str:
    """The output of a failed start, which is one sentence without traceback."""
    assert refused.returncode != 0
    assert "Traceback" not in refused.stderr
    return refused.stderr


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sandbox") / "state"


def test_the_first_start_says_what_to_open_and_the_password_once(state: Path) -> None:
    first, second = prepare(state), prepare(state)

    assert first.returncode == second.returncode == 0, first.stderr
    assert "http://localhost:8000/playground/" in first.stdout
    assert "(shown only now)" in first.stdout
    assert "(shown only now)" not in second.stdout


def test_starting_again_keeps_the_signing_key_and_starting_over_makes_another(state: Path) -> None:
    def key(done: subprocess.CompletedProcess[str]) -> str:
        return done.stdout.split("signing with ")[1].split(")")[0]

    first, again = prepare(state), prepare(state)
    over = prepare(state, "--fresh")

    assert key(first) == key(again) != key(over)


def test_the_demo_relying_parties_are_recognised_by_a_logo(state: Path) -> None:
    prepare(state)

    with closing(sqlite3.connect(state / "sandbox.sqlite3")) as database:
        logos = dict(database.execute("SELECT name, logo FROM presentation_relyingparty"))

    assert set(logos) == {"Acme Bank", "Corner Shop"}
    assert all(content_type(logo) == "image/png" for logo in logos.values())


def test_another_secret_than_the_databases_is_said(state: Path) -> None:
    prepare(state)

    said = complaint(prepare(state, KEY_SEALING_KEYS="another-secret-another-secret-another"))

    assert "FRESH=1" in said


def test_a_state_folder_that_cannot_be_is_said(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")

    assert "Cannot start: The sandbox keeps its state in" in complaint(prepare(tmp_path / "state"))


def test_a_broken_database_is_said(tmp_path: Path) -> None:
    (tmp_path / "sandbox.sqlite3").write_bytes(b"not a database" * 1000)

    assert "database cannot be used" in complaint(prepare(tmp_path))


def test_a_database_of_an_older_version_is_refused_until_it_is_started_over(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "sandbox.sqlite3")) as database, database:
        database.execute(
            "CREATE TABLE django_migrations (id integer, app varchar, name varchar, applied datetime)"
        )
        database.execute("INSERT INTO django_migrations VALUES (1, 'wallet', '0001_initial', NULL)")

    said = complaint(prepare(tmp_path))
    assert "older than version 0.2.0" in said
    assert "FRESH=1" in said
    assert prepare(tmp_path, "--fresh").returncode == 0


def test_a_database_server_that_does_not_answer_is_said(tmp_path: Path) -> None:
    said = complaint(prepare(tmp_path, DATABASE_URL="postgresql://nobody@127.0.0.1:1/none"))

    assert "database cannot be used" in said


def test_a_taken_port_is_one_clear_sentence(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        given = os.environ | {"STATE_DIRECTORY": str(tmp_path), "PORT": str(port)}
        started = run(given, "manage.py", "sandbox")

    assert f"Port {port} cannot be used" in complaint(started)
    assert f"PORT={port + 1}" in started.stderr
