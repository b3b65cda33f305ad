"""What no authenticator makes is refused like a wrong signature, whatever the bytes are."""

from contextlib import suppress
from dataclasses import replace

import cbor2
import pytest
from django.conf import settings
from hypothesis import given
from hypothesis import strategies as st

from infra import base64url
from tests.wallet.authenticator import Authenticator
from wallet.models import Passkey
from wallet.passkeys import assertion, reading, registration
from wallet.passkeys.errors import PasskeyError, RefusedError

OPTIONS = {"challenge": base64url.encode(bytes(32)), "user": {"id": base64url.encode(bytes(16))}}
MADE = Authenticator(settings.BASE_URL)
CREATED, SIGNED = reading.read_key(MADE.create(OPTIONS)), reading.read_assertion(MADE.get(OPTIONS))
STORED = Passkey(public_key=registration._verified(CREATED).credential_public_key)


def changed_bytes(data):
    """Bytes of which some were changed, removed or added."""
    return st.tuples(st.integers(0, len(data)), st.integers(0, 40), st.binary(max_size=40)).map(
        lambda cut: data[: cut[0]] + cut[2] + data[cut[0] + cut[1] :]
    )


@given(changed_bytes(CREATED.attestation_object) | st.binary(max_size=200))
def test_any_attestation_is_verified_or_refused(attestation):
    with suppress(PasskeyError):
        registration._verified(replace(CREATED, attestation_object=attestation))


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


@pytest.mark.parametrize("name", ["tpm", "android-safetynet", "fido-u2f", "apple", "android-key", "other"])
def test_attestations_that_were_not_asked_for_are_not_parsed(name):
    attestation = cbor2.loads(CREATED.attestation_object) | {"fmt": name}
    with pytest.raises(RefusedError):
        registration._verified(replace(CREATED, attestation_object=cbor2.dumps(attestation)))
