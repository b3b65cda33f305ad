"""Random mutants: what is changed, which modules and tests are chosen, and that a survivor is shown."""

import ast
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.project_copy import ROOT
from tests.source_modules import LAYERS, modules
from tools.mutants import drawn
from tools.mutants.changes import changes
from tools.mutants.copies import Verdict, outcome
from tools.mutants.mutant import Mutant, applied, diff, problems
from tools.mutants.tables import MUTANTS

pytestmark = pytest.mark.slow  # reads every module of the service and of its tests


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("found = a < b", "found = (a <= b)"),
        ("found = a not in b", "found = (a in b)"),
        ("found = a and b", "found = (a or b)"),
        ("found = not a", "found = (a)"),
        ("if found():\n    x = a", "if (not found()):\n    x = a"),
        ("found = True", "found = False"),
        ("MOST = 10", "MOST = 11"),
        ("check(a)", "pass"),
        ("raise Http404", "pass"),
        ("total += a", "pass"),
        ("@kept(60)\ndef f():\n    pass", "@kept(61)\ndef f():\n    pass"),
        ("del a", "pass"),
        ("def f():\n    return a", "def f():\n    return None"),
        ("name = 'é'; found = a is b", "name = 'é'; found = (a is not b)"),  # offsets are in bytes
    ],
)
def test_each_kind_of_change(before: str, after: str) -> None:
    assert after in [before.replace(made.before, made.after) for made in changes(before)]


@pytest.mark.parametrize(
    "source",
    [
        "found = a < b < c",  # what such a chain means when changed is hard to read
        "def f() -> None:\n    return",
        "def f() -> Literal[1]: ...",
        "number: Literal[1]",
        "text = f'{1 < 2}'",
        '"""What it is for."""',
    ],
)
def test_what_is_left_alone(source: str) -> None:
    assert changes(source) == []


def test_a_change_is_told_apart_from_the_same_line_elsewhere() -> None:
    source = dedent(
        """
        def first():
            check(a)

        def second():
            check(a)
        """
    )

    texts = [source.replace(made.before, made.after) for made in changes(source)]

    assert len(set(texts)) == len(texts) == 2
    assert all(source.count(made.before) == 1 for made in changes(source))


@given(st.data(), st.sampled_from([path for _module, path in modules()]))
def test_every_change_of_a_module_is_another_module_that_python_can_read(
    data: st.DataObject, path: Path
) -> None:
    source = path.read_text()
    if possible := changes(source):
        made = data.draw(st.sampled_from(possible))
        assert source.count(made.before) == 1
        changed = source.replace(made.before, made.after)
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source))


def test_a_seed_draws_the_same_mutants_again_and_another_seed_others() -> None:
    one, again, other = drawn.drawn(10, "one"), drawn.drawn(10, "one"), drawn.drawn(10, "other")

    assert one == again != other
    assert len({mutant.file for mutant in one}) == 10
    assert not {mutant.file for mutant in one} & {mutant.file for mutant in MUTANTS}
    assert [problem for mutant in one for problem in problems(mutant, ROOT)] == []


@pytest.mark.parametrize(
    ("module", "test"),
    [
        ("wallet.identity.pictures", "tests/wallet/test_identity_pages.py"),
        ("wallet.account.closing.views", "tests/wallet"),  # no quick test reaches it by imports
        ("infra.waiting", "tests/infra/test_waiting.py"),
        ("consent.receipts", "tests/consent/test_receipt_statements.py"),
    ],
)
def test_a_mutant_meets_the_tests_near_its_module(module: str, test: str) -> None:
    assert test in drawn.near(module)


def test_a_mutant_meets_no_test_that_starts_programs_or_copies_the_project() -> None:
    apart = {"tests/sandbox/test_sandbox_folder.py", "tests/keys/test_keys_in_hardware.py"}

    for module in ("keys.sandbox_folder", "keys.private_keys.key_stores"):
        assert not apart & set(drawn.near(module))


def test_the_tests_of_a_survivor_are_all_of_its_layer_and_those_of_limits() -> None:
    mutant = Mutant("x", "wallet/identity/pictures.py", "a", "b", ("tests/wallet/test_pictures.py",))

    assert drawn.farther("wallet.identity.pictures") == ("tests/wallet", "tests/limits")
    assert all((ROOT / "tests" / layer).is_dir() for layer in LAYERS)
    assert diff(mutant).splitlines()[-2:] == ["-a", "+b"]


def test_without_a_quick_test_a_mutant_survives() -> None:
    assert outcome(5, "no tests ran").verdict is Verdict.SURVIVED
    assert outcome(2, "error").verdict is Verdict.UNCLEAR


def test_a_drawn_mutant_is_applied_and_undone(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "module.py").write_text("MOST = 1\n")
    (made,) = changes("MOST = 1\n")
    mutant = Mutant("x", "module.py", made.before, made.after, ("tests",))

    with applied(mutant, tmp_path):
        assert (tmp_path / "module.py").read_text() == "MOST = 2\n"
    assert (tmp_path / "module.py").read_text() == "MOST = 1\n"
