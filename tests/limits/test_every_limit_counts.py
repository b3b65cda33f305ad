"""Each limit of the table is reached by what it counts, answers as promised, and leaves others alone."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest

from config.limits import SETTINGS
from infra.limits import Limit, RollingLimit
from tests.limits import of_operators, of_relying_parties, of_the_sandbox, of_wallets
from tests.limits.trial import Anyone
from tests.source_modules import LAYERS, modules

TRIALS = of_wallets.TRIALS | of_relying_parties.TRIALS | of_operators.TRIALS | of_the_sandbox.TRIALS
MOST = 2  # instead of the number of the table, which is often in the hundreds
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("windows_just_begun", "signing_key")]


def purposes() -> list[str]:
    return [purpose for setting in SETTINGS for purpose in (setting.purpose, *setting.also)]


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    """Servers that a trial starts end with it."""
    with ExitStack() as stack:
        yield stack


def home(purpose: str) -> str:
    """The one module that makes the limit."""
    makes = f'Limit.from_settings("{purpose}")'
    (module,) = [module for module, path in modules() if makes in path.read_text()]
    return module


def lowered(purpose: str, monkeypatch: pytest.MonkeyPatch) -> Anyone:
    """Give the limit the number MOST in its module, and in every other one that imports it from there."""
    import_module(home(purpose))
    is_it = lambda one: isinstance(one, Limit | RollingLimit) and one.purpose == purpose  # noqa: E731
    few: list[Anyone] = []
    for module in [found for name, found in sys.modules.items() if name.partition(".")[0] in LAYERS]:
        for name, value in list(vars(module).items()):
            each: tuple[Any, ...] = value if isinstance(value, tuple) else (value,)
            if any(map(is_it, each)):
                changed = tuple(replace(one, most=MOST) if is_it(one) else one for one in each)
                monkeypatch.setattr(module, name, changed if isinstance(value, tuple) else changed[0])
                few += filter(is_it, changed)
    return few[0]


@pytest.mark.parametrize("purpose", purposes())
def test_what_a_limit_counts_is_done_until_it_answers_and_another_subject_is_not_touched(
    purpose: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert purpose in TRIALS, f"tests/limits has no trial of the limit {purpose}"
    trial = TRIALS[purpose](request)
    limit = lowered(purpose, monkeypatch)

    outcomes = [trial.refused(trial.use(0), limit) for _ in range(MOST + 1)]

    assert outcomes == [False] * MOST + [True]
    assert not trial.refused(trial.use(1), limit)


def test_every_trial_is_of_a_limit_of_the_table() -> None:
    assert TRIALS.keys() == set(purposes())
