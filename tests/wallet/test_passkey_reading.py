"""What browsers post of passkeys is read or refused, never anything else."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra import base64url
from tests.wallet.authenticator import Authenticator
from wallet.passkeys import names, reading
from wallet.passkeys.reading import MOST_BYTES, MOST_CHARACTERS, UnreadableError

OPTIONS = {"challenge": base64url.encode(bytes(range(32))), "user": {"id": base64url.encode(b"handle")}}
KEY = Authenticator("https://wallet.example", rp_id="wallet.example", transports=("usb", "nfc"))
CREATED, SIGNED = json.loads(KEY.create(OPTIONS)), json.loads(KEY.get(OPTIONS))

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
MEMBERS = ("rawId", "type", "response", "authenticatorAttachment")
OF_RESPONSE = (*MOST_BYTES, "transports")


def read(text: str) -> Any:
    """Both readers; None if they refuse the text."""
    found = []
    for reader in (reading.read_key, reading.read_assertion):
        try:
            found.append(reader(text))  # type: ignore[operator]
        except UnreadableError:
            found.append(None)
    return found


def test_what_an_authenticator_makes_is_read() -> None:
    key = reading.read_key(json.dumps(CREATED))
    assert (key.credential_id, key.challenge) == (KEY.credential_id, bytes(range(32)))
    assert (key.transports, key.attached) == (("nfc", "usb"), True)
    signed = reading.read_assertion(json.dumps(SIGNED))
    assert (signed.credential_id, signed.user_handle) == (KEY.credential_id, b"handle")


@given(st.text() | anything.map(json.dumps))
def test_any_text_is_read_or_refused(text: str) -> None:
    assert read(text) == [None, None]


@given(
    st.sampled_from([CREATED, SIGNED]),
    st.dictionaries(st.sampled_from(MEMBERS), anything, max_size=2),
    st.dictionaries(st.sampled_from(OF_RESPONSE), anything, max_size=2),
)
def test_any_member_may_be_anything(posted: Any, members: Any, of_response: Any) -> None:
    read(json.dumps({**posted, "response": {**posted["response"], **of_response}, **members}))


@given(st.sampled_from([CREATED, SIGNED]), st.binary(max_size=300))
def test_the_client_data_may_be_any_bytes(posted: Any, client_data: bytes) -> None:
    response = {**posted["response"], "clientDataJSON": base64url.encode(client_data)}
    assert read(json.dumps({**posted, "response": response})) == [None, None]


@pytest.mark.parametrize("name", [name for name in MOST_BYTES if name != "clientDataJSON"])
def test_each_member_has_a_limit(name: str) -> None:
    for size, refused in ((MOST_BYTES[name], False), (MOST_BYTES[name] + 1, True)):
        posted = CREATED if name == "attestationObject" else SIGNED
        value = base64url.encode(bytes(size))
        if name == "rawId":
            changed = {**posted, "rawId": value}
        else:
            changed = {**posted, "response": {**posted["response"], name: value}}
        assert (read(json.dumps(changed)) == [None, None]) is refused


def test_the_whole_has_a_limit() -> None:
    text = json.dumps(SIGNED)
    assert reading.read_assertion(text + " " * (MOST_CHARACTERS - len(text)))
    with pytest.raises(UnreadableError):
        reading.read_assertion(text + " " * (MOST_CHARACTERS - len(text) + 1))


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Safari/604.1", "iPhone"),
        ("Mozilla/5.0 (Linux; Android 16; Pixel 10) Chrome/156.0 Mobile", "Android device"),
        ("Mozilla/5.0 (Windows NT 10.0; Win64; x64) Firefox/150.0", "Windows computer"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Safari/605.1.15", "Mac"),
        ("Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) Chrome/156.0", "Chromebook"),
        ("Mozilla/5.0 (X11; Linux x86_64) Firefox/150.0", "Linux computer"),
        ("", "Passkey"),
    ],
)
def test_a_passkey_of_this_device_is_named_after_it(user_agent: str, name: str) -> None:
    assert names.default(transports=["internal"], attached=True, user_agent=user_agent, taken=[]) == name


@given(st.text(max_size=40), st.lists(st.sampled_from(reading.TRANSPORTS)), st.booleans())
def test_every_name_is_short_and_not_taken(user_agent: str, transports: list[str], attached: bool) -> None:
    taken: list[str] = []
    for _number in range(20):
        taken.append(
            names.default(transports=transports, attached=attached, user_agent=user_agent, taken=taken)
        )
    assert len(set(taken)) == 20
    assert max(map(len, taken)) <= names.MOST
