"""What a trial of a limit consists of, and the ways in which limits answer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from infra.limits import Limit, LimitReachedError, RollingLimit

Anyone = Limit | RollingLimit


@dataclass(frozen=True)
class Trial:
    """One limit that is tried.

    use: does once what the limit counts, for the first or the second subject, and gives the outcome.
    refused: whether an outcome is the refusal; it also checks the promised words, status and Retry-After.
    """

    use: Callable[[int], Any]
    refused: Callable[[Any, Anyone], bool]


Begin = Callable[[pytest.FixtureRequest], Trial]


def address(subject: int) -> str:
    """A client address of its own for each subject."""
    return f"192.0.2.{subject + 1}"


def browser(subject: int) -> Client:
    """A browser at that client address."""
    return Client(REMOTE_ADDR=address(subject))


def over_http(use: Callable[[int], Any], *words: str, done: int = 200) -> Trial:
    """A page or endpoint with status `done`, and at the limit with 429, Retry-After and these words."""

    def refused(response: Any, limit: Anyone) -> bool:
        if response.status_code != 429:
            assert response.status_code == done, response.content
            return False
        assert 0 < int(response.headers["Retry-After"]) <= limit.window.total_seconds() + 1
        for word in words:
            assert word in response.content.decode()
        return True

    return Trial(use, refused)


def over_api(use: Callable[[int], Any], done: int = 200) -> Trial:
    """An endpoint for machines, which answers as RFC 6749 §5.2 has it."""
    return over_http(use, "temporarily_unavailable", "error_description", done=done)


def raising(use: Callable[[int], object]) -> Trial:
    """A use case, which raises LimitReachedError with the time when it can be done again."""

    def outcome(subject: int) -> LimitReachedError | None:
        try:
            use(subject)
        except LimitReachedError as reached:
            return reached
        return None

    def refused(reached: LimitReachedError | None, limit: Anyone) -> bool:
        if reached is not None:
            assert 0 < int(reached.retry_after(timezone.now())) <= limit.window.total_seconds() + 1
        return reached is not None

    return Trial(outcome, refused)


def silently(use: Callable[[int], bool]) -> Trial:
    """What is not done at the limit without a word about it; `use` gives whether it was done."""
    return Trial(use, lambda was_done, _limit: not was_done)
