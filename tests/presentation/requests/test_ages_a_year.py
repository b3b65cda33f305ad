"""How many questions a request may ask, and how many different ages a relying party may learn in a year."""

import json
import secrets
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from consent import decisions
from consent.models import Consent
from presentation.models import Interaction, RelyingParty, Scope
from presentation.requests import answers
from presentation.requests.interactions import path_of
from presentation.scopes.records import ScopeError, ScopeRecord, check_claims
from tests.people import ALICE, BOB
from tests.presentation.requests.asking_ages import ages, ask, share
from tests.presentation.requests.authorization_requests import BASIC, PATH, asked, fragment
from wallet.credential.credentials import credential_type
from wallet.models import Wallet

pytestmark = pytest.mark.usefixtures("signing_key")


@pytest.fixture
def bank(acme_bank: RelyingParty) -> RelyingParty:
    """Acme Bank, which may ask any age and any nationality."""
    acme_bank.allowed_claims = ["age_equal_or_over.*", "nationality_in.*", "given_name"]
    acme_bank.save()
    return acme_bank


@pytest.mark.parametrize(
    ("paths", "family"),
    [
        (ages(16, 18, 21, 30), "age_equal_or_over"),
        ([("age_equal_or_over",), *ages(30)], "age_equal_or_over"),
        ([("nationality_in", code) for code in ("DE", "FR", "EU", "EEA")], "nationality_in"),
    ],
)
def test_more_than_three_questions_of_one_family_are_refused_at_once(
    client: Client, bank: RelyingParty, paths: Any, family: str
) -> None:
    answer = fragment(ask(client, bank, *paths).headers["Location"])
    assert answer["error"] == "invalid_request"
    assert answer["error_description"] == f"a request may ask for at most 3 of {family}"
    assert not Interaction.objects.exists()


def test_three_of_each_family_are_asked(holder: Client, bank: RelyingParty) -> None:
    three = [("nationality_in", code) for code in ("DE", "FR", "EU")]
    assert ask(holder, bank, *ages(16, 18, 30), *three).status_code == 200
    assert ask(holder, bank, ("age_equal_or_over",), *ages(18)).status_code == 200


def test_scopes_count_together(client: Client, bank: RelyingParty) -> None:
    urns = []
    for number, names in enumerate(
        (["age_equal_or_over.16", "age_equal_or_over.30"], ["age_equal_or_over.40"])
    ):
        urns.append(f"urn:example:ages-{number}")
        Scope.objects.create(
            urn=urns[-1], query_id=f"ages-{number}", title="Ages", required_claims=names, stamp=number + 7
        )
    bank.allowed_scopes = [*bank.allowed_scopes, *urns]
    bank.save()
    answer = fragment(client.get(PATH, asked(bank, scope=" ".join([BASIC, *urns]))).headers["Location"])
    assert answer["error_description"] == "a request may ask for at most 3 of age_equal_or_over"
    assert "error" not in client.get(PATH, asked(bank, scope=" ".join(urns))).headers["Location"]


@pytest.mark.parametrize("family", ["age_equal_or_over", "nationality_in"])
def test_a_scope_has_at_most_three_of_one_family(family: str) -> None:
    names = [
        f"{family}.{each}"
        for each in (["16", "18", "30", "40"] if "age" in family else ["DE", "FR", "EU", "US"])
    ]
    check_claims(names[:2], names[2:3])
    with pytest.raises(ScopeError, match=f"must name at most 3 of {family}"):
        check_claims(names[:2], names[2:])
    with pytest.raises(ScopeError):
        ScopeRecord("urn:example:many", "Many", tuple(names))


def bounded(party: RelyingParty, most: int | None) -> RelyingParty:
    RelyingParty.objects.filter(pk=party.pk).update(most_ages_a_year=most)
    return party


def test_without_a_bound_any_number_of_ages_is_shared(holder: Client, bank: RelyingParty) -> None:
    for years in (16, 30, 40, 50):
        assert "vp_token" in share(holder, bank, *ages(years))


def test_beyond_the_bound_a_request_ends_as_one_that_cannot_be_met(
    holder: Client, bank: RelyingParty
) -> None:
    bounded(bank, 2)
    assert "vp_token" in share(holder, bank, *ages(16, 18))
    assert "vp_token" in share(holder, bank, *ages(30))
    assert "vp_token" in share(holder, bank, *ages(16, 18, 30))
    assert share(holder, bank, *ages(40))["error"] == "access_denied"
    assert "vp_token" in share(holder, bank, *ages(18))
    assert "vp_token" in share(holder, bank, ("given_name",))
    assert Consent.objects.filter(decision="granted").count() == 5


def test_the_bound_is_of_a_year_of_one_person_and_of_what_was_delivered(
    holder: Client, bank: RelyingParty, corner_shop: RelyingParty, bob: Wallet, sign_in: Any
) -> None:
    bounded(bank, 1)
    other = Client()
    sign_in(bob, browser=other)
    assert "vp_token" in share(holder, bank, *ages(16))
    assert "vp_token" in share(other, bank, *ages(30), hint=BOB)
    Consent.objects.update(asked_at=timezone.now() - timedelta(days=364))
    assert share(holder, bank, *ages(30))["error"] == "access_denied"
    Consent.objects.update(asked_at=timezone.now() - timedelta(days=366))
    assert "vp_token" in share(holder, bank, *ages(30))
    Consent.objects.update(undelivered_at=timezone.now())
    assert "vp_token" in share(holder, bank, *ages(40))


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_two_answers_at_once_the_bound_lets_at_most_one_through(
    alice: Wallet, bank: RelyingParty, sign_in: Any, monkeypatch: Any
) -> None:
    """Neither stores its yes before both have looked whether they may answer at once."""
    first = Client()
    sign_in(alice, browser=first)
    for _ in range(2):  # opens the status lists, without which no answer is given at once
        assert "vp_token" in share(first, bank, ("given_name",))
    bounded(bank, 1)
    looked, look = threading.Barrier(2), answers.next_step

    def look_together(*facts: Any, **more: Any) -> Any:
        found = look(*facts, **more)
        looked.wait(timeout=10)
        return found

    monkeypatch.setattr(answers, "next_step", look_together)
    browsers, places = [], []
    for years in (30, 40):
        browsers.append(Client())
        sign_in(alice, browser=browsers[-1])
        assert ask(browsers[-1], bank, *ages(years)).status_code == 200
        places.append(path_of(Interaction.objects.latest("created_at")))
    got: list[dict[str, str]] = []

    def say_yes(browser: Client, place: str) -> None:
        try:
            got.append(fragment(browser.post(place, {"decision": "share"}).headers["Location"]))
        finally:
            connection.close()

    threads = [threading.Thread(target=say_yes, args=each) for each in zip(browsers, places, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert len(got) == 2
    assert sum("vp_token" in answer for answer in got) <= 1
    assert Consent.objects.filter(undelivered_at=None).count() <= 3


# --- What an answer tells beside its claims ---------------------------------------------------------------


def first_that_fits(*options: tuple[Any, Any]) -> str:
    """A query for the first of these claims, each a path and the values that will do, that somebody has."""
    claims = [
        {"path": list(path), "id": f"c{number}"} | ({"values": values} if values else {})
        for number, (path, values) in enumerate(options)
    ]
    sets = [[claim["id"]] for claim in claims]
    vct = {"vct_values": [credential_type()]}
    asked = {"id": "q", "format": "dc+sd-jwt", "meta": vct, "claims": claims, "claim_sets": sets}
    return json.dumps({"credentials": [asked]})


def one_query_each(*options: tuple[Any, Any]) -> str:
    """The same, with a credential query for each claim."""
    vct = {"vct_values": [credential_type()]}
    queries = [
        {
            "id": f"q{number}",
            "format": "dc+sd-jwt",
            "meta": vct,
            "claims": [{"path": list(path)} | ({"values": values} if values else {})],
        }
        for number, (path, values) in enumerate(options)
    ]
    sets = [{"options": [[each["id"]] for each in queries]}]
    return json.dumps({"credentials": queries, "credential_sets": sets})


OVER_50_OR_NAME = (("age_equal_or_over", "50"), [True]), (("given_name",), None)


def share_query(client: Client, party: RelyingParty, asked_for: str) -> dict[str, str]:
    facts = {"dcql_query": asked_for, "login_hint": ALICE, "nonce": secrets.token_urlsafe(24)}
    response = client.get(PATH, asked(party, scope=None, **facts))
    interaction = path_of(Interaction.objects.latest("created_at"))
    if response.status_code == 200:
        return fragment(client.post(interaction, {"decision": "share"}).headers["Location"])
    return fragment(client.get(f"{interaction}leave/").headers["Location"])


@pytest.mark.parametrize("form", [first_that_fits, one_query_each])
def test_an_age_that_only_the_choice_of_the_answer_tells_counts(
    holder: Client, bank: RelyingParty, form: Any
) -> None:
    bounded(bank, 1)
    assert "vp_token" in share_query(holder, bank, form(*OVER_50_OR_NAME))
    assert Consent.objects.latest("asked_at").claims == [["given_name"]]
    assert share(holder, bank, *ages(30))["error"] == "access_denied"
    assert "vp_token" in share(holder, bank, *ages(50))


@pytest.mark.parametrize("form", [first_that_fits, one_query_each])
def test_beyond_the_bound_nothing_is_told_by_a_choice_either(
    holder: Client, bank: RelyingParty, form: Any
) -> None:
    bounded(bank, 1)
    assert "vp_token" in share(holder, bank, *ages(30))
    assert share_query(holder, bank, form(*OVER_50_OR_NAME))["error"] == "access_denied"
    assert Consent.objects.count() == 1  # the holder was not even asked


@pytest.mark.parametrize("form", [first_that_fits, one_query_each])
def test_several_choices_in_one_request_count_together(holder: Client, bank: RelyingParty, form: Any) -> None:
    bounded(bank, 1)
    over_40 = (("age_equal_or_over", "40"), [True])
    over_50, name = OVER_50_OR_NAME
    assert share_query(holder, bank, form(over_50, over_40, name))["error"] == "access_denied"
    assert "vp_token" in share_query(holder, bank, form(name, over_50, over_40))


def test_the_page_names_what_the_choice_of_the_answer_tells(holder: Client, bank: RelyingParty) -> None:
    bank.allowed_claims = [*bank.allowed_claims, "nationalities"]
    bank.save()
    countries = (("nationalities", None), ["DE", "FR"])
    facts = {"login_hint": ALICE, "nonce": secrets.token_urlsafe(24)}
    query_of_both = first_that_fits((("age_equal_or_over", "50"), [True]), countries, (("given_name",), None))
    page = holder.get(PATH, asked(bank, scope=None, dcql_query=query_of_both, **facts)).content.decode()

    said = "From your answer they can also conclude something about: "
    assert f"{said}Aged 50 or over · Nationality: Germany · Nationality: France</p>" in page


def test_what_an_open_code_gives_counts_until_it_has_ended_unused(holder: Client, bank: RelyingParty) -> None:
    bounded(bank, 1)
    assert "vp_token" in share(holder, bank, *ages(30))
    consent = Consent.objects.get()
    decisions.let_collect(consent.id, until=timezone.now() + timedelta(minutes=1))
    assert share(holder, bank, *ages(40))["error"] == "access_denied"
    Consent.objects.filter(id=consent.id).update(undelivered_at=timezone.now() - timedelta(seconds=1))
    assert "vp_token" in share(holder, bank, *ages(40))


def test_of_two_open_requests_the_second_yes_shares_nothing(holder: Client, bank: RelyingParty) -> None:
    bounded(bank, 1)
    places = []
    for years in (30, 40):
        assert ask(holder, bank, *ages(years)).status_code == 200
        places.append(path_of(Interaction.objects.latest("created_at")))
    first, second = (
        fragment(holder.post(place, {"decision": "share"}).headers["Location"]) for place in places
    )
    assert "vp_token" in first
    assert second["error"] == "access_denied"
    assert Consent.objects.exclude(undelivered_at=None).count() == 1
