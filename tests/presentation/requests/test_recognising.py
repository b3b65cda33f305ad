"""`pairwise_subject`, from the registration to the token: who may ask, what is shown, what is given away."""

import json
import re
from base64 import urlsafe_b64decode
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from consent import decisions
from consent.models import Consent
from presentation.models import RelyingParty, Scope
from presentation.relying_parties.changing import change
from presentation.requests import answers
from presentation.scopes import catalogue
from tests.consent.shown import claims_on, optional_on
from tests.people import register
from tests.presentation.dcql.queries import path, query, with_query
from tests.presentation.requests.authorization_requests import PATH, asked, fragment
from tests.presentation.requests.deciding import SignIn, ask
from wallet.account import pairwise
from wallet.models import Subject, Wallet

pytestmark = pytest.mark.usefixtures("signing_key")
KNOWN, SURE = "urn:example:scope:known", "urn:example:scope:sure"
NAME, SUBJECT = path("given_name", id="name"), path("pairwise_subject", id="subject")
OPTIONAL = query(NAME, SUBJECT, claim_sets=[["name", "subject"], ["name"]])
LABEL = "Number to recognise you by"
ONE = "A number that only Acme Bank gets. Acme Bank can recognise you next time; nobody else can."
BOTH = (
    "A number that only Acme Bank and Acme Loans get. Each of them can recognise you next time; nobody else "
    "can."
)


@pytest.fixture
def bank(acme_bank: RelyingParty) -> RelyingParty:
    """It may recognise people, with a scope where that is optional and one where it is required."""
    names = {"required_claims": ["given_name"], "optional_claims": ["pairwise_subject"]}
    Scope(urn=KNOWN, title="Known", **names).save()
    Scope(urn=SURE, title="Sure", required_claims=["pairwise_subject"]).save()
    return allowed(acme_bank)


def allowed(party: RelyingParty, **fields: Any) -> RelyingParty:
    changes = {"may_recognise": True, "allowed_scopes": [KNOWN, SURE]} | fields
    for name, value in changes.items():
        setattr(party, name, value)
    party.full_clean()
    party.save()
    return party


def asking(client: Client, party: RelyingParty, nonce: str, **changes: Any) -> str:
    """The address of the page about a request with a nonce of its own, for the scope that needs it."""
    return ask(client, party, nonce=f"fresh-nonce-{nonce}", **({"scope": SURE} | changes))


def error(client: Client, party: RelyingParty, **changes: Any) -> tuple[str, str]:
    """What the relying party is told of a request that is refused at once."""
    told = fragment(client.get(PATH, asked(party, **changes)).headers["Location"])
    return told["error"], told["error_description"]


def share(client: Client, page: str, *switched_on: str) -> dict[str, Any]:
    """The claims that the token discloses after the holder's yes."""
    token = token_of(client, page, *switched_on)
    read = [json.loads(urlsafe_b64decode(sent + "==")) for sent in token.split("~")[1:-1]]
    return {name: value for _salt, name, value in read}


def token_of(client: Client, page: str, *switched_on: str) -> str:
    posted = {"decision": "share", "optional": switched_on}
    return fragment(client.post(consent_at(page).return_to, posted).headers["Location"])["vp_token"]


def consent_at(page: str) -> Consent:
    return Consent.objects.get(id=page.split("/consent/")[1].split("/")[0])


# --- Recognising ------------------------------------------------------------------------------------------


def test_the_same_person_has_the_same_number_next_time_and_another_person_another(
    holder: Client, alice: Wallet, bob: Wallet, bank: RelyingParty, sign_in: SignIn
) -> None:
    first, second = (share(holder, asking(holder, bank, turn)) for turn in ("one-one", "two-two"))
    sign_in(bob)
    other = share(holder, asking(holder, bank, "three", login_hint=bob.email))

    assert first == second == {"pairwise_subject": pairwise.existing_number(alice, bank.client_id)}
    assert re.fullmatch(r"[\w-]{43}", first["pairwise_subject"])
    assert other["pairwise_subject"] not in ("", first["pairwise_subject"])


def test_another_relying_party_gets_another_number_unless_an_operator_has_joined_them(
    holder: Client, bank: RelyingParty, corner_shop: RelyingParty
) -> None:
    loans = register("Acme Loans", "https://loans.example/callback")
    allowed(loans, sector=bank.client_id)

    numbers = [
        share(holder, asking(holder, party, host, redirect_uri=f"https://{host}.example/callback"))
        for party, host in ((bank, "bank"), (allowed(corner_shop), "shop"), (loans, "loans"))
    ]

    assert numbers[0] == numbers[2] != numbers[1]


def test_the_number_is_not_made_before_the_holder_agrees_to_it(holder: Client, bank: RelyingParty) -> None:
    page = asking(holder, bank, "declined")
    holder.get(page)
    holder.post(consent_at(page).return_to, {"decision": "decline"})
    assert share(holder, asking(holder, bank, "left-off", scope=KNOWN)) == {"given_name": "Alice"}
    assert not Subject.objects.exists()

    found = share(holder, asking(holder, bank, "ticked", scope=KNOWN), "pairwise_subject")

    assert found.keys() == {"given_name", "pairwise_subject"}
    assert Subject.objects.count() == 1


@pytest.mark.parametrize("carefully", [True, False])
def test_both_ways_to_answer_give_the_same_number(
    holder: Client, alice: Wallet, bank: RelyingParty, monkeypatch: Any, carefully: bool
) -> None:
    if carefully:
        monkeypatch.setattr(answers, "answer_at_once", lambda *_, **__: None)

    found = [share(holder, asking(holder, bank, turn)) for turn in ("one-one", "two-two")]

    assert found[0] == found[1] == {"pairwise_subject": pairwise.existing_number(alice, bank.client_id)}


def test_of_several_presentations_only_the_one_that_was_asked_has_it(
    holder: Client, bank: RelyingParty
) -> None:
    allowed(bank, wire_format="openid4vp-1.0", allowed_claims=["given_name"])
    page = ask(holder, bank, **with_query(query(NAME, id="a"), query(SUBJECT, id="b")))

    answered = json.loads(token_of(holder, page))

    names = {id: _names(*tokens) for id, tokens in answered.items()}
    assert names == {"a": ["given_name"], "b": ["pairwise_subject"]}


def _names(token: str) -> list[str]:
    return [json.loads(urlsafe_b64decode(sent + "=="))[1] for sent in token.split("~")[1:-1]]


def test_a_query_can_demand_the_person_of_last_time(
    holder: Client, alice: Wallet, bob: Wallet, bank: RelyingParty, sign_in: SignIn
) -> None:
    number = share(holder, asking(holder, bank, "one-one"))["pairwise_subject"]

    def demanded(nonce: str, wallet: Wallet, value: str) -> str:
        asked_for = with_query(query(path("pairwise_subject", values=[value])))
        return asking(holder, bank, nonce, login_hint=wallet.email, **asked_for)

    assert share(holder, demanded("two-two", alice, number)) == {"pairwise_subject": number}
    assert "/consent/" not in demanded("three", alice, "x" * 43)
    sign_in(bob)
    assert "/consent/" not in demanded("four-four", bob, number)
    assert "/consent/" not in demanded("five-five", bob, "")
    assert Subject.objects.count() == 1


def test_tokens_with_and_without_it_have_the_same_shape(
    holder: Client, alice: Wallet, bank: RelyingParty
) -> None:
    without, first, second = (
        token_of(holder, asking(holder, bank, f"turn-{turn}", scope=KNOWN), *switched_on)
        for turn, switched_on in enumerate(([], ["pairwise_subject"], ["pairwise_subject"]))
    )

    payloads = [json.loads(urlsafe_b64decode(each.split(".")[1] + "==")) for each in (without, first, second)]
    digests = [payload.pop("_sd") for payload in payloads]
    assert len({len(each) for each in digests}) == 1
    assert payloads[0].keys() == payloads[1].keys()
    assert not set(digests[1]) & set(digests[2])
    number = pairwise.existing_number(alice, bank.client_id)
    assert number not in without
    assert all(number not in json.dumps(payload) for payload in payloads)
    disclosures = [each for each in first.split("~")[1:-1] if each in second]
    assert disclosures == []  # salted anew, so the disclosures of the same number differ


# --- Who may ask ------------------------------------------------------------------------------------------


def test_nobody_may_ask_for_it_whom_no_operator_has_allowed_to(holder: Client, bank: RelyingParty) -> None:
    asks = {
        "required": {"scope": SURE},
        "named": with_query(query(SUBJECT)),
        "optional": with_query(OPTIONAL),
    }
    for allowed_claims in ([], ["given_name", "pairwise_subject"]):
        allowed(bank, may_recognise=False, allowed_claims=allowed_claims)
        for changes in asks.values():
            code, description = error(holder, bank, **changes)
            assert code == "unauthorized_client"
            assert "pairwise_subject" in description


def test_a_scope_in_which_it_is_optional_works_without_it_for_who_may_not_ask(
    holder: Client, bank: RelyingParty
) -> None:
    allowed(bank, may_recognise=False)

    page = asking(holder, bank, "one-one", scope=KNOWN)

    assert [claim.label for claim in claims_on(holder.get(page))] == ["Given name"]
    assert share(holder, page) == {"given_name": "Alice"}
    assert consent_at(page).requester.keys().isdisjoint({"sector", "recognised_by"})


@pytest.mark.parametrize("allowed_claims", [[], ["given_name"]])
def test_who_may_recognise_may_name_it_in_a_query(
    holder: Client, bank: RelyingParty, allowed_claims: list[str]
) -> None:
    allowed(bank, allowed_claims=allowed_claims)

    page = holder.get(asking(holder, bank, "one-one", **with_query(OPTIONAL)))

    assert optional_on(page) == ["pairwise_subject"]
    may = bank.claims_it_may_ask(catalogue.current())
    assert may == {("given_name",), ("pairwise_subject",)}
    assert allowed(bank, may_recognise=False).claims_it_may_ask(catalogue.current()) == {("given_name",)}


def test_those_who_were_registered_may_not_and_neither_may_who_is_registered_unless_it_is_said(
    acme_bank: RelyingParty,
) -> None:
    assert not acme_bank.may_recognise
    assert acme_bank.recognises_in == acme_bank.client_id


# --- The sector -------------------------------------------------------------------------------------------


def test_the_sector_stays_once_somebody_is_recognised_by_it(
    holder: Client, alice: Wallet, bank: RelyingParty
) -> None:
    allowed(bank, sector="acme")
    allowed(bank, sector="acme-group")
    number = share(holder, asking(holder, bank, "one-one"))["pairwise_subject"]

    with pytest.raises(ValidationError) as refused:
        allowed(bank, sector="")
    assert refused.value.message_dict.keys() == {"sector"}
    with pytest.raises(ValidationError):
        change(bank.client_id, {"sector": "another"}, command="test", now=alice.created_at)

    bank.refresh_from_db()
    allowed(bank, purpose="To greet you")
    assert share(holder, asking(holder, bank, "two-two"))["pairwise_subject"] == number


def test_naming_its_own_client_id_as_the_sector_changes_nothing(holder: Client, bank: RelyingParty) -> None:
    number = share(holder, asking(holder, bank, "one-one"))["pairwise_subject"]

    allowed(bank, sector=bank.client_id)

    assert share(holder, asking(holder, bank, "two-two"))["pairwise_subject"] == number


def test_a_sector_that_changes_while_the_page_is_open_gives_the_number_that_the_page_was_about(
    holder: Client, alice: Wallet, bank: RelyingParty
) -> None:
    page = asking(holder, bank, "one-one")
    allowed(bank, sector="acme-group")

    assert share(holder, page)["pairwise_subject"] == pairwise.existing_number(alice, bank.client_id)
    assert not pairwise.existing_number(alice, "acme-group")


# --- What the holder sees ---------------------------------------------------------------------------------


def test_the_page_names_all_who_can_recognise_the_holder_and_shows_no_number(
    holder: Client, bank: RelyingParty
) -> None:
    first = asking(holder, bank, "one-one", scope=KNOWN)
    assert [(claim.label, claim.value) for claim in claims_on(holder.get(first))][1] == (LABEL, ONE)
    number = share(holder, first, "pairwise_subject")["pairwise_subject"]
    register("Acme Loans", "https://loans.example/callback", sector=bank.client_id)

    second = holder.get(asking(holder, bank, "two-two", scope=KNOWN))

    assert [(claim.label, claim.value) for claim in claims_on(second)][1] == (LABEL, BOTH)
    assert number not in second.content.decode()


def test_a_name_with_markup_is_text_on_the_page(holder: Client, bank: RelyingParty) -> None:
    allowed(bank, name="<b>Acme</b> & %(names)s")

    page = asking(holder, bank, "one-one")
    shown = holder.get(page).content.decode()
    share(holder, page)
    receipt = holder.get(reverse("consent_receipt", args=[consent_at(page).id])).content.decode()

    for text in (shown, receipt):
        assert "only &lt;b&gt;Acme&lt;/b&gt; &amp; %(names)s gets" in text


def test_the_receipt_says_who_can_recognise_the_holder(holder: Client, bank: RelyingParty) -> None:
    pages = {
        "ticked": asking(holder, bank, "ticked", scope=KNOWN),
        "left off": asking(holder, bank, "left-off", scope=KNOWN),
    }
    share(holder, pages["ticked"], "pairwise_subject")
    share(holder, pages["left off"])
    pages["undelivered"] = asking(holder, bank, "undelivered", scope=KNOWN)
    share(holder, pages["undelivered"], "pairwise_subject")
    decisions.note_undelivered(consent_at(pages["undelivered"]).id, now=timezone.now())
    declined = asking(holder, bank, "declined")
    holder.post(consent_at(declined).return_to, {"decision": "decline"})

    shown = {
        name: holder.get(reverse("consent_receipt", args=[consent_at(page).id])).content.decode()
        for name, page in (pages | {"declined": declined}).items()
    }

    assert ONE in shown["ticked"]
    assert "Forget my number" in shown["ticked"]
    for name in ("left off", "undelivered", "declined"):
        assert "recognise you next time" not in shown[name]
        assert "Forget my number" not in shown[name]


# --- Forgetting -------------------------------------------------------------------------------------------


def test_the_holder_has_the_number_forgotten_and_is_somebody_new(
    holder: Client, alice: Wallet, bank: RelyingParty
) -> None:
    page = asking(holder, bank, "one-one")
    before = share(holder, page)["pairwise_subject"]
    address = reverse("consent_new_number", args=[consent_at(page).id])

    asked_first = holder.get(address)
    assert pairwise.existing_number(alice, bank.client_id) == before
    assert "Should <bdi>Acme Bank</bdi> no longer recognise you?" in asked_first.content.decode()
    assert ONE in asked_first.content.decode()
    done = holder.post(address)

    receipt = reverse("consent_receipt", args=[consent_at(page).id])
    assert (done.status_code, done.headers["Location"]) == (303, receipt)
    said = holder.get(receipt).content.decode()
    assert "You have had it forgotten." in said
    assert ONE not in said
    assert holder.get(address).headers["Location"] == receipt  # there is nothing to forget
    assert share(holder, asking(holder, bank, "two-two"))["pairwise_subject"] != before


def test_nobody_has_the_number_of_another_forgotten(
    holder: Client, alice: Wallet, bob: Wallet, bank: RelyingParty, sign_in: SignIn
) -> None:
    page = asking(holder, bank, "one-one")
    before = share(holder, page)["pairwise_subject"]
    address = reverse("consent_new_number", args=[consent_at(page).id])

    assert Client().post(address).status_code in (302, 303)
    sign_in(bob)
    assert holder.post(address).status_code == 404
    assert holder.get(address).status_code == 404

    assert pairwise.existing_number(alice, bank.client_id) == before
    assert Client(enforce_csrf_checks=True).post(address).status_code == 403


def test_a_receipt_without_a_number_forgets_nothing(
    holder: Client, alice: Wallet, bank: RelyingParty
) -> None:
    share(holder, asking(holder, bank, "one-one"))
    other = asking(holder, bank, "two-two", scope=KNOWN)
    Consent.objects.filter(id=consent_at(other).id).update()
    allowed(bank, may_recognise=False)
    without = asking(holder, bank, "three", scope=KNOWN)
    share(holder, without)

    for page in (without, other):  # the second is not answered
        holder.post(reverse("consent_new_number", args=[consent_at(page).id]))

    assert pairwise.is_used(bank.client_id, wallet=alice)


# --- What it costs ----------------------------------------------------------------------------------------


def test_a_request_without_it_reads_and_writes_nothing_of_it(
    holder: Client, bank: RelyingParty, statements: Any
) -> None:
    with statements() as made:
        share(holder, asking(holder, bank, "left-off", scope=KNOWN))
        holder.get(reverse("consent_receipt", args=[Consent.objects.get().id]))
    assert not [text for text in made.texts if "wallet_subject" in text]

    with statements() as made:
        share(holder, asking(holder, bank, "ticked", scope=KNOWN), "pairwise_subject")
    assert [text for text in made.texts if "wallet_subject" in text]
