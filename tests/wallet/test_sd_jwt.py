"""Issuing SD-JWTs, selecting disclosures, and key bindings, by the text of RFC 9901."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra import base64url
from keys.jwk import public_jwk
from keys.jws import decode_segment
from tests.wallet.sd_jwts import (
    AUDIENCE,
    CLAIMS,
    HOLDER,
    ISSUER,
    MOMENT,
    NONCE,
    NOW,
    PLAIN,
    issued,
    presented,
    sha,
    verify_issued,
)
from wallet.sd_jwt import issuance
from wallet.sd_jwt.issuance import SdJwtError
from wallet.sd_jwt.parsing import parse
from wallet.sd_jwt.verification import verify

names = st.text(st.characters(codec="utf-8"), max_size=8).filter(lambda name: name not in issuance.RESERVED)
scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec="utf-8"))
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=12,
)
trees = st.dictionaries(
    names.filter(lambda n: n not in PLAIN and n not in issuance.ALWAYS_PLAIN), values, max_size=5
)


def payload_of(sd: issuance.SdJwt) -> dict[str, Any]:
    return decode_segment(sd.jwt.split(".")[1])


def content(text: str) -> list[Any]:
    return json.loads(base64url.decode(text))


def test_known_digests_of_the_rfc_are_found():
    # standards.md §1.3, RFC 9901 §4.2.3
    family_name = "WyJfMjZiYzRMVC1hYzZxMktJNmNCVzVlcyIsICJmYW1pbHlfbmFtZSIsICJNw7ZiaXVzIl0"
    assert issuance.digest(family_name) == "X9yH0Ajrdm1Oij4tWso9UzzKJvPoDxwmuEcO3XAdRC0"
    element = "WyJsa2x4RjVqTVlsR1RQVW92TU5JdkNBIiwgIkZSIl0"
    assert issuance.digest(element) == "w0I8EKcdCtUPkGCNUrfwVp2xEgNjtoIDlOxc9-PlOhs"


def test_transaction_data_is_hashed_as_received_not_as_decoded():
    # standards.md §3.7
    received = (
        "eyJ0eXBlIjoidXJuOmV4YW1wbGU6cGF5bWVudDp2MSIsImNyZWRlbnRpYWxfaWRzIjpbIm15X2NyZWRlbnRpYWwiXSwidHJhbnNhY3"
        "Rpb25fZGF0YV9oYXNoZXNfYWxnIjpbInNoYS0yNTYiXSwicGF5bG9hZCI6eyJhbW91bnQiOiIxMi4zNCIsImN1cnJlbmN5IjoiRVVS"
        "IiwicGF5ZWUiOiJDb2ZmZWUgU2hvcCJ9fQ"
    )
    token = presented(issuance.select(issued(), []), transaction_data=[received])
    binding = decode_segment(token.rsplit("~", 1)[1].split(".")[1])
    assert binding["transaction_data_hashes"] == ["4RdTzQuxn1hgoklE9atc5q3HSLUlYueUayXHyXa5qGg"]
    assert binding["transaction_data_hashes_alg"] == "sha-256"


def test_the_payload_holds_digests_and_no_withheld_claim():
    payload = payload_of(issued())
    assert payload.keys() == {*PLAIN, "_sd", "_sd_alg"}
    assert payload["_sd_alg"] == "sha-256"
    assert {name: payload[name] for name in PLAIN} == PLAIN
    assert payload["_sd"] == sorted(payload["_sd"])
    assert len(payload["_sd"]) == len(CLAIMS)


def test_every_disclosure_has_a_salt_of_its_own_of_at_least_128_bits():
    salts = [content(disclosure)[0] for sd in (issued(), issued()) for disclosure in sd.disclosures.values()]
    assert len(set(salts)) == len(salts) == 10
    assert all(len(base64url.decode(salt)) >= 16 for salt in salts)


def test_more_salts_than_are_drawn_at_once_are_all_different():
    many = {f"claim {number}": number for number in range(100)}
    salts = {
        content(disclosure)[0] for disclosure in issued(issuance.all_withheld(many)).disclosures.values()
    }
    assert len(salts) == 100


def test_recursive_disclosures_hang_together_by_digests():
    sd = issued()
    parent = content(sd.disclosures["age_equal_or_over",])
    members = [sd.disclosures["age_equal_or_over", age] for age in ("18", "65")]
    assert parent[1] == "age_equal_or_over"
    assert parent[2] == {"_sd": sorted(map(sha, members))}
    assert sha(sd.disclosures["age_equal_or_over",]) in payload_of(sd)["_sd"]
    assert not {sha(member) for member in members} & set(payload_of(sd)["_sd"])


def test_plain_objects_may_hold_withheld_members():
    claims = {
        "address": {"country": "IE", "_sd": {"locality": "Galway"}},
        "nationalities": ["ES", {"_sd": {"code": "FR"}}],
    }
    sd = issued(PLAIN | claims)
    assert payload_of(sd)["address"] == {"country": "IE", "_sd": [sha(sd.disclosures["address", "locality"])]}
    whole = verify_issued(sd.compact, issuer_key=ISSUER.public_key, now=NOW)
    assert whole["address"] == {"country": "IE", "locality": "Galway"}
    assert whole["nationalities"] == ["ES", {"code": "FR"}]


def test_an_issuer_with_nothing_to_withhold_writes_no_digests():
    sd = issued(PLAIN | {"address": {}, "_sd": {}})
    assert "_sd" not in payload_of(sd)
    assert sd.compact == sd.jwt + "~"


@pytest.mark.parametrize("name", sorted(issuance.ALWAYS_PLAIN))
def test_what_verifiers_rely_on_cannot_be_withheld(name: str):
    with pytest.raises(ValueError, match="cannot be withheld"):
        issued({"_sd": {name: "…"}})


@pytest.mark.parametrize(
    "claims",
    [
        {"_sd_alg": "md5"},
        {"...": "x"},
        {"_sd": {"...": "x"}},
        {"_sd": {"_sd": "x"}},
        {"a": {"_sd": {"_sd_alg": "x"}}},
        {"a": [{"...": "x", "b": 1}]},
        {"_sd": {"a": {"...": "x"}}},
        {"name": "Zoë", "_sd": {"name": "Zoë"}},
    ],
)
def test_reserved_and_double_names_are_refused(claims: dict[str, Any]):
    with pytest.raises(ValueError, match="reserved or repeated"):
        issued(claims)


def test_nothing_selected_discloses_nothing():
    sd = issuance.select(issued(), [])
    assert sd.disclosures == {}
    assert sd.compact == sd.jwt + "~"


def test_a_member_brings_the_object_it_stands_in_and_no_other_member():
    sd = issued()
    selected = issuance.select(sd, [("age_equal_or_over", "18")])
    assert set(selected.disclosures) == {("age_equal_or_over",), ("age_equal_or_over", "18")}
    payload = verify(
        presented(selected), issuer_key=ISSUER.public_key, audience=AUDIENCE, nonce=NONCE, now=NOW
    )
    assert payload == PLAIN | {"age_equal_or_over": {"18": True}}


def test_an_object_by_itself_comes_without_its_members():
    selected = issuance.select(issued(), [("age_equal_or_over",)])
    assert set(selected.disclosures) == {("age_equal_or_over",)}
    verified = verify_issued(selected.compact, issuer_key=ISSUER.public_key, now=NOW)
    assert verified == PLAIN | {"age_equal_or_over": {}}


def test_a_withheld_member_of_a_plain_object_is_selected_by_itself():
    sd = issued(PLAIN | {"address": {"_sd": {"locality": "Galway", "region": "Connacht"}}})
    selected = issuance.select(sd, [("address", "locality")])
    assert set(selected.disclosures) == {("address", "locality")}
    assert verify_issued(selected.compact, issuer_key=ISSUER.public_key, now=NOW)["address"] == {
        "locality": "Galway"
    }


def test_the_key_of_the_holder_goes_into_cnf():
    claims = {name: value for name, value in PLAIN.items() if name != "cnf"}
    assert payload_of(issued(claims, holder_jwk=public_jwk(HOLDER.public_key)))["cnf"] == PLAIN["cnf"]
    assert "cnf" not in payload_of(issued(claims))


@pytest.mark.parametrize(
    "path", [("shoe_size",), ("age_equal_or_over", "21"), ("given_name", "0"), ("iss",), ()]
)
def test_a_path_to_nothing_is_an_error_not_a_smaller_answer(path: issuance.Path):
    with pytest.raises(SdJwtError, match="nothing to disclose"):
        issuance.select(issued(), [("given_name",), path])


def test_a_key_binding_says_exactly_what_it_must():
    sd = issued()
    token = presented(sd)
    assert token.startswith(sd.compact)
    header, payload, _ = token.removeprefix(sd.compact).split(".")
    assert decode_segment(header) == {"alg": "ES256", "typ": "kb+jwt"}
    assert decode_segment(payload) == {
        "iat": MOMENT,
        "aud": AUDIENCE,
        "nonce": NONCE,
        "sd_hash": sha(sd.compact),
    }


@pytest.mark.parametrize("facts", [{"audience": ""}, {"nonce": ""}])
def test_a_key_binding_to_nobody_or_to_no_request_is_refused(facts: dict[str, str]):
    with pytest.raises(ValueError, match="audience and a nonce"):
        presented(issued(), **facts)


def test_tokens_do_not_show_in_logs():
    sd = issued()
    parsed = parse(presented(sd))
    for value in (sd, [sd], parsed, [*parsed.disclosures.values()]):
        shown = f"{value!r} {value}"
        assert sd.jwt not in shown
        assert NONCE not in shown
        assert "Zoë" not in shown


@given(trees, st.data())
def test_whatever_is_issued_exactly_what_is_selected_is_disclosed(tree: dict[str, Any], data: st.DataObject):
    sd = issued(PLAIN | issuance.all_withheld(tree))
    paths = data.draw(st.sets(st.sampled_from(sorted(sd.disclosures, key=str)))) if sd.disclosures else set()
    token = presented(issuance.select(sd, paths))
    verified = verify(token, issuer_key=ISSUER.public_key, audience=AUDIENCE, nonce=NONCE, now=NOW)
    assert verified == PLAIN | _part(tree, paths, ())


def _part(tree: dict[str, Any], paths: set[Any], here: tuple[str, ...]) -> dict[str, Any]:
    """The part of `tree` at `paths`, computed without RFC 9901."""
    part: dict[str, Any] = {}
    for name, value in tree.items():
        path = (*here, name)
        if any(other[: len(path)] == path for other in paths):
            part[name] = _part(value, paths, path) if isinstance(value, dict) else value
    return part
