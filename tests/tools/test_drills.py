"""How drills count what happened, and their table; `.ci/run` runs a short one."""

import pytest

from tools.drills.reckoning import Reckoning


def counted(**changes: int) -> Reckoning:
    names = ("flows", "clean", "after_trouble", "told", "stuck", "server_errors", "bare")
    names += ("doubled", "unrecorded", "unnoticed", "refused")
    return Reckoning(**(dict.fromkeys(names, 0) | changes))


@pytest.mark.parametrize("what", ["doubled", "stuck", "unrecorded", "unnoticed", "refused"])
def test_what_must_never_happen_makes_a_drill_fail(what: str) -> None:
    assert counted(flows=3, told=1, server_errors=9).sound
    assert not counted(flows=3, **{what: 1}).sound
