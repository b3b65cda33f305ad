"""How drills count what happened, and their table; `.ci/run` runs a short one."""

import pytest
import yaml
from django.conf import settings

from tools.drills import patroni
from tools.drills.reckoning import Reckoning


def counted(**changes: int) -> Reckoning:
    names = ("flows", "clean", "after_trouble", "told", "stuck", "server_errors", "bare")
    names += ("doubled", "unrecorded", "unnoticed", "refused")
    return Reckoning(**(dict.fromkeys(names, 0) | changes))


@pytest.mark.parametrize("what", ["doubled", "stuck", "unrecorded", "unnoticed", "refused"])
def test_what_must_never_happen_makes_a_drill_fail(what: str) -> None:
    assert counted(flows=3, told=1, server_errors=9).sound
    assert not counted(flows=3, **{what: 1}).sound


def test_the_settings_of_patroni_fit_together() -> None:
    dcs = yaml.safe_load(patroni.SETTINGS.read_text())["bootstrap"]["dcs"]
    assert dcs["loop_wait"] + 2 * dcs["retry_timeout"] <= dcs["ttl"]
    assert dcs["synchronous_mode"] is dcs["failsafe_mode"] is True
    silent = int(dcs["postgresql"]["parameters"]["wal_sender_timeout"].removesuffix("s"))
    assert silent + dcs["loop_wait"] < settings.DATABASE_ANSWER_TIMEOUT
