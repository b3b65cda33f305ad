"""Stripe's webhooks: only what Stripe signed a moment ago is believed, and only the session's id of it."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wallet.providers.json_values import values
from tests.wallet.providers.stripe_server import SECRET, signed
from wallet.providers.contract import MessageRefusedError
from wallet.providers.stripe_identity.webhooks import LONGEST, session_of

EVENT = {
    "id": "evt_1",
    "object": "event",
    "type": "identity.verification_session.verified",
    "livemode": False,
    "data": {"object": {"id": "vs_1Test", "object": "identity.verification_session"}},
}
BODY = json.dumps(EVENT).encode()


def read(body=BODY, signature=None, secrets=(SECRET,), live=False):
    signature = signed(body) if signature is None else signature
    return session_of(body, signature, secrets=secrets, live=live)


def changed(**members):
    return json.dumps({**EVENT, **members}).encode()


def test_a_genuine_event_names_its_session():
    assert read() == "vs_1Test"


@pytest.mark.parametrize("kind", ["verified", "requires_input", "processing", "canceled"])
def test_events_that_may_bring_a_result_are_about_a_session(kind):
    assert read(changed(type=f"identity.verification_session.{kind}")) == "vs_1Test"


@pytest.mark.parametrize(
    "kind", ["identity.verification_session.created", "identity.verification_session.redacted", "charge.x"]
)
def test_other_events_are_fine_and_about_nothing(kind):
    assert read(changed(type=kind)) is None


def test_while_a_secret_is_replaced_either_fits():
    assert read(signature=signed(BODY, "whsec_new"), secrets=("whsec_old", "whsec_new")) == "vs_1Test"
    assert read(signature=signed(BODY, "whsec_other", SECRET)) == "vs_1Test"


@pytest.mark.parametrize(
    "signature",
    [
        lambda: "",
        lambda: ",",
        lambda: "rubbish",
        lambda: "t=,v1=",
        lambda: "t=1",
        lambda: "v1=" + "0" * 64,
        lambda: "t=" + "9" * 5000 + ",v1=00",
        lambda: signed(BODY, scheme="v0"),
        lambda: signed(BODY, "whsec_of_somebody_else"),
        lambda: signed(BODY, ""),
        lambda: signed(BODY, at=int(time.time()) - 301),
        lambda: signed(BODY, at=0),
        lambda: signed(BODY) + "\u00e9",
        lambda: signed(BODY).upper(),
        lambda: signed(b" " + BODY),
    ],
    ids=[
        "empty",
        "comma",
        "rubbish",
        "nothing in it",
        "no signature",
        "no time",
        "long time",
        "another scheme",
        "another secret",
        "empty secret",
        "old",
        "from 1970",
        "not ASCII",
        "capitals",
        "another body",
    ],
)
def test_every_other_signature_is_refused(signature):
    with pytest.raises(MessageRefusedError, match="No signature fits"):
        read(signature=signature())


def test_an_empty_secret_fits_nothing():
    for secrets in ((), ("",), (" ",)):
        with pytest.raises(MessageRefusedError):
            read(signature=signed(BODY, ""), secrets=secrets)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nope",
        b"7",
        b"[]",
        b'"x"',
        b"{}",
        b"\xff\xfe",
        b"[" * 10_000 + b"]" * 10_000,
        BODY[:-1] + b', "livemode": true}',
        b'{"object": "v2.core.event"}',
        b" " * LONGEST + BODY,
        changed(livemode=True),
        changed(livemode=0),
        changed(livemode=None),
        changed(type=None),
        changed(type=7),
        changed(type=[]),
        changed(data=None),
        changed(data=[]),
        changed(data={"object": "vs_1Test"}),
        changed(data={"object": {"id": 7}}),
        changed(data={"object": {"id": "vs_../../charges"}}),
        changed(data={"object": {"id": "vs_" + "x" * 101}}),
    ],
)
def test_a_signed_body_that_is_no_such_event_is_refused(body):
    with pytest.raises(MessageRefusedError):
        read(body)


def test_an_event_of_the_other_mode_than_the_key_is_refused():
    with pytest.raises(MessageRefusedError, match="other mode"):
        read(live=True)
    assert read(changed(livemode=True), live=True) == "vs_1Test"


@given(st.binary(max_size=400), st.text(max_size=200))
def test_whatever_comes_is_refused_unless_it_is_signed(body, signature):
    with pytest.raises(MessageRefusedError):
        read(body, signature)


MEMBERS = st.fixed_dictionaries(
    {},
    optional={
        "object": st.just("event") | values,
        "type": st.just(EVENT["type"]) | values,
        "livemode": st.just(False) | values,
        "data": st.fixed_dictionaries({"object": values | st.fixed_dictionaries({"id": values})}) | values,
    },
)


@given(MEMBERS | values)
def test_a_signed_value_of_any_shape_gives_an_id_or_nothing_or_is_refused(value):
    body = json.dumps(value).encode()
    try:
        session = read(body)
    except MessageRefusedError:
        return
    assert session is None or (session.startswith("vs_") and session.isascii())


@given(st.integers(0, len(BODY) - 1), st.integers(0, 255))
def test_one_changed_byte_is_noticed(place, byte):
    body = bytearray(BODY)
    body[place] = byte
    if bytes(body) != BODY:
        with pytest.raises(MessageRefusedError):
            read(bytes(body), signed(BODY))
