"""A machine with a wrong clock does not work on: no answer has a wrong time, and nothing is cleared away."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError, connection, connections

from infra.database import clocks, outages

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db]


@pytest.fixture
def another() -> Iterator[Any]:
    """A connection of its own, not opened yet."""
    another = connection.copy()
    yield another
    another.close()


def off_by(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    real = time.clock_gettime
    monkeypatch.setattr(clocks.time, "clock_gettime", lambda clock: real(clock) + seconds)


@pytest.mark.parametrize("seconds", [7200, 70, -70, -7200])
def test_with_a_clock_that_is_off_no_connection_is_opened(
    monkeypatch: pytest.MonkeyPatch, another: Any, seconds: float
) -> None:
    off_by(monkeypatch, seconds)

    near = f"differ by ({abs(seconds)}|{abs(seconds) - 1}) s"
    with pytest.raises(OperationalError, match=near) as e:
        another.ensure_connection()

    assert another.connection is None
    assert outages.means_away(e.value), "people see that the service is not available"


@pytest.mark.parametrize("seconds", [0, 50, -50])
def test_a_small_difference_is_accepted(
    monkeypatch: pytest.MonkeyPatch, another: Any, seconds: float
) -> None:
    off_by(monkeypatch, seconds)

    another.ensure_connection()

    assert another.is_usable()


def test_a_slow_answer_is_not_taken_for_a_wrong_clock() -> None:
    class Slow:
        """A server that answers after two minutes."""

        def execute(self, *_: Any, **__: Any) -> Any:
            return self

        def fetchone(self) -> tuple[float]:
            return (1060.0,)

    readings = iter([1000.0, 1120.0])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(clocks.time, "clock_gettime", lambda _clock: next(readings))
        assert clocks.ahead(Slow()) == 0.0


def test_every_process_asks() -> None:
    from django.db.backends.signals import connection_created

    receivers = [reference() for _, reference, *_ in connection_created.receivers]
    assert clocks.refuse_wrong_clock in receivers
    assert connections["default"].vendor == "postgresql"
