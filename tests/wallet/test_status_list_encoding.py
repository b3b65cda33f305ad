"""The encoding of status lists: the draft's vectors, and property-based tests."""

import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra import base64url
from tests.relying_party import RejectedError, status_at
from wallet.status_lists.token import compress, pack

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "tsl_vectors.json").read_text())
SIZES = st.sampled_from([8, 64, 1024])
BITS = st.sampled_from([1, 2, 4, 8])


def entries(vector: dict[str, Any]) -> dict[int, int]:
    return {int(idx): status for idx, status in vector["non_zero"].items()}


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_a_list_of_the_draft_has_the_drafts_bytes(vector: dict[str, Any]) -> None:
    size = vector["raw_len"] * 8 // vector["bits"]

    packed = pack(entries(vector), size=size, bits=vector["bits"])

    assert packed == zlib.decompress(base64url.decode(vector["lst"]))
    assert zlib.decompress(base64url.decode(compress(packed))) == packed


@pytest.mark.slow
@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_the_reader_of_these_tests_reads_the_drafts_lists(vector: dict[str, Any]) -> None:
    said = entries(vector)
    size = vector["raw_len"] * 8 // vector["bits"]
    asked = {*said, 0, 2, 4, 6, size // 2, size - 1}

    for idx in asked:
        assert status_at(vector["lst"], vector["bits"], idx) == said.get(idx, 0)
    with pytest.raises(RejectedError, match="no entry"):
        status_at(vector["lst"], vector["bits"], size)


@given(st.data(), SIZES, BITS)
def test_whatever_a_list_holds_is_read_from_it(data: st.DataObject, size: int, bits: int) -> None:
    status = st.integers(0, 2**bits - 1)
    said = data.draw(st.dictionaries(st.integers(0, size - 1), status, max_size=50))

    packed = pack(said, size=size, bits=bits)

    assert len(packed) * 8 == size * bits
    lst = compress(packed)
    assert [status_at(lst, bits, idx) for idx in range(size)] == [said.get(idx, 0) for idx in range(size)]


def test_the_lowest_bits_of_a_byte_come_first() -> None:
    assert pack({0: 1}, size=8, bits=2) == b"\x01\x00"
    assert pack({3: 2}, size=8, bits=2) == b"\x80\x00"
    assert pack({4: 1}, size=8, bits=2) == b"\x00\x01"


@pytest.mark.parametrize(
    ("statuses", "size", "bits"),
    [
        ({8: 1}, 8, 2),
        ({-1: 1}, 8, 2),
        ({0: 4}, 8, 2),
        ({0: -1}, 8, 2),
        ({}, 8, 3),
        ({}, 8, 0),
        ({}, 8, 16),
        ({}, 3, 2),
        ({}, 0, 2),
        ({}, -8, 2),
    ],
)
def test_what_does_not_fit_is_not_packed(statuses: dict[int, int], size: int, bits: int) -> None:
    with pytest.raises(ValueError):
        pack(statuses, size=size, bits=bits)
