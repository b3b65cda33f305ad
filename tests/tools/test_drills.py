"""How drills count what happened, and their table; `.ci/run` runs a short one."""

from datetime import date

import pytest
import yaml
from django.conf import settings

from tools.drills import patroni, table
from tools.drills.drill import Result
from tools.drills.people import Flow, Outcome
from tools.drills.reckoning import Reckoning


def counted(**changes: int) -> Reckoning:
    names = ("flows", "clean", "after_trouble", "told", "stuck", "server_errors", "bare")
    names += ("doubled", "unrecorded", "unnoticed", "refused")
    return Reckoning(**(dict.fromkeys(names, 0) | changes))


@pytest.mark.parametrize("what", ["doubled", "stuck", "unrecorded", "unnoticed", "refused"])
def test_what_must_never_happen_makes_a_drill_fail(what: str) -> None:
    assert counted(flows=3, told=1, server_errors=9).sound
    assert not counted(flows=3, **{what: 1}).sound


def test_a_flow_is_clean_only_if_it_was_answered_without_trouble() -> None:
    flow = Flow("a@b.example", "nonce", 0.0, outcome=Outcome.ANSWERED)
    assert flow.clean
    flow.troubles.append("503")
    assert not flow.clean
    assert not Flow("a@b.example", "nonce", 0.0).clean


def test_the_table_is_written_in_place_with_its_date() -> None:
    result = Result("a fault", counted(flows=7, clean=5, doubled=1, unrecorded=1, bare=1))
    result.target(met=True, text="2 s")
    result.target(met=False, text="9 s")
    document = table.DOCUMENT.read_text()

    once = table.written(document, [result], date(2026, 2, 3))

    assert "Measured on 2026-02-03." in once
    figures = "2 s; **missed: 9 s**; 1 of the 5xx without a page of ours"
    assert f"| a fault | 7 | 5 | 0 | 0 | 1 | 1 | 0 | 0 | {figures} |" in once
    assert table.written(once, [result], date(2026, 2, 3)) == once
    both = table.written(once, [result], date(2026, 2, 4), " NAMES=failover")
    assert both.count(figures) == 2
    with pytest.raises(ValueError, match="missing"):
        table.written("nothing", [result], date(2026, 2, 3))


def test_the_settings_of_patroni_fit_together() -> None:
    dcs = yaml.safe_load(patroni.SETTINGS.read_text())["bootstrap"]["dcs"]
    assert dcs["loop_wait"] + 2 * dcs["retry_timeout"] <= dcs["ttl"]
    assert dcs["synchronous_mode"] is dcs["failsafe_mode"] is True
    silent = int(dcs["postgresql"]["parameters"]["wal_sender_timeout"].removesuffix("s"))
    assert silent + dcs["loop_wait"] < settings.DATABASE_ANSWER_TIMEOUT
