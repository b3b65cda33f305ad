"""Files in which the processes of an instance keep their figures, so that any of them can report all.

Each process has a slot: a file with numbers and a file that names them. A lock shows that the slot is in use.
A new process takes over the slot of one that ended, and counts on from its figures. So there are never more
files than there were processes at a time, and no counter falls.
"""

import fcntl
import json
import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOM = 32_768  # numbers of 8 bytes: a process uses 256 kB
_LAYOUT = "v1"  # part of the file names: other releases may use the folder at the same time
_MOST = 1_000  # slots


class Series(NamedTuple):
    """A named row of numbers: one for a counter, several for a histogram."""

    family: str
    labels: tuple[str, ...]
    width: int


class Slot:
    """The numbers of this process. `values[place(series)]` is the first number of a series.

    Not safe for threads: see `counting`.
    """

    def __init__(self, folder: Path | None) -> None:
        """Takes a free slot in the folder, or without one keeps the numbers in memory. Raises OSError."""
        self.folder = folder
        self._names: int | None = None
        self._places: dict[Series, int] = {}
        self._used = 0
        if folder is None:
            self.values = memoryview(bytearray(ROOM * 8)).cast("d")
            return
        folder.mkdir(parents=True, exist_ok=True)
        self._names, path = _take(folder)
        self.values = memoryview(_mapped(path)).cast("d")
        places, length = _read_names(path)
        for series, place in places:
            self._places[series], self._used = place, place + series.width
        os.ftruncate(self._names, length)

    def close(self) -> None:
        """Forgets the slot in a child process. The parent, which took the slot, keeps its lock."""
        if self._names is not None:
            os.close(self._names)

    def place(self, series: Series) -> int | None:
        """Where the numbers of a series begin; None if there is no room for a new one."""
        if (known_place := self._places.get(series)) is not None:
            return known_place
        if self._used + series.width > ROOM:
            return None
        for number in range(self._used, self._used + series.width):
            self.values[number] = 0.0  # of a slot whose names were damaged
        if self._names is not None and not _written(self._names, f"{json.dumps(series)}\n".encode()):
            return None
        place = self._places[series] = self._used
        self._used += series.width
        return place

    def rows(self) -> Iterator[tuple[Series, list[float]]]:
        """Every series of this process with its numbers."""
        return _rows(list(self._places.items()), self.values)


def in_folder(folder: Path) -> Iterator[tuple[Series, list[float]]]:
    """Every series of every process, also of those that have ended, with its numbers."""
    for path in sorted(folder.glob(f"*.{_LAYOUT}.names")):
        try:
            values = path.with_suffix(".numbers").read_bytes()
        except OSError:  # a process is taking the slot
            continue
        if len(values) == ROOM * 8:
            yield from _rows(_read_names(path)[0], memoryview(values).cast("d"))


def _take(folder: Path) -> tuple[int, Path]:
    """Locks the first free slot; returns the descriptor that holds the lock, and the path of the names."""
    for number in range(_MOST):
        path = folder / f"{number}.{_LAYOUT}.names"
        names = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(names, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(names)
        else:
            return names, path
    raise OSError("every slot for figures is in use")


def _mapped(path: Path) -> mmap.mmap:
    """The numbers. They get their room on the disk now, because a write to a full disk ends the process."""
    numbers = os.open(path.with_suffix(".numbers"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.posix_fallocate(numbers, 0, ROOM * 8)
        return mmap.mmap(numbers, ROOM * 8)
    finally:
        os.close(numbers)


def _written(file: int, line: bytes) -> bool:
    """Whether the whole line was written; otherwise, as on a full disk, nothing of it is."""
    before = os.fstat(file).st_size
    try:
        if os.write(file, line) == len(line):
            return True
        os.ftruncate(file, before)
    except OSError:
        os.ftruncate(file, before)
    return False


def _read_names(path: Path) -> tuple[list[tuple[Series, int]], int]:
    """The series of a slot with where the numbers of each begin, and the length of these lines.

    Ends before a line that is damaged, or that a killed process did not write to its end.
    """
    places: list[tuple[Series, int]] = []
    place = length = 0
    for line in path.read_bytes().splitlines(keepends=True):
        series = _parsed(line)
        if series is None or place + series.width > ROOM:
            break
        places.append((series, place))
        place, length = place + series.width, length + len(line)
    return places, length


def _parsed(line: bytes) -> Series | None:
    try:
        family, labels, width = json.loads(line)
    except (ValueError, TypeError):  # no JSON, or no list of three
        return None
    named = isinstance(family, str) and isinstance(labels, list) and isinstance(width, int)
    if not line.endswith(b"\n") or not named or width < 1:
        return None
    return Series(family, tuple(map(str, labels)), width)


def _rows(
    places: list[tuple[Series, int]], values: "memoryview[float]"
) -> Iterator[tuple[Series, list[float]]]:
    for series, place in places:
        yield series, list(values[place : place + series.width])
