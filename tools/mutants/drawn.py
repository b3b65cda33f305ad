"""Mutants that are drawn by a seed, of modules that no table names."""

import random
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tests.project_copy import ROOT
from tests.quick_tests import is_left_out
from tests.source_modules import imports, modules
from tools.mutants.changes import Change, changes
from tools.mutants.mutant import Mutant
from tools.mutants.tables import MUTANTS

NEAR = 3  # test modules that a mutant meets first


def drawn(number: int, seed: str) -> list[Mutant]:
    """This many mutants, each of another module. The same seed draws the same ones from the same source."""
    chance = random.Random(seed)
    left = without_mutants()
    chance.shuffle(left)
    found: list[Mutant] = []
    for module, path in left:
        if len(found) == number:
            break
        if possible := changes(path.read_text()):
            # The kind first, because most of what can be changed are constants.
            kind = chance.choice(sorted({change.kind for change in possible}))
            change = chance.choice([change for change in possible if change.kind == kind])
            found.append(_mutant(path, change, near(module)))
    return found


def without_mutants() -> list[tuple[str, Path]]:
    """Every module of the service that no table of mutants names."""
    named = {mutant.file for mutant in MUTANTS}
    return [(module, path) for module, path in modules() if str(path.relative_to(ROOT)) not in named]


def near(module: str) -> tuple[str, ...]:
    """The test modules of `make quick` that are most likely to notice a change.

    Those that are named after the module come first, then those that are named after its package, then those
    that import it. If there are none, those that reach it by the fewest imports, or all that are `farther`.
    """
    tests = {name for name in _imported() if _kinship(module, name) < 2}
    reached, wave = {module}, {module}
    while wave:
        importers = {name for name, imported in _imported().items() if imported & wave} - reached
        tests |= {name for name in importers if _is_test(name)}
        if tests:
            ranked = sorted(tests, key=lambda name: (_kinship(module, name), name))
            return tuple(map(_file, ranked[:NEAR]))
        reached |= importers
        wave = importers
    return farther(module)


@cache
def _is_test(name: str) -> bool:
    """Whether it is a test module that `make quick` runs. Pytest runs others too if they are named."""
    return name.rpartition(".")[2].startswith("test_") and not is_left_out((ROOT / _file(name)).read_text())


def _file(name: str) -> str:
    return name.replace(".", "/") + ".py"


def _kinship(module: str, test: str) -> int:
    """0 if the test is named after the module, 1 if after its package, else 2."""
    layer, *between, last = module.removesuffix(".__init__").split(".")
    if not test.startswith(f"tests.{layer}.") or not _is_test(test):
        return 2
    words = [last, *between[-1:]]
    return next((number for number, word in enumerate(words) if word in test), 2)


def farther(module: str) -> tuple[str, ...]:
    """The folder with all tests of the module's layer, and the trials of limits, which every layer has."""
    return f"tests/{module.partition('.')[0]}", "tests/limits"


def _mutant(path: Path, change: Change, tests: tuple[str, ...]) -> Mutant:
    file = str(path.relative_to(ROOT))
    return Mutant(f"{file}:{change.line}: {change.kind}", file, change.before, change.after, tests)


@cache
def _imported() -> dict[str, set[str]]:
    """The modules that each module of the service and of its tests imports."""
    paths = dict(modules())
    paths |= {
        _name(path): path for path in (ROOT / "tests").rglob("*.py") if "node_modules" not in path.parts
    }
    return {name: _with_packages(imports(path)) for name, path in paths.items()}


def _with_packages(imported: Iterable[str]) -> set[str]:
    """A package is imported as `name`, and its module is called `name.__init__`."""
    return {called for name in imported for called in (name, f"{name}.__init__")}


def _name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)
