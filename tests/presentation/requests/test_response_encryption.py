"""The key that an answer is encrypted to; a second implementation decrypts it (RFC 7516, RFC 7518 §4.6)."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc import jwe
from joserfc.jwk import ECKey, OctKey, RSAKey

from presentation.encryption import Recipient, recipient
from presentation.errors import InvalidRequestError

KEY = ECKey.generate_key("P-256", {"kid": "one", "use": "enc", "alg": "ECDH-ES"})
PUBLIC: dict[str, Any] = KEY.as_dict(private=False)


def metadata(*keys: Any, **members: Any) -> str:
    return json.dumps({"jwks": {"keys": list(keys)}, **members})


def without(*names: str) -> dict[str, Any]:
    return {name: value for name, value in PUBLIC.items() if name not in names}


@given(st.dictionaries(st.text(), st.text()), st.sampled_from(["A128GCM", "A256GCM"]))
def test_a_second_implementation_decrypts_the_answer(members: dict[str, str], method: str) -> None:
    chosen = recipient(metadata(PUBLIC, encrypted_response_enc_values_supported=[method]))

    token = jwe.decrypt_compact(chosen.encrypt(members), KEY, algorithms=["ECDH-ES", method])

    assert json.loads(token.plaintext or b"") == members
    assert {name: token.protected[name] for name in ("alg", "enc", "kid")} == {
        "alg": "ECDH-ES",
        "enc": method,
        "kid": "one",
    }
    assert "d" not in token.protected["epk"]


def test_every_answer_has_an_ephemeral_key_of_its_own() -> None:
    chosen = recipient(metadata(PUBLIC))

    assert chosen.encrypt({}).split(".")[0] != chosen.encrypt({}).split(".")[0]


PASSED_OVER = {
    "for signatures": {**PUBLIC, "use": "sig"},
    "without alg": without("alg"),
    "with another algorithm": {**PUBLIC, "alg": "ECDH-ES+A128KW"},
    "with an unknown algorithm": {**PUBLIC, "alg": "X"},
    "of an unknown type": {"kty": "AKP", "alg": "ECDH-ES", "kid": "x"},
    "RSA": RSAKey.generate_key(2048, {"alg": "RSA-OAEP-256"}).as_dict(private=False),
    "symmetric": OctKey.generate_key(256, {"alg": "ECDH-ES"}).as_dict(),
    "on another curve": ECKey.generate_key("P-384", {"alg": "ECDH-ES"}).as_dict(private=False),
    "private": KEY.as_dict(private=True),
    "not on the curve": {**PUBLIC, "y": PUBLIC["x"]},
    "with a kid that is a number": {**PUBLIC, "kid": 1},
    "with an endless kid": {**PUBLIC, "kid": "k" * 201},
    "for verifying": {**PUBLIC, "key_ops": ["verify"]},
    "for wrapping": {**PUBLIC, "key_ops": ["wrapKey"]},
    "for an operation that is no list": {**PUBLIC, "key_ops": "deriveBits"},
    "for operations that are no texts": {**PUBLIC, "key_ops": [{}]},
    "with a padded coordinate": {**PUBLIC, "x": PUBLIC["x"] + "="},
    "no object": "key",
}


@pytest.mark.parametrize("key", PASSED_OVER.values(), ids=PASSED_OVER.keys())
def test_a_key_that_cannot_be_used_is_passed_over(key: Any) -> None:
    assert recipient(metadata(key, PUBLIC)).kid == "one"
    with pytest.raises(InvalidRequestError):
        recipient(metadata(key))


OPERATIONS: list[list[str]] = [[], ["deriveBits"], ["deriveKey", "deriveBits"]]


@pytest.mark.parametrize("operations", OPERATIONS)
def test_a_key_for_agreement_may_say_so(operations: list[str]) -> None:
    assert recipient(metadata({**PUBLIC, "key_ops": operations})).kid == "one"


def test_a_registered_key_is_used_if_the_request_has_none() -> None:
    other = ECKey.generate_key("P-256", {"kid": "two", "use": "enc", "alg": "ECDH-ES"}).as_dict(private=False)
    both_methods = json.dumps({"encrypted_response_enc_values_supported": ["A128GCM", "A256GCM"]})
    for_signatures = {**PUBLIC, "use": "sig", "alg": "ES256"}

    assert recipient(None, [other]).kid == "two"
    assert recipient(metadata(for_signatures), [other]).kid == "two"
    chosen = recipient(both_methods, [other])
    assert (chosen.kid, chosen.method) == ("two", "A256GCM")
    assert recipient(metadata(PUBLIC), [other]).kid == "one"
    for said in ("{", "[]", '{"jwks": {"keys": {}}}'):
        with pytest.raises(InvalidRequestError):
            recipient(said, [other])


@pytest.mark.parametrize("usable", [without("use"), without("kid"), PUBLIC])
def test_use_and_kid_may_be_left_out(usable: dict[str, Any]) -> None:
    chosen = recipient(metadata(usable))

    token = jwe.decrypt_compact(chosen.encrypt({"a": "b"}), KEY, algorithms=["ECDH-ES", "A128GCM"])

    assert token.protected.get("kid") == usable.get("kid")


NOBODY = {
    "nothing": None,
    "no JSON": "{",
    "no object": "[]",
    "no keys": "{}",
    "no list of keys": '{"jwks": {"keys": {}}}',
    "an empty list": metadata(),
    "too many keys": metadata(*[PUBLIC] * 21),
    "an unknown method": metadata(PUBLIC, encrypted_response_enc_values_supported=["A128CBC-HS256"]),
    "no list of methods": metadata(PUBLIC, encrypted_response_enc_values_supported="A128GCM"),
    "no method": metadata(PUBLIC, encrypted_response_enc_values_supported=[]),
    "two sets": '{"jwks": {"keys": []}, "jwks": {"keys": []}}',
    "depth": "[" * 5000,
}


@pytest.mark.parametrize("said", NOBODY.values(), ids=NOBODY.keys())
def test_without_a_key_and_a_method_nothing_can_be_encrypted(said: str | None) -> None:
    with pytest.raises(InvalidRequestError):
        recipient(said)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
nearly_keys = st.dictionaries(
    st.sampled_from(["kty", "crv", "x", "y", "d", "kid", "use", "alg"]),
    st.sampled_from(["EC", "P-256", PUBLIC["x"], PUBLIC["y"], "ECDH-ES", "enc"]) | json_values,
)


@given(
    st.text() | json_values.map(json.dumps) | st.lists(nearly_keys, max_size=3).map(lambda k: metadata(*k))
)
def test_whatever_is_sent_it_is_a_recipient_or_a_refusal(said: str) -> None:
    with suppress(InvalidRequestError):
        assert isinstance(recipient(said), Recipient)
