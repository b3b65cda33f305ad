"""What browsers post of passkeys is read or refused, never anything else."""

import json
import sys
from contextlib import suppress
from typing import Any

import cbor2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from webauthn.helpers import encode_cbor

from infra import base64url
from tests.wallet.authenticator import Authenticator
from wallet.passkeys import reading, registration
from wallet.passkeys.errors import PasskeyError, UnreadableError
from wallet.passkeys.reading import AUTHENTICATOR_DATA, MOST_BYTES, MOST_CHARACTERS

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


MADE = cbor2.loads(base64url.decode(CREATED["response"]["attestationObject"]))
BEFORE_KEY = MADE["authData"][: 37 + 16 + 2 + len(KEY.credential_id)]
COSE_KEY = cbor2.loads(MADE["authData"][len(BEFORE_KEY) :])
# What CBOR has and JSON has not; the numbers are lengths that `bytes()` cannot or must not make.
of_cbor = (
    anything
    | st.binary(max_size=80)
    | st.sampled_from([2**70, -(2**70), 10**12, float("nan"), cbor2.undefined, cbor2.CBORSimpleValue(99)])
    | st.builds(cbor2.CBORTag, st.sampled_from([0, 1, 2, 4, 30, 35, 37, 258]), anything | st.just((10**6, 1)))
)


def attested(encoded: bytes) -> str:
    response = {**CREATED["response"], "attestationObject": base64url.encode(encoded)}
    return json.dumps({**CREATED, "response": response})


@given(st.dictionaries(st.sampled_from(["fmt", "attStmt", "authData", "x"]), of_cbor) | of_cbor)
@example({"authData": 2**70})
@example({"authData": 10**12})
@example({"authData": list(MADE["authData"])})
def test_the_authenticator_data_is_bytes_or_the_attestation_object_is_refused(changed: Any) -> None:
    whole = {**MADE, **changed} if isinstance(changed, dict) else changed
    text = attested(cbor2.dumps(whole))
    if whole == MADE:
        assert reading.read_key(text)
    elif not isinstance(whole, dict) or whole["authData"] != MADE["authData"]:
        assert read(text) == [None, None]
    else:  # what else it holds may be CBOR that no authenticator makes
        assert read(text)[1] is None


@given(
    st.dictionaries(st.sampled_from(["fmt", "attStmt"]), of_cbor | st.just("packed")),
    st.dictionaries(st.sampled_from([1, 3, -1, -2, -3]), of_cbor),
    of_cbor,
)
def test_a_key_of_any_cbor_is_accepted_or_refused_and_no_other_error_gets_out(
    outside: Any, of_key: Any, after: Any
) -> None:
    for key in (cbor2.dumps({**COSE_KEY, **of_key}), cbor2.dumps(after)):
        for data in (BEFORE_KEY + key, BEFORE_KEY + key + cbor2.dumps(after)):
            with suppress(PasskeyError):
                registration.verified_key(
                    reading.read_key(attested(cbor2.dumps({**MADE, **outside, "authData": data})))
                )


@given(st.binary(max_size=300))
def test_the_attestation_object_may_be_any_bytes(encoded: bytes) -> None:
    assert read(attested(encoded)) == [None, None]


def test_the_authenticator_data_in_an_attestation_object_is_of_a_plausible_length() -> None:
    for size in (AUTHENTICATOR_DATA.start - 1, AUTHENTICATOR_DATA.stop):
        assert read(attested(cbor2.dumps({**MADE, "authData": bytes(size)}))) == [None, None]
    for size in (AUTHENTICATOR_DATA.start, AUTHENTICATOR_DATA.stop - 1):
        assert reading.read_key(attested(cbor2.dumps({**MADE, "authData": bytes(size)})))


@pytest.mark.parametrize("name", [name for name in MOST_BYTES if name != "clientDataJSON"])
def test_each_member_has_a_limit(name: str) -> None:
    for size, refused in ((MOST_BYTES[name], False), (MOST_BYTES[name] + 1, True)):
        value = base64url.encode(bytes(size))
        if name == "attestationObject":
            without = len(cbor2.dumps({**MADE, "x": bytes(256)})) - 256
            text = attested(cbor2.dumps({**MADE, "x": bytes(size - without)}))
        elif name == "rawId":
            text = json.dumps({**SIGNED, "rawId": value})
        else:
            text = json.dumps({**SIGNED, "response": {**SIGNED["response"], name: value}})
        assert (read(text) == [None, None]) is refused


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
    assert (
        registration.default_name(transports=["internal"], attached=True, user_agent=user_agent, taken=[])
        == name
    )


@given(st.text(max_size=40), st.lists(st.sampled_from(reading.TRANSPORTS)), st.booleans())
def test_every_name_is_short_and_not_taken(user_agent: str, transports: list[str], attached: bool) -> None:
    taken: list[str] = []
    for _number in range(20):
        taken.append(
            registration.default_name(
                transports=transports, attached=attached, user_agent=user_agent, taken=taken
            )
        )
    assert len(set(taken)) == 20
    assert max(map(len, taken)) <= registration.LONGEST_NAME


# --- What CBOR may cost ------------------------------------------------------------------------------------

SHARED, REFERENCE, SET = b"\xd8\x1c", b"\xd8\x1d", b"\xd9\x01\x02"  # tags 28, 29 and 258


def bomb(levels: int) -> bytes:
    """Lists that contain the one before twice: hashing them, or encoding them again, never ends."""
    lists = [SHARED + b"\x82\0\0"]
    for number in range(levels):
        lists.append(SHARED + b"\x82" + 2 * (REFERENCE + encode_cbor(number)))
    return b"\x98" + bytes([len(lists)]) + b"".join(lists)


def attestation(authenticator_data: bytes) -> str:
    whole = {"fmt": "none", "attStmt": {}, "authData": authenticator_data}
    posted = {**CREATED["response"], "attestationObject": base64url.encode(encode_cbor(whole))}
    return json.dumps({**CREATED, "response": posted})


def data_with(flags: int, cbor: bytes) -> bytes:
    """Authenticator data with these extensions, or with this key of a credential whose ID is empty."""
    return bytes(32) + bytes([flags]) + bytes(4) + (bytes(18) if flags & 0x40 else b"") + cbor


@pytest.mark.parametrize("start", [b"", SET, b"\xa1"], ids=["encoded again", "in a set", "a key"])
@pytest.mark.parametrize("flags", [0x40, 0x80], ids=["key", "extensions"])
def test_cbor_that_refers_to_itself_is_refused_before_it_is_decoded(start: bytes, flags: int) -> None:
    data = data_with(flags, start + bomb(60))
    assert len(data) < 700
    with pytest.raises(UnreadableError):
        reading.check_authenticator_data(data)
    signed = {**SIGNED["response"], "authenticatorData": base64url.encode(data)}
    assert read(json.dumps({**SIGNED, "response": signed})) == [None, None]
    outer = {**CREATED["response"], "attestationObject": base64url.encode(start + bomb(60))}
    assert read(json.dumps({**CREATED, "response": outer})) == [None, None]


@pytest.mark.parametrize("start", [b"", SET, b"\xa1"], ids=["encoded again", "in a set", "a key"])
def test_a_new_passkey_whose_data_refers_to_itself_is_refused_before_it_is_decoded(start: bytes) -> None:
    with pytest.raises(UnreadableError):
        reading.read_key(attestation(data_with(0x40, start + bomb(60))))


@pytest.mark.parametrize(
    "item", [b"\x1b" + bytes(7) + b"\x01", b"\xf9\x3c\x00", b"\xfb" + bytes(8), b"\x9f\xff"]
)
def test_cbor_that_is_not_in_its_shortest_form_is_refused(item: bytes) -> None:
    """Otherwise the bytes of a string could be read as the extensions."""
    with pytest.raises(UnreadableError):
        reading.check_authenticator_data(data_with(0x40, b"\xa1\x01" + item))


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**64), 2**64 - 1)
    | st.text(max_size=30)
    | st.binary(max_size=300),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.integers(-99, 99), inner, max_size=4),
    max_leaves=12,
)


@given(values, values)
def test_cbor_as_authenticators_make_it_is_accepted(key: Any, extensions: Any) -> None:
    data = data_with(0xC0, encode_cbor(key) + encode_cbor(extensions))
    reading.check_authenticator_data(data)
    reading.read_key(attestation(data)[: 2 * MOST_CHARACTERS])


@given(st.binary(max_size=400), st.integers(0, 60))
def test_any_bytes_as_cbor_are_refused_or_accepted(data: bytes, at: int) -> None:
    try:
        reading.check_authenticator_data(data)
        reading._check_cbor(data, at)
    except UnreadableError:
        return


def calls(work: Any) -> int:
    """How many functions `work` calls, also those in C."""
    count = 0

    def counted(_frame: object, event: str, _about: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def test_checking_cbor_takes_few_calls_for_each_byte() -> None:
    most = MOST_BYTES["attestationObject"]
    for item in (b"\x81", b"\x18\x18", b"\x40", b"\xa1\x00", b"\x1b" + b"\xff" * 8):
        assert calls(lambda item=item: reading._check_cbor(item * (most // len(item)))) <= 6 * most
