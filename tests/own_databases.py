"""Additional empty PostgreSQL databases, and processes of production or of a sandbox that use them."""

import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from tests.deployment_check import production_environment
from tests.warm_start import run

ROOT = Path(__file__).resolve().parent.parent


@contextmanager
def own_database(template: str = "") -> Iterator[str]:
    """The URL of a new database, which is dropped afterwards."""
    main, name = os.environ["DATABASE_URL"], f"own_{secrets.token_hex(6)}"
    url = urlsplit(main)._replace(path=f"/{name}").geturl()
    copied = f' TEMPLATE "{urlsplit(template).path[1:]}"' if template else ""
    with psycopg.connect(main, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"{copied}')
        try:
            yield url
        finally:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def production(url: str, folder: Path) -> dict[str, str]:
    """The environment of production on this database."""
    return production_environment() | {"DATABASE_URL": url, "STATE_DIRECTORY": str(folder)}


def sandbox(url: str, folder: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "ENVIRONMENT": "sandbox",
        "DATABASE_URL": url,
        "STATE_DIRECTORY": str(folder),
    }


def manage(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    """A management command in a process of its own."""
    return run(environment, "manage.py", *words)


def gunicorn(environment: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    """gunicorn as it is shipped, without anything before it. Only for starts that are to be refused."""
    words = ["-m", "gunicorn", "config.wsgi", "--config", "deploy/gunicorn.conf.py"]
    return run(environment, *words, "--bind", "127.0.0.1:0", *options)


def reason(refused: subprocess.CompletedProcess[str]) -> str:
    """The sentence after `Cannot start:`, of a start that failed with it and without a traceback."""
    assert refused.returncode != 0, refused.stdout
    # gunicorn prints its own traceback (HaltServer) when two workers end at the same moment.
    ours = refused.stderr if "HaltServer" not in refused.stderr else refused.stderr.partition("Traceback")[0]
    assert "Traceback" not in ours, refused.stderr
    found = [line for line in refused.stderr.splitlines() if line.startswith("Cannot start: ")]
    assert found, refused.stderr
    assert set(found) == {found[0]}  # each worker of gunicorn prints it
    return found[0].removeprefix("Cannot start: ")
