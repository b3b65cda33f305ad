"""Compact JWS and P-256 JWKs."""

import json
from base64 import urlsafe_b64encode
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import example, given
from hypothesis import strategies as st
from jwcrypto.jwk import JWK
from jwcrypto.jws import JWS

from infra import base64url
from keys import jws
from keys.jwk import public_jwk, public_key_of
from keys.jws import JwsError, decode_segment
from keys.private_keys.signer import SoftwareSigner
from tests.keys.compact_jws import sign_compact, verify_compact

SIGNER = SoftwareSigner.generate()
KEY = SIGNER.public_key
HEADER = {"alg": "ES256", "typ": "kb+jwt"}
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
payloads = st.dictionaries(texts, json_values, max_size=6)


def signed(header: dict[str, Any] | str, payload: str = "{}") -> str:
    """A token with a valid signature over any header and payload text."""
    parts = (header if isinstance(header, str) else json.dumps(header), payload)
    head, body = (urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts)
    return jws.sign_segments(head, body, SIGNER)


@given(payloads)
def test_a_signed_token_verifies_and_gives_its_payload_back(payload: dict[str, Any]) -> None:
    assert verify_compact(sign_compact(HEADER, payload, SIGNER), KEY, typ="kb+jwt") == payload


@given(payloads)
def test_another_implementation_verifies_our_tokens(payload: dict[str, Any]) -> None:
    token = JWS()
    token.deserialize(sign_compact(HEADER, payload, SIGNER), JWK.from_pyca(KEY))
    assert json.loads(token.payload) == payload
    assert json.loads(token.objects["protected"]) == HEADER


def test_we_verify_tokens_of_another_implementation() -> None:
    token = JWS(b'{"a":1}')
    token.add_signature(JWK.from_pyca(SIGNER.private_key), protected=json.dumps(HEADER))
    assert verify_compact(token.serialize(compact=True), KEY, typ="kb+jwt") == {"a": 1}


@given(st.text(max_size=300))
@example("..")
@example("e30.e30.")
@example("[" * 5000 + ".e30.AA")
def test_arbitrary_text_is_refused_with_a_jws_error(text: str) -> None:
    with pytest.raises(JwsError):
        verify_compact(text, KEY, typ="kb+jwt")


@given(st.data())
def test_a_token_with_any_character_changed_is_refused(data: st.DataObject) -> None:
    token = sign_compact(HEADER, {"nonce": "n" * 16}, SIGNER)
    position = data.draw(st.integers(0, len(token) - 1))
    other = data.draw(
        st.characters(min_codepoint=33, max_codepoint=126).filter(lambda c: c != token[position])
    )
    with pytest.raises(JwsError):
        verify_compact(token[:position] + other + token[position + 1 :], KEY, typ="kb+jwt")


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ({"alg": "none", "typ": "kb+jwt"}, "alg"),
        ({"alg": "HS256", "typ": "kb+jwt"}, "alg"),
        ({"alg": "es256", "typ": "kb+jwt"}, "alg"),
        ({"alg": ["ES256"], "typ": "kb+jwt"}, "alg"),
        ({"typ": "kb+jwt"}, "alg"),
        ({"alg": "ES256"}, "typ"),
        ({"alg": "ES256", "typ": "text/kb+jwt"}, "typ"),
        ({"alg": "ES256", "typ": "dc+sd-jwt"}, "typ"),
        ({"alg": "ES256", "typ": "kb+jwt", "crit": ["exp"], "exp": 1}, "extension"),
        ({"alg": "ES256", "typ": "kb+jwt", "b64": False}, "extension"),
        ('{"alg":"none","alg":"ES256","typ":"kb+jwt"}', "twice"),
        ('["ES256"]', "object"),
        ('"ES256"', "object"),
        ('{"alg":"ES256","typ":"kb+jwt","x":NaN}', "NaN"),
        ("{", "JSON"),
        ("[" * 30_000, "JSON"),
    ],
)
def test_a_header_that_is_not_accepted_is_refused_despite_a_valid_signature(header: Any, reason: str) -> None:
    with pytest.raises(JwsError, match=reason):
        verify_compact(signed(header), KEY, typ="kb+jwt")


@pytest.mark.parametrize(
    ("typ", "wanted", "same"),
    [
        ("kb+jwt", "kb+jwt", True),
        ("KB+jwt", "kb+jwt", True),
        ("application/kb+jwt", "kb+jwt", True),
        ("APPLICATION/KB+JWT", "kb+jwt", True),
        ("jwt", "JWT", True),
        ("text/kb+jwt", "kb+jwt", False),
        ("/kb+jwt", "kb+jwt", False),
        ("application/application/kb+jwt", "kb+jwt", False),
        ("application/", "kb+jwt", False),
        ("application/kb+jwt; charset=utf-8", "kb+jwt", False),
        (" kb+jwt", "kb+jwt", False),
        ("kb+jwt\n", "kb+jwt", False),
        ("\u212ab+jwt", "kb+jwt", False),  # the sign for kelvin, which is a k in lower case
        ("", "kb+jwt", False),
        (["kb+jwt"], "kb+jwt", False),
        (None, "kb+jwt", False),
        (None, None, True),
        ("", None, False),
        (0, None, False),
        (False, None, False),
    ],
)
def test_a_type_is_the_same_in_full_and_in_short_and_in_any_case(typ: Any, wanted: Any, same: bool) -> None:
    """RFC 7515 §4.1.9: without a slash, `application/` stands before it."""
    assert jws.is_of_type({"typ": typ}, wanted) is same
    token = signed({"alg": "ES256", "typ": typ})
    if same:
        assert verify_compact(token, KEY, typ=wanted) == {}
    else:
        with pytest.raises(JwsError, match="typ"):
            verify_compact(token, KEY, typ=wanted)


@pytest.mark.parametrize(
    ("aud", "named"),
    [
        ("a", ("a",)),
        ("", ("",)),
        (["a"], ("a",)),
        (["a", "b", "a"], ("a", "b", "a")),
        ([], ()),
        (None, ()),
        (7, ()),
        ({"a": "b"}, ()),
        (["a", 7], ()),
        (["a", None], ()),
        (["a", ["b"]], ()),
    ],
)
def test_an_audience_is_a_text_or_an_array_of_texts(aud: Any, named: Any) -> None:
    """RFC 7519 §4.1.3. What is malformed names nobody."""
    assert jws.audiences_in({"aud": aud}) == named
    assert jws.audiences_in({}) == ()


@pytest.mark.parametrize(
    "payload",
    [
        *("[]", '{"a":1,"a":2}', '{"a":{"b":1,"b":1}}', '{"a":Infinity}', "", "\ufeff{}"),
        *('{"a":1e999}', '{"a":[-1E400]}', '{"a":"\\ud800"}', '{"\\udfff":1}', '{"a":"\\udc00\\ud800"}'),
    ],
)
def test_a_payload_that_is_not_one_clear_object_is_refused(payload: str) -> None:
    with pytest.raises(JwsError):
        verify_compact(signed(HEADER, payload), KEY, typ="kb+jwt")


def test_the_key_of_someone_else_does_not_verify() -> None:
    with pytest.raises(JwsError, match="does not verify"):
        verify_compact(sign_compact(HEADER, {}, SIGNER), SoftwareSigner.generate().public_key, typ="kb+jwt")


@pytest.mark.parametrize(
    "signature", [b"", b"\0" * 63, b"\0" * 64, b"\xff" * 64, b"\0" * 65, (N).to_bytes(32, "big") * 2]
)
def test_a_signature_of_wrong_length_or_range_does_not_verify(signature: bytes) -> None:
    assert not jws.verify_signature(signature, b"message", KEY)


def test_a_der_signature_is_not_taken_for_a_jws_one() -> None:
    der = SIGNER.private_key.sign(b"message", ec.ECDSA(jws.SHA256()))
    assert not jws.verify_signature(der, b"message", KEY)


def test_a_token_over_the_size_limit_is_refused_unread() -> None:
    with pytest.raises(JwsError, match="longer"):
        verify_compact("a" * (jws.MAX_LENGTH + 1), KEY, typ="kb+jwt")


def test_a_caller_may_allow_longer_tokens() -> None:
    token = sign_compact({"alg": "ES256", "typ": "x"}, {"list": "a" * jws.MAX_LENGTH}, SIGNER)
    assert jws.take_apart(token, longest=len(token)).verified(KEY, typ="x")
    with pytest.raises(JwsError, match="longer"):
        jws.take_apart(token, longest=len(token) - 1)


def test_what_json_cannot_say_is_not_signed() -> None:
    with pytest.raises(ValueError):
        sign_compact(HEADER, {"a": float("nan")}, SIGNER)


@given(payloads)
def test_segments_round_trip(payload: dict[str, Any]) -> None:
    assert decode_segment(jws.encode_segment(payload)) == payload


def test_every_length_of_signature_integers_is_cut_right() -> None:
    # About one signature in 128 has an r or s with a leading zero byte.
    for round_ in range(1500):
        message = round_.to_bytes(4, "big")
        signature = SIGNER.sign(message)
        assert len(signature) == 64
        assert jws.verify_signature(signature, message, KEY)


def test_a_jwk_is_public_and_round_trips() -> None:
    jwk = public_jwk(KEY)
    assert set(jwk) == {"kty", "crv", "x", "y"}
    assert JWK(**jwk).export_public(as_dict=True)["x"] == jwk["x"]
    assert public_key_of(jwk) == KEY


@pytest.mark.parametrize(
    "change",
    [
        {"kty": "RSA"},
        {"crv": "P-384"},
        {"x": None},
        {"y": "AA"},
        {"x": "A" * 43},
        {"x": 1},
        {"d": "A" * 43},
    ],
)
def test_a_jwk_that_is_no_public_p256_key_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(JwsError):
        public_key_of({**public_jwk(KEY), **change})


@given(st.dictionaries(st.sampled_from(["kty", "crv", "x", "y", "d"]), json_values))
def test_arbitrary_jwks_only_raise_a_jws_error(jwk: dict[str, Any]) -> None:
    with pytest.raises(JwsError):
        public_key_of(jwk)


def test_a_key_on_another_curve_cannot_sign() -> None:
    with pytest.raises(ValueError, match="P-256"):
        SoftwareSigner(ec.generate_private_key(ec.SECP384R1()))


def test_a_signer_shows_nothing_of_its_key() -> None:
    assert repr(SIGNER) == "<SoftwareSigner>"


def test_a_signer_survives_being_stored() -> None:
    again = SoftwareSigner.from_der(SIGNER.to_der())
    assert jws.verify_signature(again.sign(b"message"), b"message", KEY)


@pytest.mark.parametrize("text", ['{"a": "\\ud800"}', '{"\\uDFFF": 1}', '{"a": [{"b": "x\\udbff"}]}'])
def test_half_a_character_is_no_text_of_a_token(text: str) -> None:
    with pytest.raises(JwsError, match="not JSON"):
        decode_segment(base64url.encode(text.encode()))
    assert decode_segment(base64url.encode(b'{"a": "\\ud83d\\ude00"}')) == {"a": "\N{GRINNING FACE}"}
