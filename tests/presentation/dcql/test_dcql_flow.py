"""Requests with `dcql_query` over HTTP: exactly the claims on the consent page are presented."""

import json
from base64 import urlsafe_b64decode
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client

from consent.models import Consent
from keys.issuer_key import active_issuer_key
from presentation.models import Interaction, RelyingParty
from tests.consent.shown import values_on, withheld_on
from tests.people import BOB, NORA
from tests.presentation.requests.test_authorize import PATH, asked, encoded, fragment, session_data
from tests.presentation.requests.test_flow import SignIn, ask, decide
from wallet import claims
from wallet.credentials import credential_type
from wallet.models import Wallet

pytestmark = pytest.mark.usefixtures("signing_key")


def query(*asked_for: dict[str, Any], **more: Any) -> dict[str, Any]:
    said = {"id": "identity", "format": "dc+sd-jwt", "meta": {"vct_values": [credential_type()]}} | more
    return said | ({"claims": list(asked_for)} if asked_for else {})


def with_query(*queries: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The changes that turn a request with a scope into one with a query."""
    return {"scope": None, "dcql_query": json.dumps({"credentials": list(queries)} | more)}


def path(*elements: Any, **more: Any) -> dict[str, Any]:
    return {"path": list(elements)} | more


@pytest.fixture
def may_ask_everything(acme_bank: RelyingParty) -> RelyingParty:
    acme_bank.allowed_claims = list(claims.NAMES)
    acme_bank.save()
    return acme_bank


def disclosed(token: str) -> set[str]:
    """The names in the disclosures of a token."""
    read = [json.loads(urlsafe_b64decode(sent + "==")) for sent in token.split("~")[1:-1]]
    return {name for _salt, name, _value in read}


def test_what_is_shown_is_what_the_query_comes_to_and_what_is_disclosed(
    client: Client, alice: Wallet, may_ask_everything: RelyingParty, sign_in: SignIn
) -> None:
    sign_in(alice)
    asked_for = query(
        path("given_name", id="a", values=["Bob"]),
        path("birth_date", id="b"),
        path("nationalities", None, id="c", values=["GB"]),
        claim_sets=[["a"], ["b", "c"]],
    )

    page = ask(client, may_ask_everything, **with_query(asked_for))
    shown = client.get(page)
    answer = fragment(client.get(decide(client, page)).headers["Location"])

    assert values_on(shown) == ["1 April 1990", "United Kingdom"]
    assert "Given name" in withheld_on(shown)
    assert disclosed(answer["vp_token"]) == {"birth_date", "nationalities"}
    assert Consent.objects.get().claims == [["birth_date"], ["nationalities"]]


def test_a_query_without_claims_shares_nothing_and_says_so(
    client: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: SignIn
) -> None:
    sign_in(alice)

    page = ask(client, acme_bank, **with_query(query()))
    shown = client.get(page).content.decode()
    answer = fragment(client.get(decide(client, page)).headers["Location"])

    assert "Nothing about you is shared" in shown
    assert "Archer" not in shown
    assert disclosed(answer["vp_token"]) == set()


def test_several_queries_are_answered_each_under_its_id(
    client: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: SignIn
) -> None:
    RelyingParty.objects.update(wire_format=RelyingParty.WireFormat.OPENID4VP_1_0)
    sign_in(alice)
    names, age = query(path("given_name"), id="names"), query(path("age_equal_or_over", "18"), id="age")
    elsewhere = query(path("given_name"), id="elsewhere", meta={"vct_values": ["https://else.example"]})
    sets = [{"options": [["elsewhere"], ["names", "age"]]}, {"options": [["elsewhere"]], "required": False}]

    page = ask(client, acme_bank, **with_query(names, age, elsewhere, credential_sets=sets))
    answer = fragment(client.get(decide(client, page)).headers["Location"])

    token = json.loads(answer["vp_token"])
    assert set(token) == {"names", "age"}
    assert token["names"] == token["age"]
    assert disclosed(token["age"][0]) == {"given_name", "age_equal_or_over", "18"}


LICENCE = {
    "id": "mdl",
    "format": "mso_mdoc",
    "meta": {"doctype_value": "org.iso.18013.5.1.mDL"},
    "claims": [{"path": ["org.iso.18013.5.1", "family_name"]}],
}
EITHER: dict[str, list[dict[str, Any]]] = {
    "a licence or this": [{"options": [["mdl"], ["identity"]]}],
    "a licence as well, if there is one": [
        {"options": [["identity"]]},
        {"options": [["mdl"]], "required": False},
    ],
}


@pytest.mark.parametrize("sets", EITHER.values(), ids=EITHER.keys())
@pytest.mark.parametrize("wire_format", RelyingParty.WireFormat.values)
def test_who_takes_credentials_of_other_formats_too_gets_the_one_that_is_here(
    client: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: SignIn, sets: Any, wire_format: str
) -> None:
    RelyingParty.objects.update(wire_format=wire_format)
    sign_in(alice)

    page = ask(client, acme_bank, **with_query(LICENCE, query(path("given_name")), credential_sets=sets))
    token = fragment(client.get(decide(client, page)).headers["Location"])["vp_token"]

    if wire_format == RelyingParty.WireFormat.OPENID4VP_1_0:
        assert json.loads(token).keys() == {"identity"}
        ((token,),) = json.loads(token).values()
    assert disclosed(token) == {"given_name"}


def test_a_query_for_other_formats_only_is_refused_at_once(client: Client, acme_bank: RelyingParty) -> None:
    home = client.get(PATH, asked(acme_bank, **with_query(LICENCE))).headers["Location"]

    assert fragment(home)["error"] == "vp_formats_not_supported"


UNAVAILABLE: dict[str, dict[str, Any]] = {
    "a credential of another format as well": with_query(query(path("given_name")), LICENCE),
    "another value": with_query(query(path("given_name", values=["Bob"]))),
    "an age it does not have": with_query(query(path("age_equal_or_over", "65", values=[True]))),
    "an unknown claim": with_query(query(path("shoe_size"))),
    "another type": with_query(query(path("given_name"), meta={"vct_values": ["https://else.example"]})),
    "another authority": with_query(query(trusted_authorities=[{"type": "aki", "values": ["a2V5"]}])),
    "only something optional": with_query(
        query(path("shoe_size")), credential_sets=[{"options": [["identity"]], "required": False}]
    ),
}


@pytest.mark.parametrize("changes", UNAVAILABLE.values(), ids=UNAVAILABLE.keys())
def test_what_a_wallet_cannot_show_is_told_to_its_holder_and_looks_like_a_no_to_everybody_else(
    client: Client,
    alice: Wallet,
    may_ask_everything: RelyingParty,
    sign_in: SignIn,
    changes: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
    settings: Any,
) -> None:
    sign_in(alice)

    shown = client.get(ask(client, may_ask_everything, **changes))
    answer = fragment(client.get(shown.context["leave"]).headers["Location"])

    page = shown.content.decode()
    assert (shown.status_code, shown.headers["Cache-Control"]) == (200, "no-store")
    assert "Your wallet doesn’t have what was asked for" in page
    assert answer == {
        "error": "access_denied",
        "error_description": "The request was not granted.",
        "iss": settings.BASE_URL,
        "state": "af0ifjsldkj",
    }
    assert not Consent.objects.exists()
    assert Interaction.objects.get().parameters == {}
    assert "Bob" not in page + caplog.text


def test_the_right_authority_is_the_one_that_signed_the_issuers_certificate(
    client: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: SignIn
) -> None:
    sign_in(alice)
    ours = active_issuer_key(now=datetime.now(UTC)).authority_key_ids
    asked_for = query(trusted_authorities=[{"type": "aki", "values": ["a2V5", *ours]}])

    assert ask(client, acme_bank, **with_query(asked_for)).startswith("/consent/")


def test_nothing_is_sent_to_the_relying_party_before_a_click(
    client: Client, alice: Wallet, may_ask_everything: RelyingParty, sign_in: SignIn
) -> None:
    sign_in(alice)
    interaction_url = ask(client, may_ask_everything, **UNAVAILABLE["another value"])

    for _ in range(2):
        assert client.get(interaction_url).status_code == 200
    assert Interaction.objects.get().outcome == ""


def test_sign_in_comes_before_a_query_is_matched_with_any_wallet(
    client: Client, alice: Wallet, may_ask_everything: RelyingParty
) -> None:
    place = ask(client, may_ask_everything, **UNAVAILABLE["another value"])

    assert place.endswith("/sign-in/")


def test_no_identity_is_verified_for_a_query_that_no_wallet_could_answer(
    client: Client, db: None, may_ask_everything: RelyingParty, sign_in: SignIn
) -> None:
    sign_in(Wallet.objects.create(email=NORA, created_at=datetime.now(UTC)))
    could = with_query(query(path("given_name", values=["Nora"])))

    enrolling = ask(client, may_ask_everything, login_hint=NORA, **could)
    told = client.get(ask(client, may_ask_everything, login_hint=NORA, **UNAVAILABLE["an unknown claim"]))

    assert enrolling.endswith("/identity/")
    assert "Your wallet doesn’t have what was asked for" in told.content.decode()


def test_a_transaction_must_be_bound_to_a_query_that_is_answered(
    client: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: SignIn
) -> None:
    RelyingParty.objects.update(wire_format=RelyingParty.WireFormat.OPENID4VP_1_0)
    sign_in(alice)
    elsewhere = query(path("given_name"), id="elsewhere", meta={"vct_values": ["https://else.example"]})
    asked_for = with_query(
        query(path("given_name")), elsewhere, credential_sets=[{"options": [["identity"], ["elsewhere"]]}]
    )

    bound = encoded(session_data(credential_ids=["identity"]))
    unbound = encoded(session_data(credential_ids=["elsewhere"]))

    assert ask(client, acme_bank, transaction_data=bound, **asked_for).startswith("/consent/")
    told = client.get(ask(client, acme_bank, transaction_data=unbound, **asked_for))
    assert told.status_code == 200
    assert "leave" in told.context


def test_a_claim_that_is_not_the_relying_partys_to_ask_is_refused(
    client: Client, acme_bank: RelyingParty
) -> None:
    answer = fragment(
        client.get(PATH, asked(acme_bank, **with_query(query(path("birth_date"))))).headers["Location"]
    )

    assert answer["error"] == "unauthorized_client"
    assert "birth_date" in answer["error_description"]


def test_claims_removed_after_consent_are_not_shared(
    client: Client, alice: Wallet, may_ask_everything: RelyingParty, sign_in: SignIn
) -> None:
    sign_in(alice)
    interaction_url = decide(client, ask(client, may_ask_everything, **with_query(query(path("birth_date")))))
    RelyingParty.objects.update(allowed_claims=["given_name"])

    answer = fragment(client.get(interaction_url).headers["Location"])

    assert answer["error"] == "unauthorized_client"


def test_a_query_costs_the_authorization_endpoint_no_statement_more_than_a_scope(
    client: Client, alice: Wallet, may_ask_everything: RelyingParty, sign_in: SignIn, statements: Any
) -> None:
    sign_in(alice)
    ask(client, may_ask_everything)

    with statements() as by_scope:
        ask(client, may_ask_everything)
    with statements() as by_query:
        ask(client, may_ask_everything, **with_query(query(path("given_name", values=["Alice"]))))

    assert len(by_query.texts) == len(by_scope.texts) <= 5


def test_another_persons_wallet_gives_another_answer_to_the_same_query(
    client: Client, bob: Wallet, may_ask_everything: RelyingParty, sign_in: SignIn
) -> None:
    sign_in(bob)
    over_21 = path("age_equal_or_over", "21", id="age", values=[True])
    asked_for = query(over_21, path("given_name", id="name", values=["Bob"]), claim_sets=[["name", "age"]])

    shown = client.get(ask(client, may_ask_everything, login_hint=BOB, **with_query(asked_for)))

    assert values_on(shown) == ["Bob", "Yes"]
