"""The drills run, count what happened, and stop their processes. No test checks how fast anything is."""

import os
from datetime import date

import pytest

from tests.benchmarks.sites import children
from tests.drills import killed, table
from tests.drills.drill import Result
from tests.drills.people import Flow, Outcome
from tests.drills.place import place
from tests.drills.reckoning import Reckoning


@pytest.mark.slow
@pytest.mark.nginx
@pytest.mark.postgresql
def test_a_drill_counts_what_people_met_and_leaves_no_process_behind() -> None:
    before = children(os.getpid())
    with place() as where:
        result = killed.worker(where, kills=1, people=2, instances=1, flows=4)
    count = result.count
    assert children(os.getpid()) == before
    assert count.flows >= 8
    assert count.clean + count.after_trouble + count.told + count.stuck == count.flows
    assert count.sound, count


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
    with pytest.raises(ValueError, match="missing"):
        table.written("nothing", [result], date(2026, 2, 3))
