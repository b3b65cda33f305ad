"""One mutant: a text of the project, its replacement, and the tests of which one must fail."""

import difflib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path


class MutantError(Exception):
    """The mutant no longer matches the project; the text says why."""


@dataclass(frozen=True)
class Mutant:
    """The behaviour with the change (`name`), the change, and the tests of which at least one must fail."""

    name: str
    file: str
    text: str  # occurs exactly once in the file
    replacement: str
    tests: tuple[str, ...]  # pytest's node ids, without parameters; of a drawn mutant files or folders


def mutant(name: str, file: str, text: str, replacement: str, *tests: str) -> Mutant:
    """A mutant for the tables; `tests` are relative to the folder `tests`."""
    return Mutant(name, file, text, replacement, tuple(f"tests/{test}" for test in tests))


def problems(mutant: Mutant, root: Path) -> Iterator[str]:
    """The reasons why the mutant does not match the project in `root`."""
    path = root / mutant.file
    times = path.read_text().count(mutant.text) if path.is_file() else 0
    if times != 1:
        yield f"{mutant.name}: the text occurs {times} times in {mutant.file} instead of once: {mutant.text}"
    if mutant.text == mutant.replacement or not mutant.tests:
        yield f"{mutant.name}: it changes nothing, or names no test"
    for test in mutant.tests:
        file, _, function = test.partition("::")
        source = (root / file).read_text() if (root / file).is_file() else ""
        if function and not re.search(rf"^def {re.escape(function)}\(", source, re.MULTILINE):
            yield f"{mutant.name}: there is no test {test}"
        if not (root / file).exists():
            yield f"{mutant.name}: there is no {file}"


def diff(mutant: Mutant) -> str:
    """What the mutant changes."""
    lines = difflib.unified_diff(
        mutant.text.splitlines(), mutant.replacement.splitlines(), mutant.file, "mutant", lineterm="", n=2
    )
    return "\n".join(lines)


@contextmanager
def applied(mutant: Mutant, root: Path) -> Iterator[None]:
    """Applies the mutant to the copy in `root` while the block runs. Raises MutantError."""
    if found := list(problems(mutant, root)):
        raise MutantError("\n".join(found))
    path = root / mutant.file
    original = path.read_text()
    try:
        _write(path, original.replace(mutant.text, mutant.replacement))
        yield
    finally:
        _write(path, original)


def _write(path: Path, text: str) -> None:
    path.write_text(text)
    # Python compares length and second of the last change of a file. Both may be equal after a mutation.
    Path(cache_from_source(str(path))).unlink(missing_ok=True)
