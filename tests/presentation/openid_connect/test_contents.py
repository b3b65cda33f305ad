"""The parameter `claims` and the claims of tokens, for any input; pure."""

import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presentation.errors import InvalidRequestError
from presentation.openid_connect import claims_parameter, contents, translation
from presentation.openid_connect.claims_parameter import (
    MOST_CLAIMS,
    MOST_VALUES,
    MOST_VERIFIED,
    PLACES,
    Asked,
    RequestedClaims,
)
from presentation.parameters import LIMITS
from presentation.requests.authorization_request import offered
from presentation.scopes.records import ONLY_BASIC
from wallet.credential.claims import CLAIMS, ClaimPath, is_named, openid_name, openid_named

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
NAMES = [openid_name(path) for path in CLAIMS]
PARTS = ["value", "values", "essential", "max_age", "verification", "claims", "trust_framework", "evidence"]
names = st.sampled_from([*NAMES, *PARTS, "verified_claims", "id_token", "userinfo", "vp_token"]) | st.text(
    max_size=20
)
leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=5)
)


def path_of(name: str) -> ClaimPath | None:
    try:
        return openid_named(name)
    except KeyError:
        return None


def parsed(claims: Any) -> dict[str, RequestedClaims]:
    return claims_parameter.parse(json.dumps(claims), path_of)


@given(st.dictionaries(st.sampled_from(PLACES), values) | values)
def test_any_json_is_read_within_limits_or_refused_as_an_invalid_request(claims: Any) -> None:
    with suppress(InvalidRequestError):
        keeps_to_the_limits(parsed(claims))


def keeps_to_the_limits(places: dict[str, RequestedClaims]) -> None:
    assert places.keys() == set(PLACES)
    for place in places.values():
        assert len(place.claims) <= MOST_CLAIMS
        assert len(place.verified) <= MOST_VERIFIED
        for each in (*place.claims, *(claim for one in place.verified for claim in one.claims)):
            assert is_named(".".join(each.path))
            assert len(each.values) <= MOST_VALUES


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_and_never_breaks(text: str) -> None:
    with suppress(InvalidRequestError):
        claims_parameter.parse(text, path_of)


@given(st.dictionaries(st.sampled_from(PLACES), values))
def test_whatever_is_read_is_a_query_that_everybody_can_be_asked(claims: Any) -> None:
    request = {"scope": "openid", "code_challenge": "x" * 43, "code_challenge_method": "S256"}
    try:
        openid, query = translation.read(
            {**request, "claims": json.dumps(claims)},
            known_scopes=ONLY_BASIC,
            allowed_scopes=(),
            allowed_claims=tuple(CLAIMS),
        )
    except InvalidRequestError:
        return
    offered(query, ())
    ids = query.credential_ids
    assert ids[0] == translation.OPENID
    assert len(set(ids)) == len(ids) <= 1 + 2 * MOST_VERIFIED
    paths = {claim.path for claim in query.credentials[0].claims}
    assert not paths & {claim.path for claim in query.credentials[0].optional}
    assert openid.places.keys() == set(PLACES)


@pytest.mark.parametrize(
    "claims",
    [
        {"id_token": {f"claim_{number}": None for number in range(MOST_CLAIMS + 1)}},
        {"id_token": {"given_name": {"values": ["x"] * (MOST_VALUES + 1)}}},
        {"id_token": {"verified_claims": [{"verification": {}, "claims": {}}] * (MOST_VERIFIED + 1)}},
        {"id_token": {"verified_claims": {"claims": {f"c{number}": None for number in range(51)}}}},
        {"id_token": {"given_name": {"value": 1.5}}},
        {"id_token": {"given_name": {"value": None}}},
        {"id_token": {"given_name": {"value": ["x"]}}},
        {"id_token": {"given_name": {"values": "x"}}},
        {"id_token": {"given_name": "x"}},
        {"id_token": {"given_name": []}},
        {"id_token": []},
        {"id_token": {"verified_claims": "x"}},
        {"id_token": {"verified_claims": [None]}},
        {"id_token": {"verified_claims": {"verification": None}}},
        {"id_token": {"verified_claims": {"verification": {}, "claims": []}}},
        {"id_token": {"verified_claims": {"verification": {"evidence": [{"type": {"value": {}}}]}}}},
    ],
)
def test_what_is_too_much_or_malformed_is_refused(claims: Any) -> None:
    with pytest.raises(InvalidRequestError):
        parsed(claims)


@pytest.mark.parametrize("text", ["", "nul", '{"id_token": {}, "id_token": {}}', "[" * 5000, '{"a": NaN}'])
def test_what_is_no_json_object_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequestError, match="claims"):
        claims_parameter.parse(text, path_of)


def test_depth_and_length_are_limited() -> None:
    deep: Any = None
    for _ in range(claims_parameter.DEEPEST):
        deep = {"x": deep}
    with pytest.raises(InvalidRequestError, match="deeper"):
        parsed({"id_token": deep})
    assert LIMITS["claims"] == 8192


def test_the_most_that_fits_is_a_small_query() -> None:
    """The length of the parameter bounds what evaluating the query costs."""
    wanted = {"verification": {"trust_framework": None, "evidence": [{"type": None}]}, "claims": {}}
    wanted["claims"] = dict.fromkeys(NAMES)
    most = {place: {"verified_claims": [wanted] * MOST_VERIFIED} for place in PLACES}
    assert 0.8 * LIMITS["claims"] < len(json.dumps(most)) <= LIMITS["claims"]
    places = parsed(most)
    assert sum(len(one.claims) for place in places.values() for one in place.verified) == 10 * len(NAMES)


SAME = [("a", "a"), (18, 18), (True, True), ("GB", ["IE", "GB"])]
OTHER = [("a", "b"), (1, True), (True, 1), ("1", 1), ("GB", ["IE"]), ("GB", []), ("a", {"a": "a"})]


@pytest.mark.parametrize(
    ("wanted", "value", "fits"), [*((*each, True) for each in SAME), *((*each, False) for each in OTHER)]
)
def test_a_value_fits_if_it_is_the_same_and_of_the_same_type(wanted: Any, value: Any, fits: bool) -> None:
    assert contents._is_one_of((wanted,), value) is fits
    assert contents._fits({"value": wanted}, value, now=NOW) is fits
    assert contents._fits({"values": ["x", wanted]}, value, now=NOW) is fits
    assert contents._is_one_of((), value)


@pytest.mark.parametrize(
    ("time", "seconds", "recent"),
    [
        ("2026-11-25T00:00Z", 12 * 3600, True),
        ("2026-11-25T00:00Z", 12 * 3600 - 1, False),
        ("2026-11-25T00:00Z", 10**30, False),
        ("2026-11-25T00:00Z", "soon", False),
        (None, 10, False),
        (["2026-11-25"], 10, False),
    ],
)
def test_a_time_is_recent_within_so_many_seconds(time: Any, seconds: Any, recent: bool) -> None:
    assert contents._fits({"max_age": seconds}, time, now=NOW) is recent


@pytest.mark.parametrize(
    ("known", "said"),
    [("1990-04-01", "1990-04-01"), ("1990-04", "1990"), ("1990", "1990")],
)
def test_a_birthdate_is_a_day_or_a_year(known: str, said: str) -> None:
    assert contents._claims([Asked(("birth_date",))], {"birth_date": known}) == {"birthdate": said}


@given(values, values)
def test_whatever_is_demanded_of_whatever_fits_or_not(asked: Any, value: Any) -> None:
    with suppress(TypeError):  # for values that are no list, which `parse` has refused
        assert contents._fits(asked, value, now=NOW) in (True, False)


def test_claims_are_nested_as_in_the_presentation_by_the_names_of_openid_connect() -> None:
    shared = {"birth_date": "1990-04-01", "age_equal_or_over": {"18": True, "21": True}, "email": "a@b.c"}
    paths = [("birth_date",), ("age_equal_or_over", "18"), ("email",), ("given_name",)]
    assert contents._claims([Asked(path) for path in paths], shared) == {
        "birthdate": "1990-04-01",
        "age_equal_or_over": {"18": True},
        "email": "a@b.c",
        "email_verified": True,
    }
