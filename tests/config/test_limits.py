"""The numbers of the limits are in one place, for operators to change. `tests/limits` tries each limit."""

import ast
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from hypothesis import example, given
from hypothesis import strategies as st

from config import limits
from config.limits import SETTINGS
from tests.source_modules import modules
from wallet.sign_in import allowances

KINDS = ("Limit", "ClientLimit", "RollingLimit")


def calls(name: str) -> Iterator[tuple[str, ast.Call]]:
    """Each call by which a module makes a limit: `Limit(…)` or `Limit.from_settings(…)`."""
    wanted = [f"{kind}{name}" for kind in KINDS]
    for module, path in modules():
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if any(f"{one}(" in text for one in wanted) else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) in wanted:
                yield module, node


def purposes() -> list[str]:
    return [purpose for setting in SETTINGS for purpose in (setting.purpose, *setting.also)]


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
    most = limits.CHANGEABLE["codes-to-strangers"].highest
    window = allowances.CODES_TO_STRANGERS.window

    assert most * allowances.TRIES <= 100
    # A code of the day before can still be guessed until it expires.
    assert window == timedelta(days=1) + allowances.CODE_LIFETIME


def test_a_rolling_limit_has_few_rows() -> None:
    rolling = {
        ast.literal_eval(call.args[0])
        for _, call in calls(".from_settings")
        if ast.unparse(call.func).startswith("Rolling")
    }

    assert len(rolling) > 2
    most = {s.purpose: s.most if s.changed_by == limits.NOTHING else s.highest for s in SETTINGS}
    assert {purpose for purpose in rolling if most[purpose] > limits.SLOTS} == set()


def test_an_operator_can_change_each_number_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, setting in limits.CHANGEABLE.items():
        monkeypatch.setenv("LIMITS", f"{name}=7")

        numbers = limits.from_environment()

        changed = dict.fromkeys((name, *setting.also), (7, setting.window))
        assert numbers == settings.LIMITS | changed


def test_several_numbers_are_changed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIMITS", "reported-errors=7, wallet-downloads = 8,")

    numbers = limits.from_environment()

    assert (numbers["reported-errors"][0], numbers["wallet-downloads"][0]) == (7, 8)


def test_the_former_name_of_a_limit_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIMITS", "self-registrations-by-client=7")

    assert limits.from_environment()["self-registrations-per-client"][0] == 7


@pytest.mark.parametrize(
    ("variable", "chosen", "found"),
    [
        ("REQUESTS_PER_CLIENT", 900, {"unauthenticated-requests-per-client": 900, "tries-per-client": 300}),
        ("REQUESTS_PER_CLIENT", 900, {"links-per-client": 900, "passkey-challenges-per-client": 9000}),
        ("REQUESTS_PER_CLIENT", 1, {"unauthenticated-requests-per-client": 1, "tries-per-client": 1}),
        (
            "CALLS_PER_RELYING_PARTY",
            6000,
            {"pushes-per-relying-party": 6000, "token-requests-per-relying-party": 600},
        ),
        (
            "CALLS_PER_RELYING_PARTY",
            1,
            {"pushes-per-relying-party": 1, "token-requests-per-relying-party": 1},
        ),
    ],
)
def test_numbers_that_belong_together_change_in_proportion(
    variable: str, chosen: int, found: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, str(chosen))

    numbers = limits.from_environment()

    assert {purpose: numbers[purpose][0] for purpose in found} == found
    followers = {p for s in SETTINGS if s.changed_by == variable for p in (s.purpose, *s.also)}
    assert all(
        numbers[purpose] == settings.LIMITS[purpose] for purpose in purposes() if purpose not in followers
    )


@given(st.text(st.characters(exclude_characters="\0,", exclude_categories=["Cs"]), min_size=1))
@example("0")
@example("9" * 5000)
@example("²")
def test_what_is_no_number_of_uses_is_refused(value: str) -> None:
    stripped = value.strip()
    meant = stripped.isascii() and stripped.isdigit() and stripped[0] != "0" and len(stripped) < 8
    for name in ("reported-errors", "codes-to-strangers"):
        highest = limits.CHANGEABLE[name].highest
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LIMITS", f"{name}={value}")
            if meant and int(stripped) <= highest:
                assert limits.from_environment()[name][0] == int(stripped)
                continue
            with pytest.raises(ImproperlyConfigured, match=f"^LIMITS: {name} .* from 1 to {highest}.$"):
                limits.from_environment()


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (
            "wallet-download=5",
            "'wallet-download' cannot be changed. These can: address-changes-",
        ),
        ("pushes-per-relying-party=5", "'pushes-per-relying-party' cannot be changed"),
        ("second-factor-tries=5", "'second-factor-tries' cannot be changed"),
        ("links-per-client=5", "'links-per-client' cannot be changed"),
        ("=5", "'' cannot be changed"),
        ("reported-errors", "reported-errors must be a whole number"),
        ("reported-errors=5,reported-errors=6", "LIMITS names reported-errors twice"),
    ],
)
def test_a_misspelt_limit_is_not_overlooked(
    value: str, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIMITS", value)

    with pytest.raises(ImproperlyConfigured, match=complaint):
        limits.from_environment()
