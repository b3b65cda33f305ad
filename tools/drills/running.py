"""Runs drills one after the other, each in a process of its own, with a bound and a folder of its own."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from tools.drills import processes
from tools.drills.drill import Drill
from tools.drills.processes import Ending
from tools.drills.results import Result, unfinished


@dataclass(frozen=True)
class Outcome:
    """What came of a drill: its results, of which there is at least one."""

    drill: Drill
    results: list[Result]
    seconds: float

    @property
    def sound(self) -> bool:
        return all(result.sound for result in self.results)

    @property
    def flows(self) -> int:
        return sum(result.count.flows for result in self.results if result.count)


def run(drills: Iterable[Drill]) -> Iterator[Outcome]:
    """What came of each drill, in this order. Whatever happens to one of them, the next one runs."""
    for drill in drills:
        began = monotonic()
        with _folder() as folder:
            results = _results(drill, folder)
        yield Outcome(drill, results, monotonic() - began)


def _results(drill: Drill, folder: Path) -> list[Result]:
    written = folder / "results"
    written.touch()
    # Everything that the drill writes is in the folder, also what it could not remove.
    environment = os.environ | {"TMPDIR": str(folder), "PG_TMPDIR": str(folder)}
    command = [sys.executable, "-m", "tools.drills.one", drill.reference, str(written)]
    ending = processes.run(command, drill.bound, environment)
    found = [Result.from_json(line) for line in written.read_text().splitlines()]
    if why := _trouble(drill, ending, bool(found)):
        found.append(unfinished(drill.about, why))
    return found


def _trouble(drill: Drill, ending: Ending, has_results: bool) -> str:
    """What was wrong with the end of the drill; empty if nothing was."""
    if ending.status is None:
        return f"did not end within {drill.bound} seconds, and was ended"
    if ending.left:
        return f"left {len(ending.left)} processes running, which were ended: {', '.join(ending.left)[:300]}"
    if ending.status or not has_results:
        return f"ended with status {ending.status} and without a result"
    return ""


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder with a short path, which PostgreSQL’s user can enter; removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="drill-", dir="/tmp"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
