"""Both readers accept unambiguous JSON only, and refuse the same ambiguous texts."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra import strict_json
from infra.strict_json import NoNumberError, RepeatedNameError, StrictJsonError

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@given(json_values, st.booleans(), st.sampled_from([None, 1]), st.sampled_from([(",", ":"), (", ", ": ")]))
def test_however_json_is_written_it_says_the_same(
    value: Any, ascii_only: bool, indent: int | None, separators: tuple[str, str]
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent, separators=separators)
    read = strict_json.read(text.encode())
    assert (read, repr(read)) == (value, repr(json.loads(text)))


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "\u00e9"]), st.integers(0, 9)), min_size=1, max_size=4))
def test_a_name_that_is_there_twice_is_refused_however_short_the_json(members: list[tuple[str, int]]) -> None:
    text = "{" + ",".join(f'"{name}":{number}' for name, number in members) + "}"
    if len(dict(members)) == len(members):
        assert strict_json.read(text.encode()) == dict(members)
    else:
        with pytest.raises(RepeatedNameError, match="twice"):
            strict_json.read(text.encode())


AMBIGUOUS = [
    *("", "{", "\ufeff{}", "[" * 30_000, "1e999999999999999999999"),
    *('{"a": "\\ud800"}', '{"\\uDFFF": 1}', '{"a": [{"b": "x\\udbff"}]}', "[1, 01]", "'a'"),
]


@pytest.mark.parametrize("text", AMBIGUOUS)
def test_both_readers_refuse_ambiguous_json(text: str) -> None:
    for read in (strict_json.loads, lambda text: strict_json.read(text.encode())):
        with pytest.raises(StrictJsonError):
            read(text)


@pytest.mark.parametrize("written", ["NaN", "Infinity", "-Infinity"])
def test_neither_reader_takes_what_is_no_number(written: str) -> None:
    for read in (strict_json.loads, lambda text: strict_json.read(text.encode())):
        with pytest.raises(NoNumberError, match=f"must not contain {written}"):
            read(f'{{"a": {written}}}')


@given(st.binary(max_size=60))
def test_any_octets_are_read_or_refused_by_their_own_error(octets: bytes) -> None:
    try:
        value = strict_json.read(octets)
    except StrictJsonError:
        return
    assert strict_json.read(json.dumps(value).encode()) == value


@given(json_values)
def test_both_readers_read_the_same(value: Any) -> None:
    text = json.dumps(value)
    assert json.loads(json.dumps(strict_json.loads(text), default=float)) == strict_json.read(text.encode())
