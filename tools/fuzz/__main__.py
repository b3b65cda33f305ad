"""`make fuzz`: sends thousands of mutated requests to every address, through gunicorn's parser.

No traffic leaves the machine, and the database is temporary. `--seed` and `--scenario` repeat a scenario that
failed, alone.
"""

import argparse
import json
import os
import secrets
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import psycopg

from tests.pgcluster import Cluster, binaries
from tools.fuzz.gateway import BASE_URL, METRICS_TOKEN
from tools.fuzz.table import Sum, render

FULL = 200_000  # requests; a run of this size must have reached every address and depth
ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    asked = arguments()
    bindir = binaries()
    if bindir is None:
        sys.exit("The fuzz run needs PostgreSQL's binaries (Debian's postgresql, or PG_BINDIR).")
    print(f"seed {asked.seed}, {asked.count} requests in {asked.processes} processes", flush=True)
    cluster = Cluster(bindir)
    try:
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            total = Sum.of(played(asked, cluster, Path(folder)))
    finally:
        cluster.stop()
    print(render(total, seed=asked.seed))
    if asked.count >= FULL and total.missed:
        sys.exit("The run did not get everywhere; what it never reached is named above.")
    sys.exit(1 if total.failures else 0)


def arguments() -> argparse.Namespace:
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__, allow_abbrev=False)
    parser.add_argument("--count", type=int, default=FULL, help="requests (200,000)")
    parser.add_argument("--seed", default=secrets.token_hex(4), help="printed, so that a run can be repeated")
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--scenario", type=int, help="run only this scenario")
    parser.add_argument("--only", default="", help="scenarios of these names only")
    parser.add_argument("--fault", default="nothing", help="break the service on purpose: names of `faults`")
    asked = parser.parse_args()
    if asked.scenario is not None:
        asked.count, asked.processes = 1, 1
    return asked


def played(asked: argparse.Namespace, cluster: Cluster, folder: Path) -> list[dict[str, Any]]:
    """The result that each process reports for its share of the requests."""
    runners = [start(asked, number, cluster, folder) for number in range(asked.processes)]
    try:
        said = []
        for runner in runners:
            out, _ = runner.communicate()
            if runner.returncode:
                sys.exit("A process of the fuzz run ended too soon; its error is above.")
            said.append(json.loads(out.splitlines()[-1]))
        return said
    finally:
        for runner in runners:
            if runner.poll() is None:
                runner.kill()
                runner.communicate()


def start(asked: argparse.Namespace, number: int, cluster: Cluster, folder: Path) -> "subprocess.Popen[str]":
    """One process with a database of its own."""
    name = f"fuzz{number}"
    with psycopg.connect(cluster.url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    share = -(-asked.count // asked.processes)
    first = number if asked.scenario is None else asked.scenario
    numbers = {"seed": asked.seed, "first": first, "step": asked.processes, "count": share}
    words = [
        f"--{key}={value}" for key, value in (numbers | {"only": asked.only, "fault": asked.fault}).items()
    ]
    providers = folder / f"{name}.toml"
    providers.write_text("[simulated]\n[in_person]\n[from_afar]\n")
    surroundings = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT / "clients/python/src"),
        "FUZZ_PROGRESS": os.environ.get("FUZZ_PROGRESS", ""),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "ENVIRONMENT": "sandbox",
        "BASE_URL": BASE_URL,
        "DATABASE_URL": cluster.url.replace("/postgres?", f"/{name}?"),
        "SECRET_KEY": secrets.token_urlsafe(32),
        "KEY_SEALING_KEYS": secrets.token_urlsafe(32),
        "STATE_DIRECTORY": str(folder / name),
        "TRUSTED_PROXY_COUNT": "1",
        "IDENTITY_PROVIDERS_FILE": str(providers),
        "METRICS_TOKEN": METRICS_TOKEN,
        "LOG_LEVEL": "ERROR",
    }
    command = [sys.executable, "-m", "tools.fuzz.process", *words]
    return subprocess.Popen(command, cwd=ROOT, env=surroundings, stdout=subprocess.PIPE, text=True)


if __name__ == "__main__":
    main()
