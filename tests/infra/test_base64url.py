"""Base64url has one canonical form, and no other is accepted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.base64url import Base64urlError, decode, encode


@pytest.mark.parametrize("text", ["AA==", "AB", "A", "AA A", "A+/A", "ÄA", "AA\n", "AAA="])
def test_only_canonical_unpadded_base64url_is_read(text: str) -> None:
    with pytest.raises(Base64urlError):
        decode(text)


@given(st.binary(max_size=200))
def test_base64url_round_trips(data: bytes) -> None:
    assert decode(encode(data)) == data


@given(st.text(max_size=60))
def test_what_is_read_is_written_the_same_again(text: str) -> None:
    try:
        data = decode(text)
    except Base64urlError:
        return
    assert encode(data) == text
