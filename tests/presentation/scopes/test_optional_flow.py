"""Requests with optional claims, from the page to the token: only what was switched on is shared."""

import json
import threading
from base64 import urlsafe_b64decode
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from consent import decisions
from consent.models import Consent
from presentation.models import RelyingParty, Scope
from presentation.scopes import catalogue
from tests.consent.questions import last_shared
from tests.consent.shown import claims_on, optional_on, withheld_on
from tests.presentation.dcql.queries import path, query, with_query
from tests.presentation.requests.authorization_requests import IDENTITY, fragment
from tests.presentation.requests.deciding import SignIn, ask, url_of_interaction
from wallet.credential.claims import CLAIMS, NAMES
from wallet.models import Wallet

pytestmark = pytest.mark.usefixtures("signing_key")
CONTACT = "urn:service:params:scope:verifiable-credentials:contact"
PERSON = "urn:example:scope:person"


@pytest.fixture
def bank(acme_bank: RelyingParty) -> RelyingParty:
    """It may request a scope with one required and two optional claims, and those that every service has."""
    scope = Scope(
        urn=PERSON,
        title="Person",
        required_claims=["given_name"],
        optional_claims=["birth_date", "nationalities"],
    )
    scope.save()
    acme_bank.allowed_scopes = list(catalogue.current())
    acme_bank.save()
    return acme_bank


def consent_at(page: str) -> Consent:
    return Consent.objects.get(id=page.split("/consent/")[1].split("/")[0])


def send(client: Client, page: str, *switched_on: str, decision: str = "share") -> Any:
    return client.post(consent_at(page).return_to, {"decision": decision, "optional": switched_on})


def disclosed(response: Any) -> set[str]:
    """The names in the disclosures of the token; the claims and the disclosures must be the same."""
    token = fragment(response.headers["Location"])["vp_token"]
    read = [json.loads(urlsafe_b64decode(sent + "==")) for sent in token.split("~")[1:-1]]
    return {name for _salt, name, _value in read}


def number_of_digests(response: Any) -> int:
    token = fragment(response.headers["Location"])["vp_token"]
    payload = json.loads(urlsafe_b64decode(token.split(".")[1] + "=="))
    return len(payload["_sd"])


@pytest.mark.parametrize(
    "switched_on", [[], ["birth_date"], ["nationalities"], ["nationalities", "birth_date"]]
)
def test_the_token_and_the_receipt_have_only_what_was_switched_on(
    holder: Client, alice: Wallet, bank: RelyingParty, switched_on: list[str]
) -> None:
    page = ask(holder, bank, scope=PERSON)
    shown = holder.get(page).content.decode()

    answer = send(holder, page, *switched_on)

    assert shown.count('type="checkbox"') == 2
    assert "checked" not in shown
    assert disclosed(answer) == {"given_name", *switched_on}
    record = consent_at(page)
    assert record.claims == [["given_name"], ["birth_date"], ["nationalities"]]
    assert record.optional_claims == [["birth_date"], ["nationalities"]]
    assert {name for (name,) in record.switched_on} == set(switched_on)
    last = last_shared(alice, bank.client_id)
    assert last
    assert last.claims == {("given_name",), *((name,) for name in switched_on)}


def test_every_presentation_has_the_same_number_of_digests(holder: Client, bank: RelyingParty) -> None:
    answers = [
        send(holder, ask(holder, bank, nonce=f"fresh-nonce-for-{scope[-5:]}", scope=scope))
        for scope in (PERSON, CONTACT, IDENTITY)
    ]

    assert len({number_of_digests(answer) for answer in answers}) == 1


@pytest.mark.parametrize(
    "names",
    [
        ["family_name"],  # nobody asked
        ["given_name"],  # required
        ["birth_date", "birth_date"],
        ["shoe_size"],
        [""],
        ["birth_date", "nationalities", "email"],
        ["birth_date"] * 900,
    ],
)
def test_a_claim_that_was_not_offered_as_optional_is_refused_and_nothing_is_decided(
    holder: Client, bank: RelyingParty, names: list[str]
) -> None:
    page = ask(holder, bank, scope=PERSON)

    assert send(holder, page, *names).status_code == 400
    assert consent_at(page).decision == "asked"
    assert disclosed(send(holder, page)) == {"given_name"}


def test_ten_thousand_claims_are_refused(holder: Client, bank: RelyingParty) -> None:
    page = ask(holder, bank, scope=PERSON)

    assert send(holder, page, *[f"claim{number}" for number in range(10_000)]).status_code == 400
    assert consent_at(page).decision == "asked"


def test_a_request_without_optional_claims_takes_none(holder: Client, bank: RelyingParty) -> None:
    page = ask(holder, bank)

    assert 'type="checkbox"' not in holder.get(page).content.decode()
    assert send(holder, page, "birth_date").status_code == 400


def test_declining_shares_nothing_whatever_is_ticked(holder: Client, bank: RelyingParty) -> None:
    page = ask(holder, bank, scope=PERSON)

    answer = send(holder, page, "birth_date", decision="decline")

    assert fragment(answer.headers["Location"])["error"] == "access_denied"
    assert consent_at(page).switched_on == []


def test_the_receipt_says_what_was_left_off(holder: Client, bank: RelyingParty) -> None:
    send(holder, ask(holder, bank, scope=PERSON), "birth_date")

    receipts = holder.get(reverse("consent_history")).content.decode()

    assert "Given name · Date of birth" in receipts
    assert "Optional, and you left it off" in receipts
    assert receipts.index("Optional, and you left it off") < receipts.index("Nationality")


def test_what_was_left_off_the_last_time_is_new_the_next_time(holder: Client, bank: RelyingParty) -> None:
    send(holder, ask(holder, bank, scope=PERSON, nonce="first-nonce-of-acme"), "birth_date")

    shown = holder.get(ask(holder, bank, scope=PERSON, nonce="second-nonce-of-acme"))

    assert [claim.label for claim in claims_on(shown) if claim.new] == ["Nationality"]


def test_the_page_says_nothing_untrue_of_what_is_optional(holder: Client, bank: RelyingParty) -> None:
    shown = holder.get(ask(holder, bank, scope=PERSON))

    assert "Date of birth" not in withheld_on(shown)
    assert "Family name" in withheld_on(shown)


def test_the_address_is_that_of_the_wallet(holder: Client, bank: RelyingParty) -> None:
    page = ask(holder, bank, scope=CONTACT)
    shown = holder.get(page)

    answer = send(holder, page)

    assert [(claim.label, claim.value) for claim in claims_on(shown)] == [
        ("E-mail address", "alice@example.org")
    ]
    token = fragment(answer.headers["Location"])["vp_token"]
    values = [json.loads(urlsafe_b64decode(sent + "=="))[1:] for sent in token.split("~")[1:-1]]
    assert values == [["email", "alice@example.org"]]


def test_in_a_query_the_claims_of_the_preferred_set_that_may_be_missing_are_optional(
    holder: Client, bank: RelyingParty
) -> None:
    asked_for = query(path("given_name", id="a"), path("family_name", id="b"), claim_sets=[["a", "b"], ["a"]])
    page = ask(holder, bank, **with_query(asked_for))

    shown = holder.get(page)
    answer = send(holder, page)

    assert optional_on(shown) == ["family_name"]
    assert "Several answers are accepted" not in shown.content.decode()
    assert disclosed(answer) == {"given_name"}


def test_the_page_says_that_the_answer_tells_which_alternatives_were_possible(
    holder: Client, bank: RelyingParty
) -> None:
    asked_for = query(
        path("given_name", id="a", values=["Bob"]), path("family_name", id="b"), claim_sets=[["a"], ["b"]]
    )

    shown = holder.get(ask(holder, bank, **with_query(asked_for))).content.decode()

    assert "Several answers are accepted. Yours shows which of them you could give." in shown


def test_alternatives_that_everybody_answers_alike_tell_nothing(holder: Client, bank: RelyingParty) -> None:
    asked_for = query(path("given_name", id="a"), path("family_name", id="b"), claim_sets=[["a"], ["b"]])

    shown = holder.get(ask(holder, bank, **with_query(asked_for))).content.decode()

    assert "Several answers are accepted" not in shown


CHANGES: dict[str, dict[str, list[str]]] = {
    "more is required": {"required_claims": ["given_name", "family_name"]},
    "what was optional is required": {
        "required_claims": ["given_name", "birth_date"],
        "optional_claims": ["nationalities"],
    },
    "less is asked": {"optional_claims": []},
}


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES.keys())
def test_a_request_is_answered_by_what_its_scope_meant_when_it_began(
    holder: Client, bank: RelyingParty, changes: dict[str, list[str]]
) -> None:
    page = ask(holder, bank, scope=PERSON)
    scope = Scope.objects.get(urn=PERSON)
    for field, names in changes.items():
        setattr(scope, field, names)
    scope.save()

    answer = send(holder, page, "birth_date")
    afterwards = holder.get(ask(holder, bank, scope=PERSON, nonce="another-fresh-nonce"))

    assert disclosed(answer) == {"given_name", "birth_date"}
    assert {claim.label for claim in claims_on(afterwards)} == {
        CLAIMS[NAMES[name]].label for name in (*scope.required_claims, *scope.optional_claims)
    }
    assert set(optional_on(afterwards)) == set(scope.optional_claims)


def test_a_request_begun_before_sign_in_keeps_its_meaning_too(
    client: Client, alice: Wallet, bank: RelyingParty, sign_in: SignIn
) -> None:
    ask(client, bank, scope=PERSON)
    Scope.objects.get(urn=PERSON).delete()
    sign_in(alice)
    page = client.get(url_of_interaction()).headers["Location"]

    assert disclosed(send(client, page, "nationalities")) == {"given_name", "nationalities"}


def test_a_scope_that_is_taken_from_a_relying_party_is_refused_at_once(
    holder: Client, bank: RelyingParty
) -> None:
    page = ask(holder, bank, scope=PERSON)
    bank.allowed_scopes = [CONTACT]
    bank.save()

    assert fragment(send(holder, page).headers["Location"])["error"] == "invalid_scope"


def test_an_answer_whose_process_died_is_the_one_that_was_stored(
    holder: Client, alice: Wallet, bank: RelyingParty
) -> None:
    page = ask(holder, bank, scope=PERSON)
    decisions.grant(consent_at(page).id, alice, switched_on=[("nationalities",)], now=timezone.now())

    answer = send(holder, page, "birth_date")  # a second click, with other boxes ticked

    assert disclosed(answer) == {"given_name", "nationalities"}


@pytest.mark.postgresql  # on SQLite the plain way has a statement for each table
def test_optional_claims_and_changed_scopes_cost_no_further_statement(
    holder: Client, bank: RelyingParty, statements: Any
) -> None:
    send(holder, ask(holder, bank, nonce="warms-up-what-is-cached"))  # reads the scopes, which were changed

    with statements() as authorizing:
        page = ask(holder, bank, scope=PERSON)
    with statements() as asking:
        holder.get(page)
    action = consent_at(page).return_to
    with statements() as answering:
        holder.post(action, {"decision": "share", "optional": ["birth_date"]})

    assert len(authorizing.texts) == 2, authorizing.texts
    assert len(asking.texts) == 3, asking.texts  # question, session, last sharing
    assert len(answering.texts) == 2, answering.texts


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_racing_answers_with_different_boxes_share_what_the_record_says(
    holder: Client, bank: RelyingParty
) -> None:
    page = ask(holder, bank, scope=PERSON)
    action, boxes = consent_at(page).return_to, [["birth_date"], ["nationalities"], [], ["birth_date"]] * 2
    barrier, answers = threading.Barrier(len(boxes)), []

    def race(ticked: list[str]) -> None:
        racer = Client()
        racer.cookies = holder.cookies.copy()
        barrier.wait()
        answers.append(racer.post(action, {"decision": "share", "optional": ticked}))
        connection.close()

    threads = [threading.Thread(target=race, args=[ticked]) for ticked in boxes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    (home,) = [answer for answer in answers if answer.status_code == 303]
    shared = {path[0] for path in consent_at(page).switched_on}
    assert disclosed(home) == {"given_name", *shared}


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_an_operator_who_edits_a_scope_all_the_time_changes_no_request_under_way(
    holder: Client, bank: RelyingParty
) -> None:
    stop = threading.Event()

    def edit() -> None:
        scope = Scope.objects.get(urn=PERSON)
        while not stop.is_set():
            for optional in ([], ["birth_date"], ["birth_date", "nationalities"]):
                scope.optional_claims = optional
                scope.save()
        connection.close()

    operator = threading.Thread(target=edit)
    operator.start()
    try:
        for number in range(15):
            page = ask(holder, bank, scope=PERSON, nonce=f"fresh-nonce-number-{number}")
            offered = optional_on(holder.get(page))
            assert disclosed(send(holder, page, *offered)) == {"given_name", *offered}
    finally:
        stop.set()
        operator.join()
