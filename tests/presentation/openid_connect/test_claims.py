"""What `scope` and `claims` ask for: what the holder must share, may share, and what comes back."""

import json
from datetime import date
from typing import Any
from urllib.parse import unquote_plus

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from consent.models import Consent
from presentation.models import RelyingParty, Scope
from tests.forgery import new_key, public_jwk, sign_jwt
from tests.people import ALICE
from tests.presentation.openid_connect.shop import Shop, answer_of, share, user_info
from tests.presentation.requests.authorization_requests import PATH, encoded, session_data
from tests.relying_party import disclosed_claims, read_jwt, take_apart
from wallet.credential import credentials
from wallet.credential.birth_dates import PartialDate
from wallet.credential.claims import Identity
from wallet.credential.evidence import Assurance, Verification
from wallet.models import Credential, Wallet

pytestmark = pytest.mark.usefixtures("signing_key")
FRAMEWORK = "https://id.example/assurance"
NAMES = {"given_name": None, "family_name": None}

NAMES_IN_PARTS = ("given_name", "family_name")


@pytest.fixture
def ask(holder: Client, shop: Shop) -> Any:
    """Asks by `claims` alone; gives the ID token, UserInfo and what the presentation discloses."""

    def ask(claims: Any, **more: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        tokens = shop.tokens(holder, **({"scope": "openid", "claims": claims} | more))
        issued, shown, _, _ = take_apart(tokens["vp_token"])
        told = user_info(Client(), tokens["access_token"]).json()
        return dict(read_jwt(tokens["id_token"]).payload), told, disclosed_claims(issued, shown)

    return ask


def question() -> Consent:
    return Consent.objects.latest("asked_at")


def verified(claims: Any = NAMES, **verification: Any) -> dict[str, Any]:
    return {"verification": {"trust_framework": None} | verification, "claims": claims}


# --- Required and optional --------------------------------------------------------------------------------


def test_essential_claims_are_required_and_others_are_switches(holder: Client, shop: Shop) -> None:
    claims = {"id_token": {"birthdate": {"essential": True}, "nationalities": None, "email": {}}}
    holder.get(PATH, shop.asks(scope="openid", claims=claims))

    assert question().claims == [["birth_date"], ["nationalities"], ["email"]]
    assert question().optional_claims == [["nationalities"], ["email"]]


def test_what_is_not_switched_on_stays_with_the_holder(ask: Any) -> None:
    claims = {"id_token": {"birthdate": {"essential": True}, "email": None}}
    token, told, shared = ask(claims)
    assert token["birthdate"] == shared["birth_date"]
    assert "email" not in token | told | shared
    token, _, _ = ask(claims, switched_on=["email"])
    assert (token["email"], token["email_verified"]) == (ALICE, True)


def test_a_claim_that_a_scope_and_claims_ask_for_is_required(holder: Client, shop: Shop) -> None:
    claims = {"userinfo": {"given_name": None}, "id_token": {"given_name": {"essential": True}}}
    holder.get(PATH, shop.asks(scope="openid profile", claims=claims))
    assert (question().claims, question().optional_claims) == ([["given_name"], ["family_name"]], [])


def test_each_place_has_what_was_asked_for_there(ask: Any) -> None:
    token, told, _ = ask(
        {
            "id_token": {"given_name": {"essential": True}, "age_equal_or_over.18": {"essential": True}},
            "userinfo": {"family_name": {"essential": True}, "age_equal_or_over.21": {"essential": True}},
        }
    )
    assert (token["given_name"], token["age_equal_or_over"]) == ("Alice", {"18": True})
    assert "family_name" not in token
    assert told == {"sub": token["sub"], "family_name": "Archer", "age_equal_or_over": {"21": True}}


def test_unknown_claims_are_ignored(ask: Any) -> None:
    token, told, shared = ask(
        {
            "id_token": {"nickname": {"essential": True}, "given_name#de": None, "": None, "toString": None},
            "userinfo": {"https://claims.example/shoe_size": {"essential": True, "value": 42}},
            "elsewhere": {"given_name": {"essential": True}},
        }
    )
    assert told.keys() == {"sub"}
    assert not {"given_name", "nickname"} & (token.keys() | shared.keys())


def test_claims_that_it_may_not_ask_for_are_ignored(holder: Client) -> None:
    shop = Shop.registered(allowed_claims=["given_name"])
    claims = {"id_token": {"birthdate": {"essential": True}, "verified_claims": verified()}}
    tokens = shop.tokens(holder, scope="openid profile email", claims=claims)
    token = read_jwt(tokens["id_token"]).payload
    assert token["given_name"] == "Alice"
    assert not {"family_name", "email", "birthdate", "verified_claims"} & token.keys()
    assert tokens["scope"] == "openid profile"


def test_a_scope_that_it_may_not_ask_for_is_ignored(holder: Client, shop: Shop) -> None:
    Scope(urn="urn:example:scope:born", title="Born", required_claims=["birth_date"]).save()
    tokens = shop.tokens(holder, scope="openid profile urn:example:scope:born")
    assert tokens["scope"] == "openid profile"
    assert "birthdate" not in read_jwt(tokens["id_token"]).payload


def test_the_presentation_is_a_claim_where_it_is_asked_for(ask: Any, client: Client, shop: Shop) -> None:
    tokens = shop.tokens(client, claims={"id_token": {"vp_token": None}})
    assert read_jwt(tokens["id_token"]).payload["vp_token"] == tokens["vp_token"]
    assert "vp_token" not in user_info(Client(), tokens["access_token"]).json()


@pytest.mark.parametrize("how", [{"value": "DEU"}, {"essential": True, "values": ["DE", "de"]}])
def test_values_that_are_no_country_are_refused(holder: Client, shop: Shop, how: Any) -> None:
    response = holder.get(PATH, shop.asks(claims={"userinfo": {"nationalities": how}}))
    assert "error=invalid_request" in response.headers["Location"]
    assert "the values of nationalities.* must be ISO 3166-1" in unquote_plus(response.headers["Location"])


def test_more_questions_than_a_presentation_answers_are_too_many(holder: Client, shop: Shop) -> None:
    ages = {f"age_equal_or_over.{age}": None for age in (14, 16, 18, 21)}
    response = holder.get(PATH, shop.asks(claims={"id_token": ages}))
    assert "error=invalid_request" in response.headers["Location"]


def test_the_scope_address_gives_what_is_known_of_it(holder: Client) -> None:
    shop = Shop.registered(allowed_claims=["address.locality", "address.country", "given_name"])
    tokens = shop.tokens(holder, scope="openid address profile")
    assert tokens["scope"] == "openid address profile"
    assert "address" not in read_jwt(tokens["id_token"]).payload  # nothing is known of Alice's
    assert not question().optional_claims


def test_a_value_that_does_not_fit_counts_as_an_absent_claim(ask: Any) -> None:
    token, _, shared = ask({"id_token": {"given_name": {"value": "Bob"}, "family_name": {"essential": True}}})
    assert "given_name" not in token | shared
    token, _, _ = ask(
        {"id_token": {"nationalities": {"essential": True, "values": ["FR", "GB"]}}},
    )
    assert token["nationalities"] == ["GB"]
    token, _, shared = ask({"id_token": {"age_equal_or_over.18": {"essential": True, "value": False}}})
    assert "age_equal_or_over" not in token | shared


def test_an_essential_claim_that_the_holder_lacks_is_left_out(holder: Client) -> None:
    """Core §5.5.1: that is no error."""
    shop = Shop.registered(allowed_claims=["address", "given_name", "verification.assurance_level"])
    lacking = {"essential": True, "value": "x"}
    claims = {"address": {"essential": True}, "verification.assurance_level": lacking}
    token = shop.id_token(
        holder, scope="openid", claims={"id_token": claims | {"given_name": {"essential": True}}}
    )
    assert token["given_name"] == "Alice"
    assert not {"address", "verification"} & token.keys()


@pytest.mark.parametrize(
    ("claim", "how", "told"),
    [
        ("birthdate", {"value": "1980-01-01"}, [["birth_date"]]),
        ("age_equal_or_over.50", {"values": [True]}, [["age_equal_or_over", "50"]]),
        ("nationalities", {"value": "DE"}, [["nationality_in", "DE"]]),
        ("birthdate", {}, []),
        ("given_name", {"value": "Alice"}, []),  # it is so, and is shared
    ],
)
def test_an_essential_claim_with_another_value_tells_that_it_has_another(
    holder: Client, shop: Shop, claim: str, how: Any, told: list[list[str]]
) -> None:
    page = holder.get(
        PATH, shop.asks(scope="openid", claims={"userinfo": {claim: {"essential": True} | how}})
    )
    assert question().told == told
    assert ("can also conclude something about" in page.content.decode()) is bool(told)


def test_a_claim_that_the_holder_may_leave_off_tells_nothing_by_its_value(holder: Client, shop: Shop) -> None:
    holder.get(PATH, shop.asks(scope="openid", claims={"userinfo": {"birthdate": {"value": "1980-01-01"}}}))
    assert question().told == []


def test_a_claim_with_another_value_can_be_asked_for_in_the_other_place(holder: Client, shop: Shop) -> None:
    claims = {
        "id_token": {"given_name": {"essential": True, "value": "Bob"}},
        "userinfo": {"given_name": None},
    }
    token = shop.id_token(holder, scope="openid", claims=claims, switched_on=["given_name"])
    assert question().optional_claims == [["given_name"]]
    assert "given_name" not in token


def test_ages_that_only_their_absence_tells_count_like_others(holder: Client, shop: Shop) -> None:
    RelyingParty.objects.update(most_ages_a_year=1)
    for age, answered in (("50", True), ("60", False)):
        claims = {"id_token": {f"age_equal_or_over.{age}": {"essential": True, "value": True}}}
        response = holder.get(PATH, shop.asks(scope="openid", claims=claims))
        assert ("Location" not in response.headers) is answered  # else the page that says that nothing fits
        if answered:
            shop.redeems(Client(), answer_of(share(holder))["code"])


def test_essential_ages_are_limited_like_others(holder: Client, shop: Shop) -> None:
    ages = {f"age_equal_or_over.{age}": {"essential": True} for age in (14, 16, 18, 21)}
    response = holder.get(PATH, shop.asks(claims={"id_token": ages}))
    assert "error=invalid_request" in response.headers["Location"]


# --- verified_claims --------------------------------------------------------------------------------------


def test_verified_claims_come_with_how_they_were_verified(ask: Any) -> None:
    names = {"given_name": {"essential": True}, "birthdate": {"essential": True}}
    wanted = verified(names, assurance_level=None, time=None, evidence=None)
    token, told, shared = ask({"id_token": {"verified_claims": wanted}})

    assert token["verified_claims"].keys() == {"verification", "claims"}
    assert token["verified_claims"]["verification"] == shared["verification"]
    assert shared["verification"].keys() == {"trust_framework", "assurance_level", "time", "evidence"}
    assert token["verified_claims"]["claims"] == {
        "given_name": "Alice",
        "birthdate": shared["birth_date"],
    }
    assert "given_name" not in token
    assert "verified_claims" not in told


def test_the_trust_framework_is_always_there(ask: Any) -> None:
    wanted = {"verification": {}, "claims": {"given_name": {"essential": True}}}
    token, _, _ = ask({"id_token": {"verified_claims": wanted}})
    assert token["verified_claims"]["verification"] == {"trust_framework": FRAMEWORK}


FITTING: list[dict[str, Any]] = [
    {"trust_framework": {"value": FRAMEWORK}},
    {"trust_framework": {"values": ["eidas", FRAMEWORK]}},
    {"assurance_level": {"value": "in_person", "essential": True}},
    {"evidence": [{"type": {"value": "document"}}]},
    {"evidence": [{"type": {"value": "document"}, "check_details": [{"check_method": {"value": "vpip"}}]}]},
    {"time": {"max_age": 200_000}},
    {"assurance_process": None},
    {"evidence": [{"document_details": {"issuer": {"name": None}}}]},
]
NOT_FITTING: list[dict[str, Any]] = [
    {"trust_framework": {"value": "eidas"}},
    {"trust_framework": {"values": ["eidas", "uk_diatf"]}},
    {"assurance_level": {"value": "high"}},
    {"evidence": [{"type": {"value": "electronic_record"}}]},
    {"evidence": [{"type": {"value": "document"}}, {"type": {"value": "vouch"}}]},
    {"evidence": [{"check_details": [{"check_method": {"value": "vcrypt"}}]}]},
    {"assurance_process": {"policy": {"value": "x"}}},
    {"verification_process": {"value": "x"}},
]


@pytest.mark.parametrize("verification", FITTING)
def test_a_verification_that_fits_is_given(ask: Any, verification: Any) -> None:
    wanted = verified({"given_name": {"essential": True}}, **verification)
    token, _, _ = ask({"id_token": {"verified_claims": wanted}})
    assert token["verified_claims"]["claims"] == {"given_name": "Alice"}


@pytest.mark.parametrize("verification", NOT_FITTING)
def test_one_that_does_not_fit_is_left_out_without_an_error_and_nothing_of_it_is_shared(
    ask: Any, verification: Any
) -> None:
    wanted = verified({"given_name": {"essential": True}}, **verification)
    token, _, shared = ask({"id_token": {"verified_claims": wanted}})
    assert "verified_claims" not in token
    assert not {"given_name", "verification"} & shared.keys()


def test_a_verification_that_is_too_old_is_left_out(ask: Any, alice: Wallet) -> None:
    wanted = verified({"given_name": {"essential": True}}, time={"max_age": 0})
    token, _, _ = ask({"id_token": {"verified_claims": wanted}})
    assert "verified_claims" not in token


def test_a_value_of_a_verified_claim_that_does_not_fit_leaves_it_out(ask: Any) -> None:
    token, _, shared = ask(
        {"id_token": {"verified_claims": verified({"given_name": {"essential": True, "value": "Bob"}})}}
    )
    assert "verified_claims" not in token
    assert not {"given_name", "verification"} & shared.keys()


def test_verified_claims_that_the_holder_leaves_off_are_left_out(ask: Any) -> None:
    token, _, _ = ask({"id_token": {"verified_claims": verified()}})
    assert "verified_claims" not in token
    token, _, _ = ask({"id_token": {"verified_claims": verified()}}, switched_on=["family_name"])
    assert token["verified_claims"]["claims"] == {"family_name": "Archer"}


def test_of_several_elements_those_that_fit_are_given_as_an_array(ask: Any) -> None:
    name = {"given_name": {"essential": True}}
    elements = [verified(name, trust_framework={"value": "eidas"}), verified(name), verified(name, time=None)]
    token, _, _ = ask({"id_token": {"verified_claims": elements}})
    assert [each["verification"].keys() for each in token["verified_claims"]] == [
        {"trust_framework"},
        {"trust_framework", "time"},
    ]


def test_a_member_of_the_verification_that_there_is_not_is_left_out(ask: Any, alice: Wallet) -> None:
    framework = Verification(Assurance("de_aml"), timezone.now().date(), "in_person")
    identity = Identity("Alice", "Archer", date(1990, 4, 1), verification=framework)
    with transaction.atomic():
        credentials.issue(alice, identity, alice.credential.verification, now=timezone.now())
    name = {"given_name": {"essential": True}}
    token, _, _ = ask({"id_token": {"verified_claims": verified(name, assurance_level=None, time=None)}})
    assert token["verified_claims"]["verification"].keys() == {"trust_framework", "time"}


def test_an_identity_of_an_earlier_release_is_shared_without_them(ask: Any, alice: Wallet) -> None:
    """It was not written down how it was verified, and nobody has to be verified anew for a wish."""
    identity = Identity("Alice", "Archer", date(1990, 4, 1), ("GB",))
    with transaction.atomic():
        credentials.issue(alice, identity, alice.credential.verification, now=timezone.now())
    assert Credential.objects.count() == 1
    token, _, _ = ask({"id_token": {"given_name": {"essential": True}, "verified_claims": verified()}})
    assert token["given_name"] == "Alice"
    assert "verified_claims" not in token


def born(alice: Wallet, known: PartialDate) -> None:
    """Alice's identity, with no more of her birth date than this."""
    verification = Verification(Assurance(FRAMEWORK, "in_person"), date(2026, 1, 1), "in_person")
    identity = Identity("Alice", "Archer", known, ("GB",), verification=verification)
    with transaction.atomic():
        credentials.issue(alice, identity, alice.credential.verification, now=timezone.now())


@pytest.mark.parametrize("known", [PartialDate(1990), PartialDate(1990, 4)])
def test_of_a_birth_date_without_a_day_every_place_has_the_year(
    ask: Any, alice: Wallet, known: PartialDate
) -> None:
    """Core §5.1 has the year alone, and no month. The presentation has all that is known."""
    born(alice, known)
    essential = {"birthdate": {"essential": True}, "age_equal_or_over.18": {"essential": True}}
    token, told, disclosed = ask(
        {"id_token": essential | {"verified_claims": verified(essential)}, "userinfo": essential}
    )
    for claims in (token, told, token["verified_claims"]["claims"]):
        assert claims["birthdate"] == "1990"
        assert claims["age_equal_or_over"] == {"18": True}
    assert disclosed["birth_date"] == known.isoformat()


@pytest.mark.parametrize("known", [PartialDate(1990), PartialDate(1990, 4)])
def test_a_client_that_asks_for_the_year_of_birth_that_it_once_got_gets_it_again(
    ask: Any, alice: Wallet, known: PartialDate
) -> None:
    born(alice, known)
    values = {"essential": True, "values": ["1985", "1990"]}
    token, _, _ = ask({"id_token": {"birthdate": values}})
    assert token["birthdate"] == "1990"


@pytest.mark.parametrize("value", ["1991", "1990-05-01", "199", ""])
def test_a_client_that_asks_for_another_birth_date_gets_none(ask: Any, alice: Wallet, value: str) -> None:
    born(alice, PartialDate(1990, 4))
    token, _, shared = ask({"id_token": {"birthdate": {"essential": True, "value": value}}})
    assert "birthdate" not in token
    assert "birth_date" not in shared


# --- The whole name ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["id_token", "userinfo"])
def test_the_whole_name_is_made_of_its_parts(ask: Any, place: str) -> None:
    """Core §5.1. Its parts are what the person is asked for, and what the presentation discloses."""
    token, told, disclosed = ask({place: {"name": {"essential": True}}})
    claims = token if place == "id_token" else told
    assert claims["name"] == "Alice Archer"
    assert not set(NAMES_IN_PARTS) & claims.keys()
    assert [disclosed[name] for name in NAMES_IN_PARTS] == ["Alice", "Archer"]
    assert question().claims == [["given_name"], ["family_name"]]


def test_the_scope_profile_has_the_whole_name(ask: Any) -> None:
    token, told, _ = ask({}, scope="openid profile")
    assert token["name"] == told["name"] == "Alice Archer"


def test_a_part_of_the_name_is_not_taken_for_the_whole(holder: Client, shop: Shop) -> None:
    """It is optional, and the person switches on the given name alone."""
    asks = {"scope": "openid", "claims": {"id_token": {"name": None, "given_name": None}}}
    token = shop.id_token(holder, switched_on=["given_name"], **asks)
    assert token["given_name"] == "Alice"
    assert "name" not in token


@pytest.mark.parametrize("scope", ["openid", "openid profile"])
def test_the_whole_name_needs_the_permission_for_its_parts(holder: Client, scope: str) -> None:
    shop = Shop.registered(allowed_claims=["given_name"])
    claims = {"id_token": {"name": {"essential": True}, "given_name": {"essential": True}}}
    token = shop.id_token(holder, scope=scope, claims=claims)
    assert token["given_name"] == "Alice"
    assert "name" not in token


@pytest.mark.parametrize(("value", "told"), [("Alice Archer", True), ("Alice", False), ("Bob Baker", False)])
def test_another_whole_name_than_the_one_asked_for_is_left_out(ask: Any, value: str, told: bool) -> None:
    token, _, _ = ask({"id_token": {"name": {"essential": True, "value": value}}})
    assert ("name" in token) is told


@pytest.mark.parametrize("names", [("Sukarni", ""), ("", "Sukarni")])
def test_a_name_that_somebody_does_not_have_is_left_out(ask: Any, alice: Wallet, names: Any) -> None:
    """Core §5.3.2: an empty text should not be there. The presentation says that there is none."""
    verification = Verification(Assurance(FRAMEWORK, "in_person"), date(2026, 1, 1), "in_person")
    identity = Identity(*names, date(1990, 4, 1), ("ID",), verification=verification)
    with transaction.atomic():
        credentials.issue(alice, identity, alice.credential.verification, now=timezone.now())
    essential = {name: {"essential": True} for name in (*NAMES_IN_PARTS, "name")}
    claims = {"id_token": {"verified_claims": verified(essential)}, "userinfo": essential}
    token, told, disclosed = ask(claims)

    [own] = [name for name, value in zip(NAMES_IN_PARTS, names, strict=True) if value]
    assert essential.keys() & told.keys() == {own, "name"}
    assert token["verified_claims"]["claims"] == {own: "Sukarni", "name": "Sukarni"}
    assert (disclosed["given_name"], disclosed["family_name"]) == names


def test_the_holder_learns_that_the_answer_tells_which_ones_were_possible(holder: Client, shop: Shop) -> None:
    holder.get(PATH, shop.asks(claims={"id_token": {"verified_claims": verified()}}))
    assert question().alternatives
    holder.get(PATH, shop.asks())
    assert not question().alternatives


@pytest.mark.parametrize(
    ("demanded", "told"),
    [
        ({"age_equal_or_over.50": {"essential": True, "value": True}}, [["age_equal_or_over", "50"]]),
        (
            {"nationalities": {"essential": True, "values": ["DE", "FR"]}},
            [["nationality_in", "DE"], ["nationality_in", "FR"]],
        ),
        ({"birthdate": {"essential": True, "value": "1980-01-01"}}, [["birth_date"]]),
        ({"age_equal_or_over.20": {"essential": True, "value": True}}, []),  # it is so, and is shared
    ],
)
def test_an_element_of_verified_claims_that_does_not_fit_tells_that_it_does_not(
    holder: Client, shop: Shop, demanded: dict[str, Any], told: list[list[str]]
) -> None:
    holder.get(PATH, shop.asks(claims={"id_token": {"verified_claims": verified(demanded)}}))
    assert question().told == told


def test_an_assurance_that_the_holder_does_not_have_is_told(holder: Client, shop: Shop) -> None:
    demanded = verified(trust_framework={"value": "eidas"})
    holder.get(PATH, shop.asks(claims={"id_token": {"verified_claims": demanded}}))
    assert question().told == [["verification", "trust_framework"]]


# --- Carriers ---------------------------------------------------------------------------------------------


def test_a_transaction_names_the_credential_query_openid(holder: Client, shop: Shop) -> None:
    data = encoded(session_data(credential_ids=["openid"]))
    tokens = shop.tokens(holder, transaction_data=data)
    binding = take_apart(tokens["vp_token"])[2].payload
    assert len(binding["transaction_data_hashes"]) == 1


def test_a_request_object_may_have_claims_and_max_age_as_json(holder: Client, settings: Any) -> None:
    key = new_key()
    shop = Shop.registered(jwks={"keys": [{"kid": "one", **public_jwk(key)}]})
    claims = {"id_token": {"birthdate": {"essential": True}}}
    for written in (claims, json.dumps(claims)):
        payload: dict[str, Any] = dict(shop.asks(scope="openid", aud=settings.BASE_URL))
        payload |= {"claims": written, "max_age": 7200, "exp": int(timezone.now().timestamp()) + 60}
        header = {"alg": "ES256", "typ": "oauth-authz-req+jwt", "kid": "one"}
        request = {"client_id": shop.party.client_id, "request": sign_jwt(header, payload, key)}
        response = holder.get(PATH, request)
        assert response.status_code == 200, response.headers["Location"]
        assert question().claims == [["birth_date"]]
        assert share(holder).headers["Location"].startswith("https://shop.example/callback?code=")
