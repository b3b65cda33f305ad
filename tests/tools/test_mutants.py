"""The table of mutants matches the project. `make mutants` shows that tests detect them."""

from tests.project_copy import ROOT
from tools.mutants.mutant import problems
from tools.mutants.tables import MUTANTS


def test_every_mutant_changes_a_text_that_occurs_once_and_names_tests_that_exist() -> None:
    assert [problem for each in MUTANTS for problem in problems(each, ROOT)] == []


def test_no_two_mutants_have_the_same_name() -> None:
    names = [each.name for each in MUTANTS]
    assert sorted(set(names)) == sorted(names)
