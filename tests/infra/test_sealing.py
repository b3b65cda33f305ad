"""Sealed values."""

import base64
import secrets
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.sealing import SealError, seal, unseal

PLACE = "keys_signingkey.sealed_private_key:1"


@given(st.binary(max_size=2000), st.text(max_size=100))
def test_what_is_sealed_opens_in_its_place(plain: bytes, context: str) -> None:
    assert unseal(seal(plain, context=context), context=context) == plain


@given(st.binary(max_size=200), st.data())
def test_a_changed_byte_anywhere_does_not_open(plain: bytes, data: st.DataObject) -> None:
    sealed = bytearray(seal(plain, context=PLACE))
    position = data.draw(st.integers(0, len(sealed) - 1))
    sealed[position] ^= data.draw(st.integers(1, 255))
    with pytest.raises(SealError):
        unseal(bytes(sealed), context=PLACE)


@given(st.binary(max_size=200))
def test_arbitrary_bytes_never_open_and_only_raise_a_seal_error(junk: bytes) -> None:
    with pytest.raises(SealError):
        unseal(junk, context=PLACE)


def test_a_value_moved_to_another_row_does_not_open() -> None:
    with pytest.raises(SealError, match="belongs elsewhere"):
        unseal(seal(b"secret", context=PLACE), context="keys_signingkey.sealed_private_key:2")


def test_sealing_twice_gives_different_bytes_without_the_plain_text() -> None:
    first, second = seal(b"secret" * 5, context=PLACE), seal(b"secret" * 5, context=PLACE)
    assert first != second
    assert b"secret" not in first


def test_the_first_key_seals_and_every_key_opens(settings: Any) -> None:
    old, new = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    settings.KEY_SEALING_KEYS = [old]
    sealed_before = seal(b"secret", context=PLACE)
    settings.KEY_SEALING_KEYS = [new, old]
    sealed_after = seal(b"secret", context=PLACE)
    assert unseal(sealed_before, context=PLACE) == b"secret"
    settings.KEY_SEALING_KEYS = [new]
    assert unseal(sealed_after, context=PLACE) == b"secret"
    with pytest.raises(SealError, match="not among KEY_SEALING_KEYS"):
        unseal(sealed_before, context=PLACE)


def test_a_value_that_version_0_1_0_sealed_opens(settings: Any) -> None:
    settings.KEY_SEALING_KEYS = ["a sealing key of version 0.1.0, known to everybody"]
    recorded = base64.b64decode("AfcyHty+DAuC0TDhNLwWHTR/NBfK37+/bp90H7MevAgIn90jKt0F")

    assert unseal(recorded, context=PLACE) == b"secret"


def test_a_memoryview_as_postgresql_gives_it_opens() -> None:
    assert unseal(memoryview(seal(b"secret", context=PLACE)), context=PLACE) == b"secret"


def test_without_any_sealing_key_nothing_is_sealed(settings: Any) -> None:
    settings.KEY_SEALING_KEYS = []
    with pytest.raises(SealError):
        seal(b"secret", context=PLACE)
