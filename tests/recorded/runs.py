"""Runs the table: one process for each environment, on an empty database of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.deployment_check import production_environment
from tests.own_databases import own_database
from tests.pgcluster import Cluster, binaries
from tests.recorded.compaction import compacted, expanded

ROOT = Path(__file__).resolve().parents[2]
TEXTS = Path(__file__).parent / "texts"
ENVIRONMENTS = ("sandbox", "production")
# Fixed, so that values derived from them are the same in every run. They protect nothing.
_SECRETS = {
    "SECRET_KEY": "recorded-" + "0123456789abcdefghijklmnopqrstuvwxyz" * 2,
    "KEY_SEALING_KEYS": "recorded0123456789abcdefghijklmnopqrstuvwxyz",
    "METRICS_TOKEN": "metrics" * 6,
    "TRUSTED_PROXY_COUNT": "1",
    "LOG_LEVEL": "DEBUG",
}


@dataclass
class Run:
    """The result: the texts by file name, all routes, and the routes that the table reached.

    log: what the service wrote. metrics: the last of them. secrets: the codes and tokens that it made.
    """

    texts: dict[str, str]
    routes: list[str]
    reached: list[str]
    requests: int
    metrics: str
    secrets: list[str]
    log: str


def run(environment: str, *, whole: Path | None = None) -> Run:
    """Run the table now."""
    with ExitStack() as stack:
        url = stack.enter_context(_database())
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="recorded-")))
        (folder / "texts").mkdir()
        words = [sys.executable, "-m", "tests.recorded.runner", "--into", str(folder / "texts")]
        words += ["--whole", str(whole / environment)] if whole else []
        surroundings = _surroundings(environment, url, folder)
        done = subprocess.run(words, cwd=ROOT, env=surroundings, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"The table could not be run in the {environment}:\n{done.stderr[-3000:]}")
        said = json.loads(done.stdout.splitlines()[-1])
        texts = {path.name: path.read_text() for path in sorted((folder / "texts").iterdir())}
        return Run(texts, **said, log=done.stderr)


def recorded(environment: str) -> dict[str, str]:
    """The whole texts of the record."""
    records = {path.name: path.read_text() for path in sorted((TEXTS / environment).glob("*.txt"))}
    return expanded(records, recorded("sandbox") if environment != "sandbox" else None)


def write(environment: str, run: Run) -> None:
    """Replace the recorded texts by these."""
    folder = TEXTS / environment
    folder.mkdir(parents=True, exist_ok=True)
    sandbox = recorded("sandbox") if environment != "sandbox" else None
    records = compacted(run.texts, sandbox)
    if expanded(records, sandbox) != run.texts:
        raise ValueError("The record does not say the same as the texts of the run.")
    for path in folder.glob("*.txt"):
        path.unlink()
    for name, text in records.items():
        (folder / name).write_text(text)


def differences(before: dict[str, str], after: dict[str, str]) -> str:
    """A unified diff of all texts; empty where nothing has changed."""
    lines: list[str] = []
    for name in sorted({*before, *after}):
        old, new = before.get(name, ""), after.get(name, "")
        if old != new:
            names = (f"recorded/{name}", f"now/{name}")
            lines += unified_diff(old.splitlines(), new.splitlines(), *names, lineterm="", n=12)
    return "\n".join(lines)


def missed(routes: list[str], reached: list[str]) -> list[str]:
    """Addresses of the URLconf that no request of the table was sent to."""
    return [route for route in routes if route not in reached]


def _surroundings(environment: str, url: str, folder: Path) -> dict[str, str]:
    own = {"ENVIRONMENT": "sandbox", "BASE_URL": "http://localhost:8000", "PATH": os.environ["PATH"]}
    return {
        **(production_environment() if environment == "production" else own),
        **_SECRETS,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": url,
        "STATE_DIRECTORY": str(folder / "state"),
    }


@contextmanager
def _database() -> Iterator[str]:
    """The tests' PostgreSQL, a new one, or (sandbox only) SQLite if DATABASE_URL says so."""
    asked = os.environ.get("DATABASE_URL", "")
    if asked.startswith("sqlite"):
        with TemporaryDirectory(prefix="recorded-") as folder:
            yield f"sqlite:///{folder}/recorded.sqlite3"
        return
    bindir = binaries()
    if asked:
        with own_database() as url:
            yield url
    elif bindir is None:
        raise RuntimeError("PostgreSQL's initdb was not found; set PG_BINDIR or DATABASE_URL.")
    else:
        cluster = Cluster(bindir)
        try:
            yield cluster.url
        finally:
            cluster.stop()
