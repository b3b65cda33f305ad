"""The optional claims that a form switches on: only those that were offered, each at most once."""

import pytest
from django.core.exceptions import BadRequest
from hypothesis import given
from hypothesis import strategies as st

from consent.switches import name_of, switched_on
from wallet.credential.claims import CLAIMS

OFFERED = [("email",), ("verification", "time"), ("nationalities",)]


def test_they_are_in_the_order_in_which_they_were_offered() -> None:
    assert switched_on(["nationalities", "email"], OFFERED) == (("email",), ("nationalities",))
    assert switched_on(["verification.time"], OFFERED) == (("verification", "time"),)
    assert switched_on([], OFFERED) == ()


@pytest.mark.parametrize(
    "names",
    [
        ["given_name"],  # required, or not asked for at all
        ["verification"],
        ["email", "email"],
        [""],
        ["EMAIL"],
        ["email "],
        ["email", "nationalities", "verification.time", "given_name"],
        ["x"] * 10_000,
        [f"claim{number}" for number in range(10_000)],
    ],
)
def test_everything_else_is_refused_and_not_repeated(names: list[str]) -> None:
    with pytest.raises(BadRequest) as refused:
        switched_on(names, OFFERED)

    assert not any(name and name in str(refused.value).split() for name in names)


NAMES = st.lists(
    st.one_of(st.sampled_from([name_of(path) for path in CLAIMS]), st.text(max_size=8)), max_size=8
)


@given(NAMES, st.lists(st.sampled_from(sorted(CLAIMS)), unique=True))
def test_what_is_switched_on_was_offered_and_named(names: list[str], offered: list[tuple[str, ...]]) -> None:
    try:
        found = switched_on(names, offered)
    except BadRequest:
        assert len(set(names)) < len(names) or set(names) - {name_of(path) for path in offered}
        return
    assert set(found) <= set(offered)
    assert sorted(map(name_of, found)) == sorted(names)
