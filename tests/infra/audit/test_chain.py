"""The hash chain: each kind of tampering is found, and an untouched record has no fault."""

import json
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.audit import chain
from infra.audit.chain import GENESIS, Head, Line

AT = datetime(2026, 11, 22, 10, 30, tzinfo=UTC)
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


def written(count: int, **known: Any) -> list[Line]:
    lines: list[Line] = []
    for number in range(count):
        values = {"operator_id": 7, "action": "seen", "about": f"wallet.wallet:{number}", "reason": ""}
        before = Head(lines[-1].seq, lines[-1].hash) if lines else None
        lines.append(chain.line(before, at=AT + timedelta(minutes=number), **(values | known)))
    return lines


def problems(lines: list[Line], *heads: Head) -> list[tuple[int, str]]:
    return [(fault.seq, fault.problem.split(":")[0]) for fault in chain.faults(lines, heads)]


@given(reasons=st.lists(WORDS, max_size=5), about=WORDS)
def test_what_was_written_has_no_fault_and_is_verified_with_sha256_alone(
    reasons: list[str], about: str
) -> None:
    lines: list[Line] = []
    for reason in reasons:
        before = Head(lines[-1].seq, lines[-1].hash) if lines else None
        lines.append(chain.line(before, at=AT, operator_id=None, action="seen", about=about, reason=reason))

    assert list(chain.faults(lines)) == []
    before_it = GENESIS
    for line in lines:
        assert json.loads(line.text)["previous"] == before_it
        before_it = sha256(line.text.encode()).hexdigest()
        assert line.hash == before_it


def test_a_changed_text_is_found() -> None:
    lines = written(4)
    lines[1] = lines[1]._replace(text=lines[1].text.replace('"operator":7', '"operator":8'), operator_id=8)

    assert (2, "changed") in problems(lines)


def test_a_changed_text_with_a_hash_to_fit_is_found_at_the_next_line() -> None:
    lines = written(4)
    text = lines[1].text.replace('"operator":7', '"operator":8')
    lines[1] = lines[1]._replace(text=text, hash=chain.digest(text), operator_id=8)

    assert [seq for seq, _problem in problems(lines)] == [3]


@pytest.mark.parametrize(
    "change",
    [{"operator_id": 8}, {"action": "changed"}, {"about": "wallet.wallet:9"}, {"at": AT - timedelta(days=1)}],
    ids=lambda change: next(iter(change)),
)
def test_a_changed_column_for_searching_is_found(change: dict[str, Any]) -> None:
    lines = written(3)
    lines[2] = lines[2]._replace(**change)

    assert problems(lines) == [(3, "changed")]


@pytest.mark.parametrize("removed", [0, 1, 2])
def test_a_removed_line_is_found(removed: int) -> None:
    lines = written(4)
    del lines[removed]

    assert problems(lines) == [(removed + 1, "removed")]


def test_an_inserted_line_is_found_wherever_it_is_put() -> None:
    lines = written(3)
    forged = chain.line(Head(1, lines[0].hash), at=AT, operator_id=9, action="seen", about="x", reason="")

    assert problems([*lines, forged._replace(seq=4)])
    renumbered = [lines[0], forged, *(line._replace(seq=line.seq + 1) for line in lines[1:])]
    assert {seq for seq, _problem in problems(renumbered)} >= {3, 4}


def test_a_removed_line_is_found_although_the_rest_was_renumbered() -> None:
    lines = written(4)
    assert problems([lines[0], *(line._replace(seq=line.seq - 1) for line in lines[2:])])


def test_a_cut_end_is_found_against_a_signed_head_and_only_so() -> None:
    lines = written(4)
    head = Head(lines[3].seq, lines[3].hash)

    assert problems(lines, head) == []
    assert problems(lines[:2]) == []
    assert [seq for seq, _problem in problems(lines[:2], head)] == [4]
    assert [seq for seq, _problem in problems([], head)] == [4]


def test_a_record_written_anew_from_the_start_is_found_against_a_signed_head() -> None:
    head = Head(3, written(3)[2].hash)

    assert problems(written(5, operator_id=8)) == []
    assert [seq for seq, _problem in problems(written(5, operator_id=8), head)] == [3]


@given(text=st.one_of(WORDS, st.just("null"), st.just("[1]"), st.just('{"seq":1}')))
def test_any_text_in_place_of_a_line_is_found_without_an_error(text: str) -> None:
    lines = written(2)
    lines[1] = lines[1]._replace(text=text)

    assert list(chain.faults(lines))
