"""Every limit is a setting in one place, the operators’ table has it, and a module uses it."""

import ast
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from hypothesis import example, given
from hypothesis import strategies as st

from config import limits
from config.limits import SETTINGS, Setting
from tests.test_structure import modules
from wallet import sign_in_allowances

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "operate.md"
KINDS = ("Limit", "RollingLimit")


def row(setting: Setting) -> str:
    """The row of the operators’ table."""
    cells = (f"`{setting.variable}`", f"{setting.most}", words(setting.window), setting.what, setting.shared)
    return f"| {' | '.join(cells)} |"


def words(window: timedelta) -> str:
    """A duration as operators read it, such as “6 hours”."""
    found = []
    for unit, length in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        count, window = divmod(window, timedelta(seconds=length))
        found += [f"{count} {unit}{'s' * (count > 1)}"] if count else []
    assert not window
    return " ".join(found)


def calls(name: str) -> Iterator[tuple[str, ast.Call]]:
    """Each call by which a module makes a limit: `Limit(…)` or `Limit.from_settings(…)`."""
    for module, path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in [f"{kind}{name}" for kind in KINDS]:
                yield module, node


def purposes() -> list[str]:
    return [purpose for setting in SETTINGS for purpose in (*setting.purposes, *setting.tenfold)]


def test_the_operators_table_has_every_limit_with_its_default_and_what_it_means() -> None:
    section = GUIDE.read_text().split("\n## Limits\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]

    assert rows == [row(setting) for setting in SETTINGS]


def test_every_limit_is_used_once_and_every_one_that_is_used_is_a_setting() -> None:
    used = [ast.literal_eval(call.args[0]) for _, call in calls(".from_settings")]

    assert sorted(used) == sorted(purposes())
    assert len(set(used)) == len(used)
    assert len({setting.variable for setting in SETTINGS}) == len(SETTINGS)


def test_what_is_written_where_it_is_used_is_a_turn_or_a_pause_and_no_limit() -> None:
    """A number of people or uses is for the operator to choose; that only one at a time goes is not."""
    written = [(module, call) for module, call in calls("") if not module.startswith("infra.")]
    numbers = {
        f"{module}: {ast.unparse(call)}"
        for module, call in written
        if [ast.unparse(given.value) for given in call.keywords if given.arg == "most"] != ["1"]
    }

    assert len(written) > 3
    assert numbers == set()


def test_strangers_never_get_more_than_a_hundred_guesses_for_a_mailbox_in_a_day() -> None:
    most = next(s.highest for s in SETTINGS if "codes-to-strangers" in s.purposes)
    window = sign_in_allowances.CODES_TO_STRANGERS.window

    assert most * sign_in_allowances.TRIES <= 100
    # A code of the day before can still be guessed until it expires.
    assert window == timedelta(days=1) + sign_in_allowances.CODE_LIFETIME


def test_a_rolling_limit_has_few_rows() -> None:
    rolling = {
        ast.literal_eval(call.args[0])
        for _, call in calls(".from_settings")
        if ast.unparse(call.func).startswith("Rolling")
    }

    assert len(rolling) > 2
    assert {s.variable for s in SETTINGS if rolling & set(s.purposes) and s.highest > limits.SLOTS} == set()


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.variable)
def test_an_operator_can_choose_every_limit(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(setting.variable, "7")

    numbers = limits.from_environment()

    assert {numbers[purpose] for purpose in setting.purposes} == {(7, setting.window)}
    assert all(numbers[purpose] == (70, setting.window) for purpose in setting.tenfold)
    others = numbers.keys() - {*setting.purposes, *setting.tenfold}
    assert all(numbers[purpose] == settings.LIMITS[purpose] for purpose in others)


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))
@example("0")
@example("9" * 5000)
@example("²")
def test_what_is_no_number_of_uses_is_refused(value: str) -> None:
    meant = value.isascii() and value.isdigit() and value[0] != "0" and len(value) < 8
    for setting in SETTINGS[:1] + SETTINGS[4:6]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(setting.variable, value)
            if meant and int(value) <= setting.highest:
                assert dict(setting.numbers())[setting.purposes[0]] == int(value)
                continue
            with pytest.raises(ImproperlyConfigured, match=f"a whole number from 1 to {setting.highest}.$"):
                dict(setting.numbers())


@pytest.mark.parametrize("name", ["LIMIT_PUSHES_PER_CLIENTS", "LIMIT_DOWNLOAD_PER_WALLET"])
def test_a_misspelt_limit_is_not_overlooked(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "5")

    with pytest.raises(ImproperlyConfigured, match=f"^{name} is no limit; docs/operate.md lists them.$"):
        limits.from_environment()


def test_a_variable_of_another_program_does_not_stop_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIMIT_CPU", "2")

    assert limits.from_environment() == settings.LIMITS
