"""A fixture that runs a test as with a tested version of Django, and as with an untested one."""

import pytest

from infra.database import internals


@pytest.fixture(params=["tried", "untried"])
def either_django(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "untried":
        monkeypatch.setattr(internals, "DJANGO_IS_KNOWN_TO_WORK", False)
