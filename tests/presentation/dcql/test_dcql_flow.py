"""Requests with `dcql_query` over HTTP: exactly the claims on the consent page are presented."""

import json
from base64 import urlsafe_b64decode
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from consent.models import Consent
from keys.issuer_key import active_issuer_key
from keys.jws import decode_segment
from presentation.dcql.queries import BASIC
from presentation.errors import VpFormatsNotSupportedError
from presentation.models import Interaction, RelyingParty
from presentation.requests.wire_formats.openid4vp import check_formats
from tests.consent.shown import values_on, withheld_on
from tests.drawn import without_drawn
from tests.people import BOB, NORA
from tests.presentation.dcql.queries import disclosed, path, query, with_query
from tests.presentation.requests.authorization_requests import PATH, asked, encoded, fragment, session_data
from tests.presentation.requests.deciding import SignIn, ask, decide
from wallet.credential import claims, credentials
from wallet.credential.credentials import Binding
from wallet.credential.examination import examine
from wallet.models import StatusEntry, Wallet
from wallet.sd_jwt.issuance import digest

pytestmark = pytest.mark.usefixtures("signing_key")
IDENTITY = "urn:service:params:scope:verifiable-credentials:identity"


@pytest.fixture
def may_ask_everything(acme_bank: RelyingParty) -> RelyingParty:
    acme_bank.allowed_claims = list(claims.NAMES)
    acme_bank.save()
    return acme_bank


def key_binding(token: str) -> dict[str, Any]:
    """The payload of the key binding of a token."""
    return decode_segment(token.rpartition("~")[2].split(".")[1])


def test_what_is_shown_is_what_the_query_comes_to_and_what_is_disclosed(
    holder: Client, may_ask_everything: RelyingParty
) -> None:
    asked_for = query(
        path("given_name", id="a", values=["Bob"]),
        path("birth_date", id="b"),
        path("nationalities", None, id="c", values=["GB"]),
        claim_sets=[["a"], ["b", "c"]],
    )

    page = ask(holder, may_ask_everything, **with_query(asked_for))
    shown = holder.get(page)
    answer = fragment(holder.get(decide(holder, page)).headers["Location"])

    assert values_on(shown) == ["1 April 1990", "United Kingdom"]
    assert withheld_on(shown) == ["Family name"]
    assert "can also conclude something about: Given name</p>" in shown.content.decode()
    assert disclosed(answer["vp_token"]) == {"birth_date", "nationalities"}
    assert Consent.objects.get().claims == [["birth_date"], ["nationalities"]]


def test_a_query_without_claims_shares_nothing_and_says_so(holder: Client, acme_bank: RelyingParty) -> None:
    page = ask(holder, acme_bank, **with_query(query()))
    shown = holder.get(page).content.decode()
    answer = fragment(holder.get(decide(holder, page)).headers["Location"])

    assert "Nothing about you is shared" in shown
    assert "Archer" not in shown
    assert disclosed(answer["vp_token"]) == set()


TWO = (
    query(path("given_name"), path("family_name"), id="c"),
    query(path("birth_date"), path("given_name"), id="e"),
)


@pytest.fixture
def takes_several(may_ask_everything: RelyingParty) -> RelyingParty:
    may_ask_everything.wire_format = RelyingParty.WireFormat.OPENID4VP_1_0
    may_ask_everything.save()
    return may_ask_everything


def shared_for(client: Client, party: RelyingParty, **changes: Any) -> dict[str, str]:
    """The presentation for each query, after a yes."""
    page = ask(client, party, **changes)
    token = json.loads(fragment(client.get(decide(client, page)).headers["Location"])["vp_token"])
    assert all(len(presentations) == 1 for presentations in token.values())
    return {id: presentation for id, (presentation,) in token.items()}


def test_each_query_is_answered_by_a_presentation_with_its_own_claims(
    holder: Client, takes_several: RelyingParty
) -> None:
    answer = shared_for(holder, takes_several, nonce="n-0S6_WzA2Mj-of-two", **with_query(*TWO))

    assert {id: disclosed(token) for id, token in answer.items()} == {
        "c": {"given_name", "family_name"},
        "e": {"birth_date", "given_name"},
    }
    assert Consent.objects.get().claims == [["given_name"], ["family_name"], ["birth_date"]]
    bound = {"audience": takes_several.client_id, "nonce": "n-0S6_WzA2Mj-of-two", "transaction_data": []}
    assert all(examine(token, **bound, now=datetime.now(UTC)).valid for token in answer.values())
    consent = Consent.objects.get().id
    places = {(entry.status_list_id, entry.idx) for entry in StatusEntry.objects.filter(reference=consent)}
    assert len(places) == 2


def test_nothing_but_the_request_links_the_presentations_of_one_answer(
    holder: Client, takes_several: RelyingParty
) -> None:
    one, other = shared_for(holder, takes_several, **with_query(*TWO)).values()

    issued = [decode_segment(token.split(".")[1]) for token in (one, other)]
    assert issued[0]["cnf"] != issued[1]["cnf"]
    assert issued[0]["status"] != issued[1]["status"]
    assert not set(issued[0]["_sd"]) & set(issued[1]["_sd"])
    assert not set(one.split("~")[1:-1]) & set(other.split("~")[1:-1])


def test_several_scopes_are_answered_by_one_presentation_with_all_their_claims(
    holder: Client, takes_several: RelyingParty
) -> None:
    takes_several.allowed_scopes = [BASIC, IDENTITY]
    takes_several.save()

    answer = shared_for(holder, takes_several, scope=f"{BASIC} {IDENTITY}")

    assert len(answer) == 2
    assert len(set(answer.values())) == StatusEntry.objects.count() == 1
    assert disclosed(answer["basic"]) >= {"given_name", "family_name", "18", "birth_date"}


def test_only_the_queries_of_the_option_that_is_answered_get_a_presentation(
    holder: Client, takes_several: RelyingParty
) -> None:
    names, age = query(path("given_name"), id="names"), query(path("age_equal_or_over", "18"), id="age")
    elsewhere = query(path("given_name"), id="elsewhere", meta={"vct_values": ["https://else.example"]})
    sets = [{"options": [["elsewhere"], ["names", "age"]]}, {"options": [["elsewhere"]], "required": False}]

    answer = shared_for(holder, takes_several, **with_query(names, age, elsewhere, credential_sets=sets))

    assert {id: disclosed(token) for id, token in answer.items()} == {
        "names": {"given_name"},
        "age": {"age_equal_or_over", "18"},
    }


def test_transaction_data_is_in_one_presentation_of_those_that_it_names(
    holder: Client, takes_several: RelyingParty
) -> None:
    first, both, second = (
        encoded(session_data(credential_ids=ids, payload={"ip_address": f"192.0.2.{number}"}))
        for number, ids in enumerate((["c"], ["e", "c"], ["e"]))
    )

    answer = shared_for(
        holder, takes_several, transaction_data=f"{first} {both} {second}", **with_query(*TWO)
    )

    hashes = {id: key_binding(token).get("transaction_data_hashes") for id, token in answer.items()}
    assert hashes == {"c": [digest(first)], "e": [digest(both), digest(second)]}


def test_a_presentation_that_no_transaction_data_names_says_nothing_of_it(
    holder: Client, takes_several: RelyingParty
) -> None:
    value = encoded(session_data(credential_ids=["e"]))

    answer = shared_for(holder, takes_several, transaction_data=value, **with_query(*TWO))

    assert key_binding(answer["c"]).keys() == {"iat", "aud", "nonce", "sd_hash"}
    assert key_binding(answer["e"])["transaction_data_hashes"] == [digest(value)]


def test_what_the_holder_leaves_off_is_in_none_of_the_presentations(
    holder: Client, takes_several: RelyingParty
) -> None:
    optional = {"claim_sets": [["a", "b"], ["b"]]}
    one = query(path("given_name", id="a"), path("family_name", id="b"), id="c", **optional)
    other = query(path("given_name", id="a"), path("birth_date", id="b"), id="e", **optional)

    answer = shared_for(holder, takes_several, **with_query(one, other))

    assert Consent.objects.get().optional_claims == [["given_name"]]
    assert {id: disclosed(token) for id, token in answer.items()} == {
        "c": {"family_name"},
        "e": {"birth_date"},
    }


def test_the_form_of_a_yes_gets_the_same_answer_at_once(holder: Client, takes_several: RelyingParty) -> None:
    ask(holder, takes_several, **with_query(*TWO))

    response = holder.post(Consent.objects.get().return_to, {"decision": "share"})

    token = json.loads(fragment(response.headers["Location"])["vp_token"])
    assert {id: disclosed(one) for id, (one,) in token.items()} == {
        "c": {"given_name", "family_name"},
        "e": {"birth_date", "given_name"},
    }
    assert StatusEntry.objects.count() == 2


CHOICES: dict[str, tuple[list[Any], set[str]]] = {
    "two, or one": ([{"options": [["c", "e"], ["e"]]}], {"birth_date", "given_name"}),
    "the first choice that is one": ([{"options": [["e"], ["c"]]}], {"birth_date", "given_name"}),
    "one that satisfies both sets": (
        [{"options": [["c"], ["e"]]}, {"options": [["e", "c"], ["e"]]}],
        {"birth_date", "given_name"},
    ),
    "one, and another if there is room": (
        [{"options": [["c"]]}, {"options": [["e"]], "required": False}],
        {"given_name", "family_name"},
    ),
    "any, if at all": ([{"options": [["e"]], "required": False}], {"birth_date", "given_name"}),
}


@pytest.mark.parametrize(("sets", "wanted"), CHOICES.values(), ids=CHOICES.keys())
def test_the_contracts_format_gets_the_choice_that_needs_one_presentation(
    holder: Client, may_ask_everything: RelyingParty, sets: Any, wanted: set[str]
) -> None:
    page = ask(holder, may_ask_everything, **with_query(*TWO, credential_sets=sets))
    answer = fragment(holder.get(decide(holder, page)).headers["Location"])

    assert disclosed(answer["vp_token"]) == wanted


ELSEWHERE = query(path("given_name"), id="x", meta={"vct_values": ["https://else.example"]})
NEEDS_TWO: dict[str, dict[str, Any]] = {
    "two": with_query(*TWO),
    "two sets": with_query(*TWO, credential_sets=[{"options": [["c"]]}, {"options": [["e"]]}]),
    "one set of two": with_query(*TWO, credential_sets=[{"options": [["c", "e"]]}]),
    "or one that nobody has": with_query(*TWO, ELSEWHERE, credential_sets=[{"options": [["x"], ["c", "e"]]}]),
}


@pytest.mark.parametrize("changes", NEEDS_TWO.values(), ids=NEEDS_TWO.keys())
def test_the_contracts_format_has_room_for_one_presentation_and_the_refusal_says_what_to_do(
    client: Client, may_ask_everything: RelyingParty, changes: dict[str, Any]
) -> None:
    answer = fragment(client.get(PATH, asked(may_ask_everything, **changes)).headers["Location"])

    assert answer["error"] == "invalid_request"
    assert "needs several presentations" in answer["error_description"]
    assert "OpenID4VP 1.0" in answer["error_description"]


UNKNOWN: dict[str, tuple[str, dict[str, Any]]] = {
    "an age": ("age_equal_or_over.121", with_query(query(path("age_equal_or_over", "121")))),
    "no age": ("age_equal_or_over.0", with_query(query(path("age_equal_or_over", "0")))),
    "an age in other figures": ("age_equal_or_over.016", with_query(query(path("age_equal_or_over", "016")))),
    "below any age": ("age_equal_or_over.16.x", with_query(query(path("age_equal_or_over", "16", "x")))),
    "a country that is none": ("nationality_in.XX", with_query(query(path("nationality_in", "XX")))),
    "all questions about nationality": ("nationality_in", with_query(query(path("nationality_in")))),
    "a name": ("shoe_size", with_query(query(path("given_name"), path("shoe_size")))),
    "below an object": ("verification.colour", with_query(query(path("verification", "colour")))),
    "below text": ("given_name.first", with_query(query(path("given_name", "first")))),
    "an element of text": ("birth_date.0", with_query(query(path("birth_date", 0)))),
    "below an age": ("age_equal_or_over.18.x", with_query(query(path("age_equal_or_over", "18", "x")))),
    "a name in a list": ("nationalities.GB", with_query(query(path("nationalities", "GB")))),
    "below what always travels": ("iss.x", with_query(query(path("iss", "x")))),
    "a key that has no such part": ("cnf.jwk.d", with_query(query(path("cnf", "jwk", "d")))),
    "all ages of a list": ("age_equal_or_over.*", with_query(query(path("age_equal_or_over", None)))),
    "in every set of claims": (
        "shoe_size",
        with_query(
            query(
                path("given_name", id="a"),
                path("shoe_size", id="b"),
                path("hat_size", id="c"),
                claim_sets=[["a", "b"], ["c"]],
            )
        ),
    ),
    "in the only set that is ours": (
        "shoe_size",
        with_query(query(path("shoe_size")), ELSEWHERE, credential_sets=[{"options": [["x"], ["identity"]]}]),
    ),
    "only something optional": (
        "shoe_size",
        with_query(
            query(path("shoe_size")), credential_sets=[{"options": [["identity"]], "required": False}]
        ),
    ),
}


@pytest.mark.parametrize(("name", "changes"), UNKNOWN.values(), ids=UNKNOWN.keys())
def test_a_claim_that_no_credential_can_have_is_refused_at_once_and_named(
    client: Client, may_ask_everything: RelyingParty, name: str, changes: dict[str, Any]
) -> None:
    answer = fragment(client.get(PATH, asked(may_ask_everything, **changes)).headers["Location"])

    assert answer["error"] == "invalid_request"
    assert f" {name}," in answer["error_description"]
    assert not Interaction.objects.exists()


AVOIDABLE: dict[str, dict[str, Any]] = {
    "another set of claims": with_query(
        query(path("shoe_size", id="a"), path("given_name", id="b"), claim_sets=[["a"], ["b"]])
    ),
    "another credential query": with_query(
        query(path("shoe_size"), id="c"), TWO[1], credential_sets=[{"options": [["c"], ["e"]]}]
    ),
    "an element of a list": with_query(query(path("nationalities", 9))),
    "in every element of a list": with_query(query(path("verification", "evidence", None, "type"))),
    "a part of the key": with_query(query(path("cnf", "jwk", "kty"))),
    "of another type": with_query(ELSEWHERE | {"claims": [path("shoe_size")]}),
}


@pytest.mark.parametrize("changes", AVOIDABLE.values(), ids=AVOIDABLE.keys())
def test_a_claim_that_need_not_be_shared_or_is_of_another_type_is_not_refused(
    client: Client, may_ask_everything: RelyingParty, changes: dict[str, Any]
) -> None:
    assert ask(client, may_ask_everything, **changes).endswith("/sign-in/")


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
@pytest.mark.parametrize("wire_format", ["string", "openid4vp-1.0"])
def test_who_takes_credentials_of_other_formats_too_gets_the_one_that_is_here(
    holder: Client, acme_bank: RelyingParty, sets: Any, wire_format: str
) -> None:
    RelyingParty.objects.update(wire_format=wire_format)

    page = ask(holder, acme_bank, **with_query(LICENCE, query(path("given_name")), credential_sets=sets))
    token = fragment(holder.get(decide(holder, page)).headers["Location"])["vp_token"]

    if wire_format == RelyingParty.WireFormat.OPENID4VP_1_0:
        assert json.loads(token).keys() == {"identity"}
        ((token,),) = json.loads(token).values()
    assert disclosed(token) == {"given_name"}


def test_a_query_for_other_formats_only_is_refused_at_once(client: Client, acme_bank: RelyingParty) -> None:
    home = client.get(PATH, asked(acme_bank, **with_query(LICENCE))).headers["Location"]

    assert fragment(home)["error"] == "vp_formats_not_supported"


ES256, OTHERS = ["ES256"], ["ES384", "EdDSA"]
TAKES_OTHERS: dict[str, Any] = {
    "another format": {"mso_mdoc": {"issuerauth_alg_values": [-7]}},
    "the name of an earlier draft": {"vc+sd-jwt": {}},
    "other algorithms of the issuer": {"dc+sd-jwt": {"sd-jwt_alg_values": OTHERS}},
    "other algorithms of the key binding": {
        "dc+sd-jwt": {"sd-jwt_alg_values": ES256, "kb-jwt_alg_values": OTHERS}
    },
    "no algorithm": {"dc+sd-jwt": {"kb-jwt_alg_values": []}},
}
TAKES_OURS: dict[str, Any] = {
    "no format": {},  # as libraries send it that list nothing
    "any algorithm": {"dc+sd-jwt": {}},
    "ours": {"dc+sd-jwt": {"sd-jwt_alg_values": ES256, "kb-jwt_alg_values": ES256}},
    "ours among others": {"dc+sd-jwt": {"sd-jwt_alg_values": [*OTHERS, *ES256]}, "mso_mdoc": {}},
    "no list of algorithms": {"dc+sd-jwt": {"sd-jwt_alg_values": "ES384"}},
    "members that are no object": {"dc+sd-jwt": []},
    "no object": ["mso_mdoc"],
}


def with_formats(formats: Any) -> dict[str, str]:
    return {"client_metadata": json.dumps({"vp_formats_supported": formats})}


@pytest.mark.parametrize("formats", TAKES_OTHERS.values(), ids=TAKES_OTHERS)
def test_a_client_that_does_not_take_our_credentials_learns_it_at_once(
    client: Client, acme_bank: RelyingParty, formats: Any
) -> None:
    home = client.get(PATH, asked(acme_bank, **with_formats(formats))).headers["Location"]
    assert fragment(home)["error"] == "vp_formats_not_supported"


@pytest.mark.parametrize(
    "metadata",
    [*map(with_formats, TAKES_OURS.values()), *({"client_metadata": text} for text in ("{", "[]", "{}"))],
    ids=[*TAKES_OURS, "no JSON", "a list", "nothing"],
)
def test_formats_with_ours_or_that_cannot_be_read_exclude_nobody(
    client: Client, acme_bank: RelyingParty, metadata: dict[str, str]
) -> None:
    home = client.get(PATH, asked(acme_bank, **metadata)).headers["Location"]
    assert "error" not in home


ANY_FORMATS = st.recursive(
    st.none() | st.integers() | st.sampled_from(["ES256", "ES384"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["dc+sd-jwt", "sd-jwt_alg_values", "x"]), inner)
    ),
)


@given(st.text() | ANY_FORMATS.map(lambda formats: with_formats(formats)["client_metadata"]))
def test_whatever_the_metadata_is_it_is_read_or_refused(text: str) -> None:
    with suppress(VpFormatsNotSupportedError):
        check_formats(text)


UNAVAILABLE: dict[str, dict[str, Any]] = {
    "a credential of another format as well": with_query(query(path("given_name")), LICENCE),
    "another value": with_query(query(path("given_name", values=["Bob"]))),
    "an age it does not have": with_query(query(path("age_equal_or_over", "65", values=[True]))),
    "another type": with_query(query(path("given_name"), meta={"vct_values": ["https://else.example"]})),
    "another authority": with_query(query(trusted_authorities=[{"type": "aki", "values": ["a2V5"]}])),
    "only something optional": with_query(
        query(path("given_name", values=["Bob"])),
        credential_sets=[{"options": [["identity"]], "required": False}],
    ),
}


@pytest.mark.parametrize("changes", UNAVAILABLE.values(), ids=UNAVAILABLE.keys())
def test_what_a_wallet_cannot_show_is_told_to_its_holder_and_looks_like_a_no_to_everybody_else(
    holder: Client,
    may_ask_everything: RelyingParty,
    changes: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
    settings: Any,
) -> None:
    shown = holder.get(ask(holder, may_ask_everything, **changes))
    answer = fragment(holder.get(shown.context["leave"]).headers["Location"])

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
    assert "Bob" not in without_drawn(page + capsys.readouterr().err)


def test_the_right_authority_is_the_one_that_signed_the_issuers_certificate(
    holder: Client, acme_bank: RelyingParty
) -> None:
    ours = active_issuer_key(now=datetime.now(UTC)).authority_key_ids
    asked_for = query(trusted_authorities=[{"type": "aki", "values": ["a2V5", *ours]}])

    assert ask(holder, acme_bank, **with_query(asked_for)).startswith("/consent/")


def test_nothing_is_sent_to_the_relying_party_before_a_click(
    holder: Client, may_ask_everything: RelyingParty
) -> None:
    interaction_url = ask(holder, may_ask_everything, **UNAVAILABLE["another value"])

    for _ in range(2):
        assert holder.get(interaction_url).status_code == 200
    assert Interaction.objects.get().outcome == ""


def test_sign_in_comes_before_a_query_is_matched_with_any_wallet(
    client: Client, alice: Wallet, may_ask_everything: RelyingParty
) -> None:
    place = ask(client, may_ask_everything, **UNAVAILABLE["another value"])

    assert place.endswith("/sign-in/")


def test_no_identity_is_verified_for_a_query_that_no_wallet_could_answer(
    client: Client, may_ask_everything: RelyingParty, sign_in: SignIn
) -> None:
    sign_in(Wallet.objects.create(email=NORA, created_at=datetime.now(UTC)))
    could = with_query(query(path("given_name", values=["Nora"])))

    enrolling = ask(client, may_ask_everything, login_hint=NORA, **could)
    told = client.get(ask(client, may_ask_everything, login_hint=NORA, **UNAVAILABLE["another type"]))

    assert enrolling.endswith("/identity/")
    assert "Your wallet doesn’t have what was asked for" in told.content.decode()


def test_a_transaction_must_be_bound_to_a_query_that_is_answered(
    holder: Client, acme_bank: RelyingParty
) -> None:
    RelyingParty.objects.update(wire_format=RelyingParty.WireFormat.OPENID4VP_1_0)
    elsewhere = query(path("given_name"), id="elsewhere", meta={"vct_values": ["https://else.example"]})
    asked_for = with_query(
        query(path("given_name")), elsewhere, credential_sets=[{"options": [["identity"], ["elsewhere"]]}]
    )

    bound = encoded(session_data(credential_ids=["identity"]))
    unbound = encoded(session_data(credential_ids=["elsewhere"]))

    assert ask(holder, acme_bank, transaction_data=bound, **asked_for).startswith("/consent/")
    told = holder.get(ask(holder, acme_bank, transaction_data=unbound, **asked_for))
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
    holder: Client, may_ask_everything: RelyingParty
) -> None:
    interaction_url = decide(holder, ask(holder, may_ask_everything, **with_query(query(path("birth_date")))))
    RelyingParty.objects.update(allowed_claims=["given_name"])

    answer = fragment(holder.get(interaction_url).headers["Location"])

    assert answer["error"] == "unauthorized_client"


@pytest.mark.postgresql  # on SQLite the plain way has a statement for each table
def test_a_query_costs_the_authorization_endpoint_no_statement_more_than_a_scope(
    holder: Client, may_ask_everything: RelyingParty, statements: Any
) -> None:
    ask(holder, may_ask_everything)

    with statements() as by_scope:
        ask(holder, may_ask_everything, nonce="another-fresh-nonce")
    with statements() as by_query:
        ask(holder, may_ask_everything, **with_query(query(path("given_name", values=["Alice"]))))

    assert len(by_query.texts) == len(by_scope.texts) <= 5


def test_another_persons_wallet_gives_another_answer_to_the_same_query(
    client: Client, bob: Wallet, may_ask_everything: RelyingParty, sign_in: SignIn
) -> None:
    sign_in(bob)
    over_21 = path("age_equal_or_over", "21", id="age", values=[True])
    asked_for = query(over_21, path("given_name", id="name", values=["Bob"]), claim_sets=[["name", "age"]])

    shown = client.get(ask(client, may_ask_everything, login_hint=BOB, **with_query(asked_for)))

    assert values_on(shown) == ["Bob", "Yes"]


QUESTIONS = (path("age_equal_or_over", "16"), path("nationality_in", "EU"), path("nationality_in", "GB"))


def test_the_answer_to_a_question_is_shown_and_nothing_else_is_disclosed(
    holder: Client, may_ask_everything: RelyingParty
) -> None:
    may_ask_everything.allowed_claims = list(claims.WHOLE_FAMILIES)
    may_ask_everything.save()

    page = ask(holder, may_ask_everything, **with_query(query(*QUESTIONS)))
    shown = holder.get(page)
    token = fragment(holder.get(decide(holder, page)).headers["Location"])["vp_token"]

    assert values_on(shown) == ["Yes", "No", "Yes"]
    assert disclosed(token) == {"age_equal_or_over", "16", "nationality_in", "EU", "GB"}


@pytest.mark.parametrize(
    ("asked_for", "outcome"), [([True], "access_denied"), ([False], "vp_token")], ids=["yes", "no"]
)
def test_a_request_can_demand_the_answer(
    holder: Client, may_ask_everything: RelyingParty, asked_for: Any, outcome: str
) -> None:
    may_ask_everything.allowed_claims = ["nationality_in.EU"]
    may_ask_everything.save()

    page = ask(
        holder, may_ask_everything, **with_query(query(path("nationality_in", "EU", values=asked_for)))
    )
    if outcome == "vp_token":
        answer = fragment(holder.get(decide(holder, page)).headers["Location"])
        assert disclosed(answer["vp_token"]) == {"nationality_in", "EU"}
    else:
        home = holder.get(holder.get(page).context["leave"]).headers["Location"]
        assert fragment(home)["error"] == outcome


def test_who_was_registered_before_there_were_questions_cannot_ask_them(
    client: Client, may_ask_everything: RelyingParty
) -> None:
    answer = fragment(
        client.get(PATH, asked(may_ask_everything, **with_query(query(*QUESTIONS)))).headers["Location"]
    )

    assert answer["error"] == "unauthorized_client"
    assert "age_equal_or_over.16, nationality_in.EU, nationality_in.GB" in answer["error_description"]


@pytest.mark.parametrize("names", [[], ["16"], ["18"], ["16", "17", "100"], ["18", "21", "65"]])
def test_the_number_of_digests_tells_nothing_of_what_was_asked_nor_of_whom(
    alice: Wallet, bob: Wallet, names: list[str]
) -> None:
    for wallet in (alice, bob):
        paths = [("given_name",), *(("age_equal_or_over", name) for name in names)]
        now = timezone.now()
        binding = Binding(audience="x", nonce="n" * 16, transaction_data=[], today=now.date())
        (token,) = credentials.present(wallet.credential, [(paths, binding)], now=now)
        jwt, *disclosures = token.split("~")[:-1]
        values = [json.loads(urlsafe_b64decode(sent + "==")) for sent in disclosures]
        groups = [value for _salt, _name, value in values if isinstance(value, dict)]

        assert len(decode_segment(jwt.split(".")[1])["_sd"]) == claims.DIGESTS[()]
        assert [len(group["_sd"]) for group in groups] == ([6] if names else [])


NO_COUNTRY = ["XX", "de", "DEU", "D", "EU", "UK", "", "ＤＥ", 7, True]


@pytest.mark.parametrize("value", NO_COUNTRY)
@pytest.mark.parametrize(
    "asked_for",
    [
        *(("nationalities", None), ("nationalities", 0), ("nationalities",)),
        *(("address", "country"), ("place_of_birth", "country"), ("document", "issuing_country")),
    ],
)
def test_a_question_about_a_code_that_is_no_country_is_refused_and_not_answered_with_no(
    client: Client, may_ask_everything: RelyingParty, asked_for: Any, value: Any
) -> None:
    changes = with_query(
        query(
            path(*asked_for, id="a", values=["DE", value]), path("email", id="b"), claim_sets=[["a"], ["b"]]
        )
    )
    answer = fragment(client.get(PATH, asked(may_ask_everything, **changes)).headers["Location"])

    assert answer["error"] == "invalid_request"
    name = ".".join("*" if element is None else str(element) for element in asked_for)
    assert answer["error_description"] == (
        f"the values of {name} must be ISO 3166-1 alpha-2 codes of countries in capital letters"
    )


def test_a_question_about_no_country_is_refused_also_where_another_would_do(
    client: Client, may_ask_everything: RelyingParty
) -> None:
    changes = with_query(
        query(path("nationality_in", "UK", id="a"), path("email", id="b"), claim_sets=[["a"], ["b"]])
    )
    answer = fragment(client.get(PATH, asked(may_ask_everything, **changes)).headers["Location"])

    assert answer["error"] == "invalid_request"
    assert "nationality_in.UK, which names no country" in answer["error_description"]


def test_a_claim_of_another_type_may_have_other_codes(
    holder: Client, may_ask_everything: RelyingParty
) -> None:
    other = query(path("nationalities", None, values=["DEU"]), id="x", meta={"vct_values": ["urn:other"]})
    sets = [{"options": [["x"], ["identity"]]}]
    changes = with_query(other, query(path("given_name")), credential_sets=sets)
    assert values_on(holder.get(ask(holder, may_ask_everything, **changes)))
