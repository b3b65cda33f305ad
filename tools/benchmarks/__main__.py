"""`make bench`: compares speed with public implementations, as ratios that hold on any machine."""

import argparse
import os
import platform
import sys
from dataclasses import dataclass, replace

import django

from tests import softhsm
from tools.benchmarks import (
    calls,
    cold_start,
    documents,
    grown,
    latency,
    memory,
    minting,
    signatures,
    speed,
    status_lists,
    ten_times,
    tokens,
    verifying,
)
from tools.benchmarks.servers import DURABLE, MissingProgramError, servers
from tools.benchmarks.sites import children
from tools.benchmarks.table import Row, render


@dataclass(frozen=True)
class Length:
    """The number of repetitions."""

    bursts: int
    flows: int  # in a burst
    requests: int  # in a burst
    early: int  # flows before memory is first measured
    late: int  # flows before memory is measured again
    alone: int  # flows on the clock, one at a time
    starts: int  # of each server
    rows: int  # of each kind in the filled database


FULL = Length(
    bursts=24, flows=80, requests=1500, early=1_000, late=10_000, alone=300, starts=9, rows=5_000_000
)
SHORT = Length(bursts=2, flows=8, requests=100, early=20, late=40, alone=5, starts=1, rows=2_000)

# A few ticks of the clock may be all that one kind of process takes alone, and the watch of clearing sees no
# transaction that is shorter than the time between two looks.
MAY_BE_NOTHING = ("CPU alone", "transaction that wrote")


def measure(length: Length, benches: str = "bcdegh") -> list[Row]:
    """The rows of the benchmarks that need servers."""
    rows: list[Row] = []
    with servers() as where:
        if "h" in benches:  # first, because it compares with an empty database
            rows += grown.run(where, rows=length.rows, bursts=length.bursts, size=length.flows)
        if "b" in benches:
            rows += speed.run(where, bursts=length.bursts, size=length.flows)
            rows += calls.run(where)
            rows += latency.run(where, flows=length.alone)
        if "c" in benches:
            rows += documents.run(where, bursts=length.bursts, size=length.requests)
        if "d" in benches:
            rows += memory.run(where, early=length.early, late=length.late)
            rows += cold_start.run(where, starts=length.starts)
        if "e" in benches:
            rows += status_lists.run(where, bursts=length.bursts, size=length.requests)
        if "g" in benches:
            rows += tokens.run(where, bursts=length.bursts, size=length.flows)
    return sorted(rows, key=lambda row: row.bench)


def interpreter() -> str:
    """Which Python runs all servers that are written in it."""
    origin = "the system's" if sys.base_prefix == "/usr" else "not the system's"
    return f"Python {platform.python_version()} ({origin}, {platform.python_compiler()})"


def main() -> int:
    """Prints the table; 1 if a process was left behind, or if a short run did not measure everything."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.benchmarks", description=__doc__, allow_abbrev=False
    )
    parser.add_argument(
        "--short", action="store_true", help="a few short bursts, to see that everything runs"
    )
    parser.add_argument(
        "--only",
        default="abcdefgh",
        help="which benchmarks, for example --only bc; i is not among the default",
    )
    parser.add_argument("--rows", type=int, help="rows of each kind in the filled database of (h) and (i)")
    chosen = parser.parse_args()
    length = SHORT if chosen.short else FULL
    alone = {"bursts": 1, "size": 3} if chosen.short else {}
    if chosen.rows:
        length = replace(length, rows=chosen.rows)
    rows: list[Row] = []
    missing = False
    if "a" in chosen.only:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        os.environ.setdefault("ENVIRONMENT", "sandbox")
        django.setup()
        rows += minting.run(**alone)
    if set(chosen.only) & set("bcdegh"):
        try:
            rows += measure(length, chosen.only)
        except MissingProgramError as error:
            print(error, file=sys.stderr)
            missing = True
    if "i" in chosen.only:
        rows += ten_times.run(rows=length.rows, bursts=length.bursts, size=length.flows)
    if "f" in chosen.only:
        if softhsm.INSTALLED:
            rows += signatures.run(bursts=length.bursts, size=length.requests)
        else:
            print("SoftHSM 2 is not installed, so signatures are not measured.", file=sys.stderr)
            missing = True
    if "g" in chosen.only:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        os.environ.setdefault("ENVIRONMENT", "sandbox")
        django.setup()
        rows += verifying.run(**alone)
    print(f"On {interpreter()}; PostgreSQL with {', '.join(f'{k}={v}' for k, v in DURABLE.items())}.\n")
    print(render(rows))
    if left := children(os.getpid()):
        print(f"These processes were left behind: {left}", file=sys.stderr)
    if nothing := [row.label for row in rows if row.value <= 0 and not row.label.endswith(MAY_BE_NOTHING)]:
        print(f"Nothing was measured: {'; '.join(nothing)}", file=sys.stderr)
    return 1 if left or (chosen.short and (missing or nothing)) else 0


if __name__ == "__main__":
    sys.exit(main())
