"""What no authenticator makes is refused like a wrong signature, whatever the bytes are."""

from contextlib import suppress
from dataclasses import replace

import cbor2
import pytest
from django.conf import settings
from hypothesis import example, given
from hypothesis import strategies as st

from infra import base64url
from tests.wallet.authenticator import Authenticator
from wallet.models import Passkey
from wallet.passkeys import assertion, reading, registration
from wallet.passkeys.errors import PasskeyError

OPTIONS = {"challenge": base64url.encode(bytes(32)), "user": {"id": base64url.encode(bytes(16))}}
MADE = Authenticator(settings.BASE_URL)
CREATED, SIGNED = reading.read_key(MADE.create(OPTIONS)), reading.read_assertion(MADE.get(OPTIONS))
STORED = Passkey(public_key=registration.verified_key(CREATED).credential_public_key)


def changed_bytes(data):
    """Bytes of which some were changed, removed or added."""
    return st.tuples(st.integers(0, len(data)), st.integers(0, 40), st.binary(max_size=40)).map(
        lambda cut: data[: cut[0]] + cut[2] + data[cut[0] + cut[1] :]
    )


@given(changed_bytes(CREATED.attestation_object) | st.binary(max_size=200))
def test_any_attestation_is_verified_or_refused(attestation):
    with suppress(PasskeyError):
        registration.verified_key(replace(CREATED, attestation_object=attestation))


@given(changed_bytes(SIGNED.authenticator_data), changed_bytes(SIGNED.signature))
def test_any_signature_is_verified_or_refused(data, signature):
    with suppress(PasskeyError):
        assertion._verified(replace(SIGNED, authenticator_data=data, signature=signature), STORED)
        assert (data, signature) == (SIGNED.authenticator_data, SIGNED.signature)


@given(changed_bytes(SIGNED.client_data))
def test_any_client_data_is_verified_or_refused(client_data):
    with suppress(PasskeyError):
        assertion._verified(replace(SIGNED, client_data=client_data), STORED)
        assert client_data == SIGNED.client_data


DATA = cbor2.loads(CREATED.attestation_object)["authData"]
BEFORE_KEY = DATA[: 55 + len(MADE.credential_id)]
PARTS = st.integers(-4, 4) | st.sampled_from([-7, -8, -257, bytes(32), bytes(256)]) | st.binary(max_size=40)


@given(
    st.dictionaries(st.integers(-4, 4), PARTS, max_size=6)
    | st.dictionaries(st.integers(-4, 4), PARTS, max_size=3).map(lambda some: {1: 2, 3: -7, -1: 1} | some)
    | st.lists(PARTS, max_size=2)
    | PARTS
)
@example([1])
@example({1: 2, 3: -7, -1: 99, -2: bytes(32), -3: bytes(32)})
@example({1: 2, 3: -7, -1: 1, -2: 1, -3: 2})
@example({1: 3, 3: -257, -1: b"\0", -2: b"\0"})
def test_a_key_that_cannot_be_used_is_refused_before_it_is_stored(key):
    attestation = {"fmt": "none", "attStmt": {}, "authData": BEFORE_KEY + cbor2.dumps(key)}
    try:
        found = registration.verified_key(replace(CREATED, attestation_object=cbor2.dumps(attestation)))
    except PasskeyError:
        return
    with pytest.raises(PasskeyError, match="refused"):
        assertion._verified(SIGNED, Passkey(public_key=found.credential_public_key))


@pytest.mark.parametrize("name", ["tpm", "android-safetynet", "fido-u2f", "apple", "android-key", "other"])
def test_attestations_that_were_not_asked_for_are_not_parsed(name):
    attestation = cbor2.loads(CREATED.attestation_object) | {"fmt": name}
    with pytest.raises(PasskeyError, match="refused"):
        registration.verified_key(replace(CREATED, attestation_object=cbor2.dumps(attestation)))
