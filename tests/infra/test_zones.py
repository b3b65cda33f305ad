"""Names of time zones, which browsers send."""

from datetime import datetime, tzinfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra import zones


@pytest.mark.parametrize("name", ["Europe/Madrid", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "UTC"])
def test_a_zone_is_found_by_its_name(name: str) -> None:
    found = zones.named(name)
    assert found is not None
    assert found.key == name


@pytest.mark.parametrize(
    "name", ["", "/etc/passwd", "../UTC", "Europe", "Europe/", "None", "UTC\n", "U" * 65]
)
def test_nothing_else_is_a_zone(name: str) -> None:
    assert zones.named(name) is None


@given(st.one_of(st.text(max_size=80), st.from_regex(r"[A-Za-z0-9_+./-]{0,70}", fullmatch=True)))
def test_any_text_gives_a_usable_zone_or_none(name: str) -> None:
    found = zones.named(name)
    assert found is None or (isinstance(found, tzinfo) and datetime.now(found).utcoffset() is not None)
