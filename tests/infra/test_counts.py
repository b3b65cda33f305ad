"""Counters and histograms of several threads and processes, and what goes wrong with their files."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies

from infra.counts import counting, slots
from infra.counts.counting import BOUNDS, Counter, Histogram
from infra.counts.slots import ROOM, Series, Slot

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _own_numbers(settings: Any, tmp_path: Path) -> Iterator[None]:
    settings.METRICS_DIRECTORY = tmp_path / "metrics"
    counting.start_over()
    before = dict(counting.FAMILIES)
    yield
    counting.FAMILIES.clear()
    counting.FAMILIES.update(before)
    counting.start_over()


@pytest.fixture
def folder(settings: Any) -> Path:
    return Path(settings.METRICS_DIRECTORY)


def number(family: str, *labels: str) -> float:
    return counting.totals().get((family, labels), [0.0])[0]


def in_another_process(count: Any) -> int:
    """Runs this in a fork of this process, which is then killed; returns its exit status or signal."""
    child = os.fork()
    if child == 0:
        try:
            count()
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_threads_lose_no_event() -> None:
    family = Counter("pressed", "Pressed.", "key")
    switching = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=lambda: [family.add("a") for _ in range(5_000)]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        sys.setswitchinterval(switching)

    assert number("pressed", "a") == 40_000


def test_the_figures_of_processes_are_added_also_of_those_that_were_killed() -> None:
    family = Counter("pressed", "Pressed.", "key")
    family.add("a")

    for _ in range(3):
        assert in_another_process(lambda: (family.add("a"), family.add("b"))) == -signal.SIGKILL

    assert number("pressed", "a") == 4
    assert number("pressed", "b") == 3


def test_a_process_takes_over_the_files_of_one_that_ended(folder: Path) -> None:
    family = Counter("pressed", "Pressed.", "key")
    family.add("a")
    for _ in range(5):
        in_another_process(lambda: family.add("a"))

    assert len(list(folder.glob("*.names"))) == 2
    assert number("pressed", "a") == 6


def test_a_child_does_not_write_into_the_figures_of_its_parent() -> None:
    family = Counter("pressed", "Pressed.")
    family.add()
    in_another_process(lambda: [family.add() for _ in range(10)])
    family.add()

    assert number("pressed") == 12


def test_a_histogram_has_its_buckets_and_the_sum() -> None:
    took = Histogram("took_seconds", "Took.", "route")
    for seconds in (0.0, 0.005, 0.006, 10.0, 11.0):
        took.observe(seconds, "home")

    numbers = counting.totals()["took_seconds", ("home",)]
    assert numbers[0] == 2, "a bound belongs to its bucket"
    assert numbers[1] == 1
    assert (numbers[len(BOUNDS) - 1], numbers[len(BOUNDS)]) == (1, 1)
    assert numbers[-1] == pytest.approx(21.011)


def test_a_line_that_a_killed_process_did_not_end_is_ignored_and_then_removed(folder: Path) -> None:
    first = Slot(folder)
    first.values[first.place(Series("pressed", ("a",), 1)) or 0] = 3  # the first number of all
    first.close()
    with (folder / "0.v1.names").open("a") as names:
        names.write('["pressed", ["b')

    assert [(row.labels, numbers) for row, numbers in slots.in_folder(folder)] == [(("a",), [3.0])]
    second = Slot(folder)
    second.place(Series("pressed", ("c",), 1))
    assert [row.labels for row, _ in slots.in_folder(folder)] == [("a",), ("c",)]
    second.close()


@pytest.mark.parametrize(
    "damage", [b"\xff\xfe\n", b"[]\n", b'{"a": 1}\n', b'["x", "y"]\n', b'["x", [], -5]\n']
)
def test_damaged_names_end_no_scrape_and_no_request(folder: Path, damage: bytes) -> None:
    family = Counter("pressed", "Pressed.")
    folder.mkdir()
    (folder / "0.v1.names").write_bytes(damage)
    (folder / "0.v1.numbers").write_bytes(b"")

    family.add()

    assert number("pressed") == 1


def test_figures_of_another_release_are_left_alone(folder: Path) -> None:
    slot = Slot(folder)
    slot.place(Series("pressed", ("a", "b"), 1))
    slot.place(Series("unknown", (), 7))
    family = Counter("pressed", "Pressed.", "key")

    family.add("a")

    assert set(counting.totals()) == {("pressed", ("a",))}
    slot.close()


def test_a_folder_that_cannot_be_written_to_fails_no_request(settings: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    settings.METRICS_DIRECTORY = tmp_path / "file" / "metrics"
    counting.start_over()
    family = Counter("pressed", "Pressed.")

    family.add()

    assert number("pressed") == 1


FULL = """
import resource, signal
from pathlib import Path
from infra.counts.slots import Series, Slot
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
folder = Path({folder!r})
slot = Slot(folder)
size = (folder / "0.v1.names").stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (40, 40))  # as a full disk: a write of which a part succeeds
assert slot.place(Series("pressed", ("a",), 1)) == 0
assert slot.place(Series("pressed", ("b",), 1)) is None
slot.values[0] = 1
"""


def test_a_full_disk_ends_no_process_and_leaves_no_half_of_a_line(folder: Path) -> None:
    subprocess.run([sys.executable, "-c", FULL.format(folder=str(folder))], cwd=ROOT, check=True)

    assert [(row.labels, numbers) for row, numbers in slots.in_folder(folder)] == [(("a",), [1.0])]


def test_beyond_the_room_nothing_more_is_counted_and_nothing_fails() -> None:
    family = Counter("pressed", "Pressed.", "key")
    slot = counting._opened()
    assert slot.place(Series("large", (), ROOM - 1)) == 0
    family.add("a")
    family.add("b")
    family.add("b")

    assert (number("pressed", "a"), number("pressed", "b")) == (1, 0)


def test_the_first_values_of_a_bounded_label_are_named_in_every_process() -> None:
    family = Counter("asked", "Asked.", "party", bounded={"party": 3})
    in_another_process(lambda: [family.add(f"party-{one}") for one in (9, 8)])
    for one in (*range(5), 9):
        family.add(f"party-{one}")

    named = {labels[0]: numbers[0] for (_, labels), numbers in counting.totals().items()}
    assert named == {"party-9": 2, "party-8": 1, "party-0": 1, "other": 4}


@given(strategies.lists(strategies.text(), max_size=30))
def test_whatever_the_values_are_there_are_never_more_names_than_allowed(values: list[str]) -> None:
    counting._in_memory.clear()

    names = [counting.named(value, label="party", most=3, folder=None) for value in values]

    assert len(set(names)) <= 4
    assert all(name in (value, "other") for name, value in zip(names, values, strict=True))
    assert all("\n" not in name for name in names)
