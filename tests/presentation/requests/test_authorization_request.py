"""Parsing an authorization request: one table of every mistake, and the meaning of a good request."""

import base64
import json
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presentation import errors
from presentation.dcql.queries import BASIC
from presentation.errors import AuthorizationError
from presentation.models import RelyingParty
from presentation.parameters import LIMITS, Parameters
from presentation.requests.authorization_request import (
    AuthorizationRequest,
    parameters_hash,
)
from presentation.requests.wire_formats.registered import wire_format_of
from presentation.scopes.records import ONLY_BASIC
from presentation.transaction_data.types import TYPES
from wallet.credential.credentials import credential_type

SESSION_DATA = "urn:service:params:vc:transaction-data:session-data"
GOOD = {
    "response_type": "vp_token",
    "client_id": "acme",
    "redirect_uri": "https://bank.example/callback",
    "scope": BASIC,
    "login_hint": "alice@example.org",
    "nonce": "n-0S6_WzA2Mj-jkl",
    "state": "af0ifjsldkj",
}

EVERYTHING = {"allowed_scopes": [BASIC], "allowed_transaction_data_types": list(TYPES)}


def encoded(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def session_data(**changes: Any) -> str:
    value = {"type": SESSION_DATA, "credential_ids": ["basic"], "payload": {"ip_address": "192.0.2.1"}}
    return encoded(value | changes)


def read(values: dict[str, str], **allowed: Any) -> AuthorizationRequest:
    party = RelyingParty(**(EVERYTHING | allowed))
    return wire_format_of(party).parse_request(Parameters(values), party, ONLY_BASIC)


def without(name: str) -> dict[str, str]:
    return {key: value for key, value in GOOD.items() if key != name}


FAULTY = [
    (name, Parameters(without(name), {name: f"{name} is wrong"}), errors.InvalidRequestError, name)
    for name in LIMITS
    if name not in ("client_id", "redirect_uri")
]


def changed(**changes: str) -> Parameters:
    return Parameters(GOOD | changes)


def query(*claims: dict[str, Any], **more: Any) -> str:
    asked = {"id": "basic", "format": "dc+sd-jwt", "meta": {"vct_values": ["a type"]}} | more
    return json.dumps({"credentials": [asked | ({"claims": list(claims)} if claims else {})]})


def asking(dcql_query: str, **changes: str) -> Parameters:
    """The good request with a DCQL query instead of its scope."""
    return Parameters(without("scope") | {"dcql_query": dcql_query} | changes)


WRONG = [
    *FAULTY,
    ("no response_type", Parameters(without("response_type")), errors.InvalidRequestError, "response_type"),
    ("code", changed(response_type="code"), errors.UnsupportedResponseTypeError, "vp_token"),
    (
        "two types",
        changed(response_type="vp_token id_token"),
        errors.UnsupportedResponseTypeError,
        "vp_token",
    ),
    ("other case", changed(response_type="VP_TOKEN"), errors.UnsupportedResponseTypeError, "vp_token"),
    ("mode query", changed(response_mode="query"), errors.InvalidRequestError, "response_mode"),
    ("mode direct_post", changed(response_mode="direct_post"), errors.InvalidRequestError, "response_mode"),
    ("no nonce", Parameters(without("nonce")), errors.InvalidRequestError, "nonce is missing"),
    ("short nonce", changed(nonce="x" * 15), errors.InvalidRequestError, "at least 16"),
    ("space in nonce", changed(nonce="x" * 16 + " "), errors.InvalidRequestError, "visible ASCII"),
    ("newline in nonce", changed(nonce="x" * 16 + "\n"), errors.InvalidRequestError, "visible ASCII"),
    ("delete in nonce", changed(nonce="x" * 16 + "\x7f"), errors.InvalidRequestError, "visible ASCII"),
    ("nonce not ASCII", changed(nonce="é" * 16), errors.InvalidRequestError, "visible ASCII"),
    ("no scope", Parameters(without("scope")), errors.InvalidScopeError, "scope or dcql_query is required"),
    ("scope and query", changed(dcql_query="{}"), errors.InvalidRequestError, "sent together"),
    ("no query", asking("{}"), errors.InvalidRequestError, "credentials must be an array"),
    ("a query that is no JSON", asking("{"), errors.InvalidRequestError, "valid JSON"),
    (
        "a claim that is not its to ask",
        asking(query({"path": ["given_name"]}, {"path": ["birth_date"]})),
        errors.UnauthorizedClientError,
        "does not allow: birth_date",
    ),
    (
        "a group with a claim that is not its to ask",
        asking(query({"path": ["age_equal_or_over"]})),
        errors.UnauthorizedClientError,
        "does not allow: age_equal_or_over.21",
    ),
    (
        "part of a claim that is not its to ask",
        asking(query({"path": ["nationalities", 0]})),
        errors.UnauthorizedClientError,
        "does not allow: nationalities",
    ),
    (
        "a transaction bound to a query without holder binding",
        asking(query(require_cryptographic_holder_binding=False), transaction_data=session_data()),
        errors.InvalidTransactionDataError,
        "credential_ids[0]",
    ),
    ("unknown scope", changed(scope="openid"), errors.InvalidScopeError, "openid is unknown"),
    ("one unknown scope", changed(scope=f"{BASIC} x"), errors.InvalidScopeError, "x is unknown"),
    ("scope in capitals", changed(scope=BASIC.upper()), errors.InvalidScopeError, "unknown"),
    ("only spaces", changed(scope="  "), errors.InvalidScopeError, "names no scope"),
    ("another space", changed(scope=f"{BASIC}\u00a0"), errors.InvalidScopeError, "unknown"),
    ("tab between", changed(scope=f"{BASIC}\t{BASIC}"), errors.InvalidScopeError, "unknown"),
    ("no login_hint", Parameters(without("login_hint")), errors.InvalidRequestError, "login_hint is missing"),
    ("no address", changed(login_hint="alice"), errors.InvalidRequestError, "e-mail"),
    ("no local part", changed(login_hint="@example.org"), errors.InvalidRequestError, "e-mail"),
    (
        "two addresses",
        changed(login_hint="a@example.org,b@example.org"),
        errors.InvalidRequestError,
        "e-mail",
    ),
    (
        "a header",
        changed(login_hint="a@example.org\nBcc: b@example.org"),
        errors.InvalidRequestError,
        "e-mail",
    ),
    ("space after it", changed(login_hint="a@example.org "), errors.InvalidRequestError, "e-mail"),
    ("newline after it", changed(login_hint="a@example.org\n"), errors.InvalidRequestError, "e-mail"),
    ("a name", changed(login_hint="Alice <alice@example.org>"), errors.InvalidRequestError, "e-mail"),
    # Lower case turns `K` (Kelvin) and `ſ` into ASCII letters, and so into another person's address.
    ("Kelvin", changed(login_hint="\u212aelly@example.org"), errors.InvalidRequestError, "e-mail"),
    ("long s", changed(login_hint="\u017fam@example.org"), errors.InvalidRequestError, "e-mail"),
    (
        "bad data",
        changed(transaction_data="x"),
        errors.InvalidTransactionDataError,
        "transaction_data value 1",
    ),
    (
        "data for another query",
        changed(transaction_data=session_data(credential_ids=["other"])),
        errors.InvalidTransactionDataError,
        "transaction_data value 1: credential_ids[0]",
    ),
]


@pytest.mark.parametrize(
    ("parameters", "error", "says"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG]
)
def test_every_mistake_has_its_error_and_says_what_is_wrong(
    parameters: Parameters, error: type[AuthorizationError], says: str
) -> None:
    party = RelyingParty(**EVERYTHING)
    with pytest.raises(error) as raised:
        wire_format_of(party).parse_request(parameters, party, ONLY_BASIC)

    assert type(raised.value) is error
    assert says in raised.value.description


def test_a_good_request_is_read_whole() -> None:
    value = session_data()

    request = read(GOOD | {"transaction_data": value})

    assert request.nonce == GOOD["nonce"]
    assert request.login_hint == "alice@example.org"
    assert request.query.credential_ids == ("basic",)
    assert [data.received for data in request.transaction_data] == [value]


def test_what_may_be_left_out_can_be_left_out() -> None:
    request = read(without("state"))

    assert request.transaction_data == ()


def test_the_only_response_mode_may_be_named() -> None:
    assert read(GOOD | {"response_mode": "fragment"}).nonce == GOOD["nonce"]


@pytest.mark.parametrize("length", [16, 512])
def test_a_nonce_of_any_allowed_length_is_kept_as_it_is(length: int) -> None:
    assert read(GOOD | {"nonce": "~" * length}).nonce == "~" * length


def test_a_login_hint_without_a_dot_in_its_domain_is_accepted_in_a_sandbox_only(settings: Any) -> None:
    assert read(GOOD | {"login_hint": "root@localhost"}).login_hint == "root@localhost"
    settings.LOCALHOST_EMAIL_ADDRESSES = False
    with pytest.raises(errors.InvalidRequestError, match="login_hint must be an e-mail address"):
        read(GOOD | {"login_hint": "root@localhost"})


def test_a_login_hint_is_compared_in_lower_case() -> None:
    assert read(GOOD | {"login_hint": "Alice@Example.ORG"}).login_hint == "alice@example.org"


@pytest.mark.parametrize("scope", [f"{BASIC} {BASIC}", f"{BASIC} ", f" {BASIC}", f"{BASIC}  {BASIC}"])
def test_a_scope_named_twice_counts_once_and_further_spaces_separate_nothing(scope: str) -> None:
    request = read(GOOD | {"scope": scope})

    assert request.query.credential_ids == ("basic",)
    assert request.scopes == (BASIC,)


def test_a_scope_the_relying_party_may_not_ask_is_refused() -> None:
    with pytest.raises(errors.InvalidScopeError, match="not allowed"):
        read(GOOD, allowed_scopes=[])


def test_a_type_the_relying_party_may_not_send_is_refused() -> None:
    with pytest.raises(errors.InvalidTransactionDataError, match="value 1: type is not allowed"):
        read(GOOD | {"transaction_data": session_data()}, allowed_transaction_data_types=[])


@given(st.dictionaries(st.sampled_from(sorted(LIMITS)), st.text(max_size=40)))
def test_any_parameters_are_a_request_or_an_authorization_error(values: dict[str, str]) -> None:
    try:
        request = read(GOOD | values)
    except AuthorizationError:
        return
    assert request.nonce == (GOOD | values)["nonce"]


@given(st.dictionaries(st.sampled_from(sorted(LIMITS)), st.text(max_size=20)))
def test_the_hash_changes_with_every_parameter_and_with_nothing_else(values: dict[str, str]) -> None:
    digest = parameters_hash(Parameters(values))

    assert len(digest) == 64
    assert digest == parameters_hash(Parameters(dict(reversed(values.items()))))
    for name in values:
        assert digest != parameters_hash(Parameters(values | {name: values[name] + "x"}))
        assert digest != parameters_hash(Parameters({k: v for k, v in values.items() if k != name}))


def two_queries() -> str:
    type = credential_type()
    asked = [
        {"id": name, "format": "dc+sd-jwt", "meta": {"vct_values": [type]}, "claims": [{"path": [name]}]}
        for name in ("given_name", "family_name")
    ]
    return json.dumps({"credentials": asked})


def test_two_credential_queries_need_a_wire_format_that_tells_their_answers_apart() -> None:
    values = dict(asking(two_queries()).values)

    assert read(values, wire_format="openid4vp-1.0").query.credential_ids == ("given_name", "family_name")
    with pytest.raises(errors.InvalidRequestError, match="several presentations"):
        read(values)


def test_another_format_is_suggested_only_where_it_would_help() -> None:
    """A query that needs a licence as well is met in no format."""
    two = json.loads(two_queries())["credentials"]

    for credentials, suggested in ((two, True), ([*two, LICENCE], False)):
        with pytest.raises(errors.InvalidRequestError, match="into one credential query") as refused:
            read(dict(asking(json.dumps({"credentials": credentials})).values))
        assert ("OpenID4VP 1.0" in refused.value.description) is suggested
        assert ("ask the operator" in refused.value.description) is suggested


@pytest.mark.parametrize("wire_format", ["string", "openid4vp-1.0"])
def test_the_registration_is_named_only_for_a_response_type_that_it_could_have(wire_format: str) -> None:
    with pytest.raises(errors.UnsupportedResponseTypeError, match="OpenID Connect.* ask the operator"):
        read(GOOD | {"response_type": "code"}, wire_format=wire_format)
    for other in ("id_token", "token", "code id_token", "vp_token id_token"):
        with pytest.raises(errors.UnsupportedResponseTypeError) as refused:
            read(GOOD | {"response_type": other}, wire_format=wire_format)
        assert refused.value.description == "response_type must be vp_token"


@pytest.mark.parametrize(
    ("name", "value"),
    [("login_hint", "alice+shop@example.org"), ("nonce", "RXhhbXBsZSBub25j+ZQ==")],
)
def test_a_plus_that_was_not_encoded_is_named(name: str, value: str) -> None:
    as_sent = urlencode(GOOD | {name: value}, safe="+")
    encoded = urlencode(GOOD | {name: value})

    with pytest.raises(errors.InvalidRequestError, match=f"^{name} .*unencoded .* send . as %2B"):
        read(dict(Parameters.from_query(as_sent).values))
    assert read(dict(Parameters.from_query(encoded).values))


def test_a_value_without_a_space_says_nothing_of_a_plus() -> None:
    with pytest.raises(errors.InvalidRequestError) as refused:
        read(GOOD | {"login_hint": "alice"})

    assert refused.value.description == "login_hint must be an e-mail address"


LICENCE = {
    "id": "mdl",
    "format": "mso_mdoc",
    "meta": {"doctype_value": "org.iso.18013.5.1.mDL"},
    "claims": [{"path": ["birth_date"]}, {"path": ["org.iso.18013.5.1", "family_name"]}],
}


def test_queries_for_other_formats_select_no_claims_and_cannot_be_the_only_ones() -> None:
    name = json.loads(two_queries())["credentials"][0]
    either = {"credentials": [LICENCE, name], "credential_sets": [{"options": [["mdl"], ["given_name"]]}]}

    request = read(dict(asking(json.dumps(either)).values))

    assert request.query.credential_ids == ("mdl", "given_name")
    with pytest.raises(errors.VpFormatsNotSupportedError, match=r"dc\+sd-jwt"):
        read(dict(asking(json.dumps({"credentials": [LICENCE]})).values))


def test_a_transaction_may_be_bound_to_any_query_that_binds_the_holder() -> None:
    value = session_data(credential_ids=["family_name"])

    request = read(dict(asking(two_queries(), transaction_data=value).values), wire_format="openid4vp-1.0")

    assert request.transaction_data[0].credential_ids == ("family_name",)
