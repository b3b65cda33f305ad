"""The moments from which and until which a relying party's JWT is valid, to the second."""

from datetime import UTC, datetime, timedelta

import pytest

from presentation.relying_parties.authentication.signed_jwt import LEEWAY, ClientJwtError, check_times

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
MOMENT, HOUR = int(NOW.timestamp()), timedelta(hours=1)
EARLY, LATE = int(LEEWAY.total_seconds()), int((HOUR + LEEWAY).total_seconds())


@pytest.mark.parametrize(
    "said",
    [
        {"exp": MOMENT - EARLY + 1},
        {"exp": MOMENT + LATE},
        {"exp": MOMENT + 60, "nbf": MOMENT + EARLY},
        {"exp": MOMENT + 60, "iat": MOMENT + EARLY},
    ],
)
def test_it_is_good_up_to_its_last_second(said: dict[str, float]) -> None:
    check_times(said, lifetime=HOUR, now=NOW)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"exp": MOMENT - EARLY}, "has expired"),
        ({"exp": MOMENT + LATE + 1}, "may be valid for 60 minutes from now"),
        ({"exp": MOMENT + 60, "nbf": MOMENT + EARLY + 1}, "is not valid yet"),
        ({"exp": MOMENT + 60, "iat": MOMENT + EARLY + 1}, "is not valid yet"),
    ],
)
def test_it_is_refused_from_the_next_second_on(said: dict[str, float], reason: str) -> None:
    with pytest.raises(ClientJwtError, match=reason):
        check_times(said, lifetime=HOUR, now=NOW)
