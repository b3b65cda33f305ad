"""What an operator does in a drill: management commands, and queries of the database."""

import os
import subprocess
import sys
from typing import Any

import psycopg

from tools.benchmarks.sites import ROOT

WHY = ("--reason", "Drill", "--yes")


def close_now(url: str) -> None:
    """Makes it the day on which wallets that their holders have closed are erased."""
    with psycopg.connect(url) as connection:
        for table in ("wallet_wallet", "wallet_walletclosure"):
            connection.execute(f"UPDATE {table} SET closes_at = now() WHERE closes_at IS NOT NULL")


def stage(environment: dict[str, str], *kind: str) -> None:
    """Stages a key that can sign next. The sandbox's authority certifies it, as in `Place.fill`."""
    mark = "UPDATE keys_databasemark SET environment = %s"
    with psycopg.connect(environment["DATABASE_URL"], autocommit=True) as connection:
        connection.execute(mark, ["sandbox"])
        manage(environment | {"ENVIRONMENT": "sandbox"}, "stage_signing_key", "--reason", "Drill", *kind)
        connection.execute(mark, ["production"])


def value(url: str, query: str, *values: object) -> Any:
    """The first value of the first row; None without a row."""
    with psycopg.connect(url) as connection:
        row = connection.execute(query, values).fetchone()
    return row[0] if row else None


def attempt(environment: dict[str, str], *words: str, given: str = "") -> "subprocess.CompletedProcess[str]":
    """Runs a management command, which may fail. It reads `given` from its standard input."""
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env=environment | {"PATH": os.environ["PATH"]},
        input=given,
        capture_output=True,
        text=True,
        timeout=120,
    )


def manage(environment: dict[str, str], *words: str, given: str = "") -> None:
    """Runs a management command; raises RuntimeError if it fails."""
    done = attempt(environment, *words, given=given)
    if done.returncode:
        raise RuntimeError(f"{words}: {done.stdout}{done.stderr[-2000:]}")


def fails(environment: dict[str, str], *words: str) -> bool:
    """Whether a management command ends with status 1, as one that found a fault does."""
    return attempt(environment, *words).returncode == 1
