"""Drills that fill no database, to test how drills are run."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from threading import Event

from tools.benchmarks.servers import MissingProgramError
from tools.drills.drill import Drill
from tools.drills.place import Place
from tools.drills.reckoning import Reckoning
from tools.drills.results import Result

LONG = 300  # seconds; a drill that ends by itself does not take this long


def counted(**changes: int) -> Reckoning:
    names = ("flows", "clean", "after_trouble", "told", "stuck", "server_errors", "bare")
    names += ("doubled", "unrecorded", "unnoticed", "refused")
    return Reckoning(**(dict.fromkeys(names, 0) | changes))


def two(place: Place) -> Iterator[Result]:
    """Two results."""
    yield Result("the first", counted(flows=3, clean=3), said=["a | b"])
    yield Result("the second", counted(flows=4, clean=2), missed=["2 flows met trouble"])


def doubled(place: Place) -> Iterator[Result]:
    """Something that must never happen."""
    yield Result("one answer too many", counted(flows=3, doubled=1))


def endless(place: Place) -> Iterator[Result]:
    """A result, and then no end."""
    try:
        yield Result("the first", counted(flows=3))
        Event().wait()
    finally:
        Path(os.environ["CLEANED_UP"]).touch()


def failing(place: Place) -> Iterator[Result]:
    """A drill that fails."""
    yield Result("the first", counted(flows=3))
    raise RuntimeError("the disk\nis gone")


def lacking(place: Place) -> Iterator[Result]:
    """A drill that needs more than is there."""
    raise MissingProgramError("It needs Debian’s sl.")
    yield


def leaving(place: Place) -> Iterator[Result]:
    """A drill that forgets a process in a session of its own, and a folder."""
    subprocess.Popen(["sleep", "1234"], start_new_session=True)
    yield Result(tempfile.mkdtemp(), counted(flows=3))


DRILLS = {run.__name__: Drill(run.__name__, run, LONG) for run in (two, doubled, failing, lacking, leaving)}
