"""Counters and histograms that cost a few calls per event, and their sums over all processes."""

import fcntl
import os
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from threading import Lock

import structlog
from django.conf import settings

from infra.counts.slots import Series, Slot, in_folder

log = structlog.get_logger(__name__)

# Upper bounds in seconds. The last one is where a person or a relying party has given up.
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
Label = str | int | None
FAMILIES: dict[str, "Family"] = {}

_lock = Lock()  # guards the numbers of this process
_slot: Slot | None = None


class Family:
    """A metric with labels. Make it once, when a module is imported.

    The values of labels must come from a fixed list, never from a request as it is: each new combination
    stays in memory, in the files and in Prometheus. `bounded` says how many values of a label get their name.
    """

    width = 1

    def __init__(self, name: str, text: str, *labels: str, bounded: dict[str, int] | None = None) -> None:
        """Takes the name without `_total`, what is counted, and the names of the labels."""
        self.name, self.text, self.labels = name, text, labels
        self._bounded = bounded or {}
        self._places: dict[tuple[Label, ...], int | None] = {}
        FAMILIES[name] = self

    def forget(self) -> None:
        """Discards the known places, because this process has another slot now."""
        self._places = {}

    def _place(self, labels: tuple[Label, ...]) -> int | None:
        """Where the numbers of these labels begin; None if there is no room for them."""
        with _lock:
            slot = _opened()
            series = Series(self.name, self._named(labels), self.width)
            place = self._places[labels] = slot.place(series)
        if place is None:
            log.warning("not_counted", family=self.name)
        return place

    def _named(self, values: tuple[Label, ...]) -> tuple[str, ...]:
        """The values as texts; those of a bounded label by name only if they are among the first."""
        texts = dict(zip(self.labels, map(str, values), strict=True))
        for label, most in self._bounded.items():
            texts[label] = named(texts[label], label=label, most=most, folder=settings.METRICS_DIRECTORY)
        return tuple(texts.values())


class Counter(Family):
    """How often something happened."""

    def begin(self, *labels: Label) -> None:
        """Makes the counter appear with 0: Prometheus sees no increase in one that appears with 1."""
        self._place(labels)

    def add(self, *labels: Label) -> None:
        """It happened once more."""
        place = self._places.get(labels, -1)
        if place == -1:
            place = self._place(labels)
        if place is not None:
            with _lock:
                _values[place] += 1


class Histogram(Family):
    """How long something took: a number for each of `BOUNDS`, one for more than the last, and the sum."""

    width = len(BOUNDS) + 2

    def observe(self, seconds: float, *labels: Label) -> None:
        """It took so many seconds."""
        place = self._places.get(labels, -1)
        if place == -1:
            place = self._place(labels)
        if place is not None:
            bucket = place + bisect_left(BOUNDS, seconds)
            with _lock:
                _values[bucket] += 1
                _values[place + self.width - 1] += seconds


_values = memoryview(bytearray(8)).cast("d")  # of this process's slot, once it has one


def totals() -> dict[tuple[str, tuple[str, ...]], list[float]]:
    """The numbers of each family and labels, summed over all processes that share the folder."""
    with _lock:
        slot = _opened()
    sums: dict[tuple[str, tuple[str, ...]], list[float]] = {}
    for series, numbers in _rows(slot):
        family = FAMILIES.get(series.family)
        if family is None or (family.width, len(family.labels)) != (series.width, len(series.labels)):
            continue  # of another release
        before = sums.get(key := (series.family, series.labels), [0.0] * series.width)
        sums[key] = [one + more for one, more in zip(before, numbers, strict=True)]
    return sums


def start_over() -> None:
    """Has this process take another slot with its next event: after a fork, and in tests."""
    global _slot, _lock
    _lock = Lock()  # another thread of the parent may have held it during the fork
    if _slot is not None:
        _slot.close()
    _slot = None
    for family in FAMILIES.values():
        family.forget()


os.register_at_fork(after_in_child=start_over)


def _rows(slot: Slot) -> Iterator[tuple[Series, list[float]]]:
    return in_folder(slot.folder) if slot.folder else slot.rows()


def _opened() -> Slot:
    global _slot, _values
    if _slot is None:
        _slot = _new_slot(settings.METRICS_DIRECTORY)
        _values = _slot.values
    return _slot


def _new_slot(folder: Path | None) -> Slot:
    """A slot in the folder; in memory, if that cannot be used: counting must not fail a request."""
    try:
        return Slot(folder)
    except OSError as error:
        log.warning("figures_are_not_shared", reason=error.strerror)
        return Slot(None)


OTHER_VALUES = "other"
_LONGEST = 100  # characters of a value that gets its name

_in_memory: dict[str, list[str]] = {}


def named(value: str, *, label: str, most: int, folder: Path | None) -> str:
    """The value if it is among the first `most` of this label, else `other`.

    All processes that share the folder name the same values. Slow: call it once for each value.
    """
    if not value.isprintable() or len(value) > _LONGEST:
        return OTHER_VALUES
    if folder is None:
        return value if _find_or_add(value, _in_memory.setdefault(label, []), most)[0] else OTHER_VALUES
    try:
        with open(folder / f"{label}.labels", "a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # until the file is closed
            file.seek(0)
            is_named, is_new = _find_or_add(value, file.read().splitlines(), most)
            file.write(f"{value}\n" if is_new else "")
    except OSError:  # counting must not fail a request
        return OTHER_VALUES
    return value if is_named else OTHER_VALUES


def _find_or_add(value: str, names: list[str], most: int) -> tuple[bool, bool]:
    """Two booleans: whether the value has a name of its own, and whether this call added it."""
    if value in names:
        return True, False
    if len(names) >= most:
        return False, False
    names.append(value)
    return True, True
