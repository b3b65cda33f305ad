"""The Django whose internals are used, and one that the service was not tried with, as far as it can tell."""

import pytest

from infra.database import internals


@pytest.fixture(params=["tried", "untried"])
def either_django(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "untried":
        monkeypatch.setattr(internals, "ARE_TRIED", False)
