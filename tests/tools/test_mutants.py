"""The table of mutants matches the project. `make mutants` shows that tests detect them."""

from pathlib import Path

import pytest

from tests.project_copy import ROOT
from tools.mutants.copies import Verdict, outcome
from tools.mutants.mutant import MutantError, applied, mutant, problems
from tools.mutants.tables import MUTANTS


def test_every_mutant_changes_a_text_that_occurs_once_and_names_tests_that_exist() -> None:
    assert [problem for each in MUTANTS for problem in problems(each, ROOT)] == []


def test_no_two_mutants_have_the_same_name() -> None:
    names = [each.name for each in MUTANTS]
    assert sorted(set(names)) == sorted(names)


def test_a_mutant_is_applied_only_while_its_tests_run(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text("def test_it() -> None: ...\n")
    (tmp_path / "it.py").write_text("if a < b:\n")

    with applied(mutant("less", "it.py", "a < b", "a > b", "test_it.py::test_it"), tmp_path):
        assert (tmp_path / "it.py").read_text() == "if a > b:\n"
    assert (tmp_path / "it.py").read_text() == "if a < b:\n"


@pytest.mark.parametrize("text", ["a > b", "b", ""])
def test_a_text_that_does_not_occur_once_is_no_mutant(tmp_path: Path, text: str) -> None:
    (tmp_path / "it.py").write_text("if a < b < 1:\n    b = 2\n")
    with (
        pytest.raises(MutantError, match="times in it.py instead of once"),
        applied(mutant("less", "it.py", text, "c", "test_it.py::test_it"), tmp_path),
    ):
        raise AssertionError("the mutant was applied")


@pytest.mark.parametrize(
    ("returncode", "output", "verdict"),
    [
        (1, "FAILED tests/test_it.py::test_it - assert 1 == 2", Verdict.KILLED),
        (0, "1 passed", Verdict.SURVIVED),
        (1, "ERROR tests/test_it.py::test_it - OperationalError", Verdict.UNCLEAR),
        (4, "ERROR: not found: tests/test_it.py::test_it", Verdict.UNCLEAR),
        (5, "no tests ran", Verdict.UNCLEAR),
    ],
)
def test_only_a_failed_test_counts_as_detecting_a_mutant(
    returncode: int, output: str, verdict: Verdict
) -> None:
    assert outcome(returncode, output).verdict is verdict
