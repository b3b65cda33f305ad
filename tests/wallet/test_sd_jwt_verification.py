"""Invalid SD-JWTs: every reason of RFC 9901 §7 to refuse one, always as an SdJwtError."""

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keys.jwk import public_jwk
from keys.jws import encode_segment
from keys.private_keys.signer import SoftwareSigner
from tests.keys.compact_jws import sign_compact
from tests.wallet.sd_jwts import (
    AUDIENCE,
    CLAIMS,
    HEADER,
    HOLDER,
    ISSUER,
    MOMENT,
    NONCE,
    NOW,
    PLAIN,
    b64,
    disclosure,
    issued,
    key_bound,
    presented,
    sha,
    signed,
    verify_issued,
)
from wallet.sd_jwt import issuance, parsing
from wallet.sd_jwt.issuance import SdJwtError
from wallet.sd_jwt.processing import MAX_DEPTH
from wallet.sd_jwt.verification import KEY_BINDING_WINDOW, LEEWAY, verify

STRANGER = SoftwareSigner.generate()
NAME, AGE, CODE = disclosure("s1", "name", "Zoë"), disclosure("s2", "age", 36), disclosure("s3", "IE")


def taken(token: str, **options: Any) -> dict[str, Any]:
    """The payload, as verified by the relying party of the request."""
    facts: dict[str, Any] = {
        "issuer_key": ISSUER.public_key,
        "audience": AUDIENCE,
        "nonce": NONCE,
        "now": NOW,
    }
    return verify(token, **(facts | options))


def received(token: str, **options: Any) -> dict[str, Any]:
    """The payload of a token without key binding."""
    return verify_issued(token, **({"issuer_key": ISSUER.public_key, "now": NOW} | options))


def test_a_good_token_is_accepted_with_all_its_claims():
    token = presented(issued(), transaction_data=["b25l", "dHdv"])
    assert taken(token, transaction_data=["b25l", "dHdv"]) == PLAIN | CLAIMS


def test_a_token_without_sd_alg_means_sha_256():
    assert received(signed({"_sd": [sha(NAME)]}, NAME))["name"] == "Zoë"


def test_the_smallest_key_in_cnf_is_enough():
    jwk = public_jwk(HOLDER.public_key)
    assert jwk.keys() == {"kty", "crv", "x", "y"}
    assert taken(key_bound(signed({"cnf": {"jwk": jwk}})))


# --- Parts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        ("", "no ~"),
        ("~", "three segments"),
        ("a.b.c", "no ~"),
        ("a.b~", "three segments"),
        ("a.b.c.d~", "three segments"),
        ("a..c~", "three segments"),
        ("a.b.c~~", "not JSON in base64url"),
        ("a.b.c~x.y~", "not JSON in base64url"),
        ("a.b.c~x.y", "three segments"),
        ("a.b.c~" + NAME + "=~", "no SD-JWT has"),
        ("a.b.c~" + NAME + "\n~", "no SD-JWT has"),
        ("a.b.c~é~", "no SD-JWT has"),
        ("a.b.c~" + "x" * parsing.MAX_TOKEN, "longer than"),
        ("a.b.c~" + "x~" * 201, "more than 200"),
        ("a.b.c~" + b64(b"[" * 20_000) + "~", "not JSON"),
        ("a.b.c~" + b64(b'["s","n",' + b"9" * 5000 + b"]") + "~", "not JSON"),
        ("a.b.c~" + b64(b'["s","n","\xff"]') + "~", "not JSON"),
        ("a.b.c~" + b64(b'["s","n",{"a":1,"a":2}]') + "~", "not JSON"),
        ("a.b.c~" + b64(b'["s","n",NaN]') + "~", "not JSON"),
        ("a.b.c~" + b64(b'["s","n",1]')[:-1] + "~", "not JSON"),
        ("a.b.c~" + b64(b'{"s":1}') + "~", "no array"),
    ],
)
def test_what_is_no_sd_jwt_is_not_parsed(token: str, reason: str):
    with pytest.raises(SdJwtError, match=reason):
        parsing.parse(token)


def test_base64url_that_is_not_canonical_is_refused():
    text = b64(b'["s","n",100]')
    assert text[-1] in "AQgw"  # its last bits are not used
    assert parsing.parse(f"a.b.c~{text}~")
    with pytest.raises(SdJwtError, match="not JSON in base64url"):
        parsing.parse(f"a.b.c~{text[:-1]}{chr(ord(text[-1]) + 1)}~")


# --- The issuer's part ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        (signed({}, header={"alg": "ES256", "typ": "jwt"}), "typ is not"),
        (signed({}, header={"typ": "text/dc+sd-jwt"}), "typ is not"),
        (signed({}, header={"typ": "vc+sd-jwt"}), "typ is not"),
        (signed({}, header={"crit": ["x"], "x": 1}), "extension"),
        (f"{encode_segment(HEADER | {'alg': 'none'})}.{encode_segment(PLAIN)}.AA~", "alg is not ES256"),
        (f"{encode_segment(HEADER | {'alg': 'ES384'})}.{encode_segment(PLAIN)}.AA~", "alg is not ES256"),
        (signed({"_sd_alg": "sha-512"}), "other than sha-256"),
        (signed({"_sd_alg": "SHA-256"}), "other than sha-256"),
        (signed({"_sd_alg": None}), "other than sha-256"),
    ],
)
def test_a_wrong_header_or_hash_algorithm_is_refused(token: str, reason: str):
    with pytest.raises(SdJwtError, match=reason):
        received(token)


def test_a_token_by_another_issuer_is_refused():
    with pytest.raises(SdJwtError, match="signature does not verify"):
        received(issued().compact, issuer_key=STRANGER.public_key)


PARENT = disclosure("s", "parent", {"_sd": [sha(NAME)]})
MISSHAPEN = (disclosure(), disclosure("s"), disclosure("s", "n", 1, 2), disclosure(1, "n", 2))
RESERVED = {name: disclosure("s", name, 1) for name in ("_sd", "_sd_alg", "...")}


@pytest.mark.parametrize(
    ("payload", "disclosures", "reason"),
    [
        ({"_sd": "x"}, [], "_sd is not an array"),
        ({"_sd": {"x": 1}}, [], "_sd is not an array"),
        ({"_sd": [1]}, [], "no text"),
        ({"_sd": [None]}, [], "no text"),
        ({"a": [{"...": 1}]}, [], "no text"),
        ({"a": [{"...": "x", "b": 1}]}, [], "reserved"),
        ({"a": {"...": "x"}}, [], "reserved"),
        ({"a": {"_sd_alg": "sha-256"}}, [], "reserved"),
        ({"_sd": [sha(CODE)]}, [CODE], "an array element was disclosed in an object"),
        ({"a": [{"...": sha(NAME)}]}, [NAME], "an array element was disclosed in an object"),
        ({"_sd": [sha(RESERVED["_sd"])]}, [RESERVED["_sd"]], "proper name"),
        ({"_sd": [sha(RESERVED["_sd_alg"])]}, [RESERVED["_sd_alg"]], "proper name"),
        ({"_sd": [sha(RESERVED["..."])]}, [RESERVED["..."]], "proper name"),
        ({"_sd": [sha(disclosure("s", 1, 1))]}, [disclosure("s", 1, 1)], "proper name"),
        ({"_sd": [sha(disclosure("s", ["n"], 1))]}, [disclosure("s", ["n"], 1)], "proper name"),
        ({"name": "Ada", "_sd": [sha(NAME)]}, [NAME], "there already"),
        (
            {"_sd": [sha(NAME), sha(disclosure("t", "name", "Ada"))]},
            [NAME, disclosure("t", "name", "Ada")],
            "there already",
        ),
        *(({"_sd": [sha(text)]}, [text], "neither") for text in MISSHAPEN),
        *(({}, [text], "neither") for text in MISSHAPEN),
        ({"_sd": [sha(NAME)]}, [NAME, NAME], "occurs twice"),
        ({"_sd": [sha(NAME), sha(NAME)]}, [NAME], "digest occurs twice"),
        ({"_sd": ["decoy", "decoy"]}, [], "digest occurs twice"),
        ({"_sd": [sha(NAME)], "a": {"_sd": [sha(NAME)]}}, [NAME], "digest occurs twice"),
        ({"_sd": [sha(PARENT), sha(NAME)]}, [PARENT, NAME], "digest occurs twice"),
        ({"a": [{"...": sha(CODE)}, {"...": sha(CODE)}]}, [CODE], "digest occurs twice"),
        ({}, [NAME], "no digest refers to"),
        ({"_sd": [sha(AGE)]}, [AGE, NAME], "no digest refers to"),
        ({"_sd": [sha(PARENT)]}, [NAME], "no digest refers to"),
        ({"_sd": [NAME]}, [NAME], "no digest refers to"),
    ],
)
def test_disclosures_and_digests_that_do_not_belong_together_are_refused(
    payload: dict[str, Any], disclosures: list[str], reason: str
):
    with pytest.raises(SdJwtError, match=reason):
        received(signed(payload, *disclosures))


@pytest.mark.parametrize("name", sorted(issuance.ALWAYS_PLAIN))
def test_a_claim_that_verifiers_rely_on_is_refused_when_it_was_withheld(name: str):
    text = disclosure("s", name, PLAIN.get(name, "x"))
    payload = {key: value for key, value in PLAIN.items() if key != name} | {"_sd": [sha(text)]}
    token = f"{sign_compact(HEADER, payload, ISSUER)}~{text}~"
    with pytest.raises(SdJwtError, match="may not be withheld"):
        received(token)


def test_an_element_that_is_withheld_leaves_no_gap_and_an_object_stays():
    payload = received(signed({"a": [{"...": "w"}, 1, {"...": sha(CODE)}], "b": {"_sd": ["w2"]}}, CODE))
    assert payload["a"] == [1, "IE"]
    assert payload["b"] == {}


def test_nothing_is_nested_beyond_measure():
    def nested(depth: int) -> Any:
        return [nested(depth - 1)] if depth else "deep"

    assert received(signed({"a": nested(MAX_DEPTH - 1)}))
    with pytest.raises(SdJwtError, match="deeper than"):
        received(signed({"a": nested(MAX_DEPTH)}))
    chain = [disclosure("s", "leaf", 1)]
    for number in range(100):
        chain.append(disclosure("s", f"n{number}", {"_sd": [sha(chain[-1])]}))
    with pytest.raises(SdJwtError, match="deeper than"):
        received(signed({"_sd": [sha(chain[-1])]}, *chain))


@pytest.mark.parametrize(
    "content", [b'["s","n",1e999]', b'["s","n","\\ud800"]', b'["s","\\udfff",1]', b'["s","n",1E400]']
)
def test_numbers_and_texts_that_cannot_be_written_down_are_refused(content: bytes):
    text = b64(content)
    with pytest.raises(SdJwtError, match="not JSON in base64url"):
        received(signed({"_sd": [sha(text)]}, text))


# --- Claims -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"exp": MOMENT - LEEWAY}, "expired"),
        ({"exp": -(10**400)}, "expired"),
        ({"nbf": MOMENT + LEEWAY + 1}, "not valid yet"),
        ({"iat": MOMENT + LEEWAY + 1}, "not valid yet"),
        ({"iat": 10**400}, "not valid yet"),
        ({"exp": str(MOMENT + 60)}, "exp is not a time"),
        ({"exp": True}, "exp is not a time"),
        ({"exp": None}, "exp is not a time"),
        ({"nbf": [1]}, "nbf is not a time"),
    ],
)
def test_times_are_kept(claims: dict[str, Any], reason: str):
    with pytest.raises(SdJwtError, match=reason):
        received(signed(claims))


@pytest.mark.parametrize(
    "claims", [{"exp": MOMENT - LEEWAY + 1}, {"nbf": MOMENT + LEEWAY}, {"exp": MOMENT + 0.5}]
)
def test_clocks_may_differ_a_little(claims: dict[str, Any]):
    assert received(signed(claims))


@pytest.mark.parametrize("name", ["iss", "vct", "exp"])
def test_a_credential_without_what_it_needs_is_refused(name: str):
    payload = {key: value for key, value in PLAIN.items() if key != name}
    with pytest.raises(SdJwtError, match=f"{name} missing"):
        received(sign_compact(HEADER, payload, ISSUER) + "~")


# --- The holder's part ------------------------------------------------------------------------------------


def test_a_presentation_without_key_binding_is_refused():
    token = presented(issuance.select(issued(), []))
    with pytest.raises(SdJwtError, match="no key binding"):
        taken(token[: token.rindex("~") + 1])


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"nonce": NONCE + "x"}, "another nonce"),
        ({"aud": "corner-shop"}, "another audience"),
        ({"aud": [AUDIENCE]}, "lacks a claim"),
        ({"nonce": 1}, "lacks a claim"),
        ({"sd_hash": sha("")}, "other disclosures"),
        ({"sd_hash": None}, "lacks a claim"),
        ({"iat": MOMENT - KEY_BINDING_WINDOW - 1}, "not made just now"),
        ({"iat": MOMENT + KEY_BINDING_WINDOW + 1}, "not made just now"),
        ({"iat": MOMENT - 31_536_000}, "not made just now"),
        ({"iat": MOMENT * 1000}, "not made just now"),
        ({"iat": 10**400}, "not made just now"),
        ({"iat": str(MOMENT)}, "lacks a claim"),
        ({"iat": True}, "lacks a claim"),
        ({"without": "iat"}, "lacks a claim"),
        ({"without": "aud"}, "lacks a claim"),
        ({"without": "nonce"}, "lacks a claim"),
        ({"without": "sd_hash"}, "lacks a claim"),
        ({"header": {"typ": "JWT"}}, "typ is not"),
        ({"holder": STRANGER}, "signature does not verify"),
        ({"holder": ISSUER}, "signature does not verify"),
        ({"transaction_data_hashes": [sha("eHg")]}, "other transaction data"),
        ({"transaction_data_hashes": "x"}, "not understood"),
        ({"transaction_data_hashes_alg": "md5"}, "not understood"),
    ],
)
def test_a_key_binding_that_does_not_fit_is_refused(claims: dict[str, Any], reason: str):
    with pytest.raises(SdJwtError, match=reason):
        taken(key_bound(signed({"_sd": [sha(NAME)]}, NAME), **claims))


def test_a_key_binding_with_alg_none_is_refused():
    unbound = signed({})
    payload = {"iat": MOMENT, "aud": AUDIENCE, "nonce": NONCE, "sd_hash": sha(unbound)}
    header = {"alg": "none", "typ": "kb+jwt"}
    with pytest.raises(SdJwtError, match="alg is not ES256"):
        taken(f"{unbound}{encode_segment(header)}.{encode_segment(payload)}.AA")


@pytest.mark.parametrize(
    "cnf",
    [
        None,
        {},
        {"jwk": "x"},
        {"jwk": {}},
        {"jwk": {"kty": "EC", "crv": "P-384", "x": "AA", "y": "AA"}},
        {"jwk": {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}},
        {"jwk": public_jwk(HOLDER.public_key) | {"d": "AA"}},
        {"kid": "elsewhere"},
    ],
)
def test_a_cnf_without_a_public_key_is_refused(cnf: Any):
    with pytest.raises(SdJwtError, match="cnf|P-256|private key"):
        taken(key_bound(signed({"cnf": cnf})))


@pytest.mark.parametrize(
    ("sent", "bound"),
    [
        (["YQ"], []),
        ([], ["YQ"]),
        (["YQ", "Yg"], ["Yg", "YQ"]),
        (["YQ", "Yg"], ["YQ"]),
        (["YQ"], ["YQ", "YQ"]),
    ],
)
def test_transaction_data_is_bound_wholly_and_in_order(sent: list[str], bound: list[str]):
    with pytest.raises(SdJwtError, match="other transaction data"):
        taken(presented(issuance.select(issued(), []), transaction_data=bound), transaction_data=sent)


def test_a_disclosure_dropped_or_added_after_binding_is_noticed():
    sd = issued()
    one = presented(issuance.select(sd, [("given_name",)]))
    two = presented(issuance.select(sd, [("given_name",), ("nationalities",)]))
    for disclosures, binding in ((two, one), (one, two)):
        mixed = disclosures[: disclosures.rindex("~") + 1] + binding[binding.rindex("~") + 1 :]
        with pytest.raises(SdJwtError, match="other disclosures"):
            taken(mixed)


@pytest.mark.parametrize(
    ("own", "good"), [(AUDIENCE, True), ([AUDIENCE, "x"], True), ("x", False), ([], False), (7, False)]
)
def test_an_audience_set_by_the_issuer_is_kept(own: Any, good: bool):
    token = key_bound(signed({"aud": own}))
    if good:
        assert taken(token)
    else:
        with pytest.raises(SdJwtError, match="another audience"):
            taken(token)


# --- Arbitrary input -------------------------------------------------------------------------------------

GOOD = presented(issuance.select(issued(), [("given_name",), ("age_equal_or_over", "18")]))


@pytest.mark.slow
def test_no_single_bit_can_change():
    assert taken(GOOD)
    data = GOOD.encode()
    for place in range(0, len(data) * 8, 3):
        changed = bytearray(data)
        changed[place // 8] ^= 1 << place % 8
        with pytest.raises(SdJwtError):
            taken(changed.decode("latin-1"))


@given(st.data())
def test_no_part_can_be_cut_doubled_or_swapped(data: st.DataObject):
    parts = GOOD.split("~")
    changed = [parts[data.draw(st.integers(0, len(parts) - 1))] for _ in range(data.draw(st.integers(1, 6)))]
    if changed != parts:
        with pytest.raises(SdJwtError):
            taken("~".join(changed))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(max_size=5) | st.sampled_from(["_sd", "...", "_sd_alg", "jwk"]), inner, max_size=4
        )
    ),
    max_leaves=15,
)


@given(st.text() | st.text("AZaz09_-.~ey"))
def test_the_parser_raises_nothing_but_its_own_error(token: str):
    for read in (parsing.parse, taken, received):
        try:
            read(token)
        except SdJwtError:
            pass
        else:
            assert read is parsing.parse


@given(
    st.dictionaries(
        st.sampled_from(["_sd", "iss", "exp", "iat", "nbf", "cnf", "aud", "a", "_sd_alg"]), json_values
    ),
    st.lists(json_values, max_size=3),
    st.dictionaries(st.sampled_from(["iat", "aud", "nonce", "transaction_data_hashes"]), json_values),
)
def test_whatever_an_issuer_and_a_holder_sign_raises_nothing_but_our_own_error(
    payload: dict[str, Any], contents: list[Any], binding: dict[str, Any]
):
    texts = [b64(json.dumps(content).encode()) for content in contents]
    if isinstance(payload.get("_sd"), list):
        payload["_sd"] += [sha(text) for text in texts]
    try:
        token = key_bound(signed(payload, *texts), **binding)
    except ValueError:
        return  # not JSON, so it cannot be signed
    try:
        verified = taken(token)
    except SdJwtError:
        return
    assert "_sd" not in verified
    json.dumps(verified, allow_nan=False, ensure_ascii=False).encode()


def test_a_token_is_good_for_its_time_only():
    assert taken(GOOD, now=NOW + timedelta(seconds=KEY_BINDING_WINDOW))
    with pytest.raises(SdJwtError, match="just now"):
        taken(GOOD, now=NOW + timedelta(seconds=KEY_BINDING_WINDOW + 1))
