"""What each requester knows, on a page of its own, and what a holder does about it."""

import html
import re
import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from consent import decisions, personal_data, requesters
from consent.models import Consent, Report
from infra.limits import LimitReachedError
from infra.personal_data import Person
from infra.sealing import unseal_column
from presentation.models import Interaction, RelyingParty
from presentation.requests.interactions import path_of
from tests.consent.questions import ACME, BASIC, put
from tests.presentation.requests.deciding import ask
from wallet.account import pairwise
from wallet.models import Wallet

LIST = "/wallet/requesters/"
PAGE = f"{LIST}acme/"
ACTIONS = ("deletion", "report")


def share(wallet: Wallet, *claims: Any, days_ago: int = 0, **changes: Any) -> Consent:
    at = timezone.now() - timedelta(days=days_ago)
    consent = put(wallet, claims=claims or BASIC, now=at, **changes)
    decisions.grant(consent.id, wallet, switched_on=changes.get("optional", ()), now=at)
    consent.refresh_from_db()
    return consent


def person(wallet: Wallet) -> Person:
    return Person(wallet.id, wallet.email, timezone.now())


def text(response: Any) -> str:
    body = re.sub(r"(?s).*<main[^>]*>(.*)</main>.*", r"\1", response.content.decode())
    return " ".join(html.unescape(re.sub("<[^>]+>", " ", body)).split())


@pytest.fixture
def holder(client: Client, alice: Wallet, sign_in: Any) -> Client:
    sign_in(alice)
    return client


def test_what_answers_told_without_sharing_it_is_named_wherever_the_answer_is(
    holder: Client, alice: Wallet
) -> None:
    told = [("age_equal_or_over", "50"), ("nationality_in", "DE")]
    labels = "Aged 50 or over · Nationality: Germany"
    consent = share(alice, ("given_name",), told=told)

    assert f"From your answers they can also conclude something about: {labels}" in text(holder.get(PAGE))
    receipt = text(holder.get(f"/wallet/history/{consent.id}/"))
    assert f"They can also conclude something about {labels}" in receipt
    [entry] = personal_data.receipt_entries(person(alice), now=timezone.now())
    assert [each["name"] for each in entry["told"]] == ["age_equal_or_over.50", "nationality_in.DE"]

    share(alice, ("age_equal_or_over", "50"))  # now it is shared too
    assert "conclude something about: Nationality: Germany" in text(holder.get(PAGE))


def test_what_only_the_choice_of_an_answer_told_is_all_that_they_learned(
    holder: Client, alice: Wallet
) -> None:
    share(alice, ("email",), optional=[("email",)], told=[("age_equal_or_over", "50")])
    Consent.objects.update(switched_on=[])
    said = text(holder.get(PAGE))
    assert "From your answers they can conclude something about: Aged 50 or over" in said
    assert "nothing of what it says" not in said


@pytest.mark.parametrize("ended", ["declined", "undelivered"])
def test_of_what_was_not_shared_nothing_is_told(holder: Client, alice: Wallet, ended: str) -> None:
    if ended == "declined":
        consent = put(alice, told=[("age_equal_or_over", "50")])
        decisions.decline(consent.id, alice, now=timezone.now())
    else:
        consent = share(alice, told=[("age_equal_or_over", "50")])
        decisions.note_undelivered(consent.id, now=timezone.now())
    assert "conclude" not in text(holder.get(PAGE))
    assert "conclude" not in text(holder.get(f"/wallet/history/{consent.id}/"))
    [entry] = personal_data.receipt_entries(person(alice), now=timezone.now())
    assert entry["told"] == []


def test_the_list_has_everybody_who_ever_asked_the_newest_first(
    holder: Client, alice: Wallet, bob: Wallet
) -> None:
    assert "No application has asked you yet." in text(holder.get(LIST))
    shop = {"requester_id": "shop", "requester": ACME.__class__(name="Corner Shop", domain="shop.example")}
    share(alice, days_ago=9)
    decisions.decline(put(alice, **shop).id, alice, now=timezone.now())
    share(alice, days_ago=3)
    share(bob, requester_id="bob's", requester=ACME.__class__(name="Bob’s", domain="bobs.example"))
    page = holder.get(LIST).content.decode()
    assert re.findall(r'href="/wallet/requesters/(\w+)/"', page) == ["shop", "acme"]
    assert f'href="{LIST}"' in holder.get("/wallet/history/").content.decode()


def test_the_page_has_every_claim_they_ever_received_with_its_last_time(
    holder: Client, alice: Wallet
) -> None:
    old = share(alice, ("birth_date",), ("email",), optional=[("email",)], days_ago=40)
    new = share(alice, days_ago=2)
    left_off = put(alice, claims=[("nationalities",)], optional=[("nationalities",)])
    decisions.grant(left_off.id, alice, now=timezone.now())
    decisions.decline(put(alice, claims=[("nationalities",)]).id, alice, now=timezone.now())
    page = holder.get(PAGE)
    said = text(page)
    for label, consent in (
        ("Date of birth", old),
        ("E-mail address", old),
        ("Given name", new),
        ("Aged 18 or over", new),
    ):
        assert re.search(
            rf"{label} Last on [^.]*\. It was valid for a day at most\. Receipt for {label}", said
        ), said
        assert f"/wallet/history/{consent.id}/" in page.content.decode()
    assert "Nationality" not in said
    for value in ("Alice", "Archer", "1990"):
        assert value not in said


def test_it_says_what_is_still_valid_and_what_was_taken_back(
    holder: Client, alice: Wallet, acme_bank: RelyingParty, signing_key: Any
) -> None:
    ask(holder, acme_bank)
    holder.post(path_of(Interaction.objects.get()), {"decision": "share"})
    page = reverse("consent_requester", args=[acme_bank.client_id])
    assert "Given name Last on" in text(holder.get(page))
    assert "Still valid." in text(holder.get(page))
    consent = Consent.objects.get(wallet=alice)
    holder.post(reverse("consent_invalidate", args=[consent.id]))
    assert "Still valid." not in text(holder.get(page))
    assert "No longer valid." in text(holder.get(page))


def test_an_open_request_says_what_would_be_new(holder: Client, alice: Wallet) -> None:
    share(alice, days_ago=2)
    asked = put(alice, claims=[("given_name",), ("birth_date",)])
    page = holder.get(PAGE)
    assert "New: Date of birth They already have: Given name" in text(page)
    assert f"/consent/{asked.id}/" in page.content.decode()
    decisions.withdraw(asked.id, now=timezone.now())
    assert "New:" not in text(holder.get(PAGE))


def test_it_says_what_all_answers_say_together(holder: Client, alice: Wallet) -> None:
    share(alice, ("age_equal_or_over", "65"), days_ago=50)
    assert "Together" not in text(holder.get(PAGE))
    share(alice, ("age_equal_or_over", "18"), days_ago=20)
    assert "Together, these answers say that you are between 18 and" in text(holder.get(PAGE))
    alice.credential.sealed_identity = b""
    alice.credential.save()
    assert "Together" not in text(holder.get(PAGE))


def test_the_number_to_recognise_the_holder_by_is_shown_and_can_be_forgotten(
    holder: Client, alice: Wallet
) -> None:
    share(alice)
    assert "Number to recognise you by" not in text(holder.get(PAGE))
    requester = replace(ACME, sector="acme", recognised_by="Acme Bank")
    consent = share(alice, ("pairwise_subject",), requester=requester)
    pairwise.of(alice, "acme", now=timezone.now())
    page = holder.get(PAGE)
    assert "A number that only Acme Bank gets." in text(page)
    forget = f"/wallet/history/{consent.id}/number/"
    assert forget in page.content.decode()
    holder.post(forget)
    assert "You have had it forgotten." in text(holder.get(PAGE))


def test_a_requester_that_received_nothing_can_be_reported_but_not_asked_to_delete(
    holder: Client, alice: Wallet
) -> None:
    decisions.decline(put(alice).id, alice, now=timezone.now())
    page = holder.get(PAGE).content.decode()
    assert "They received nothing." in page
    assert f"{PAGE}report/" in page
    assert f"{PAGE}deletion/" not in page
    assert holder.get(f"{PAGE}deletion/").status_code == 404
    share(alice, ("given_name",))
    Consent.objects.filter(decision="granted").update(claims=[])
    assert "They learned that you hold a verified identity" in holder.get(PAGE).content.decode()


@pytest.mark.parametrize("path", ["", "deletion/", "report/"])
def test_nobody_sees_the_page_of_another_holder_or_of_a_stranger(
    client: Client, alice: Wallet, bob: Wallet, sign_in: Any, path: str
) -> None:
    share(bob)
    assert client.get(f"{PAGE}{path}").status_code == 303
    sign_in(alice)
    assert client.get(f"{PAGE}{path}").status_code == 404
    if path:
        assert client.post(f"{PAGE}{path}", {"reason": "other"}).status_code == 404
    assert not Report.objects.exists()
    assert not Consent.objects.exclude(deletion_asked_at=None).exists()


def prepared(holder: Client, page: str = PAGE) -> tuple[str, str, str]:
    """Address, subject and body of the prepared e-mail."""
    shown = holder.get(f"{page}deletion/").content.decode()
    (address,) = re.findall(r'href="(mailto:[^"?]*[?][^"]*)"', shown)
    parts = urlsplit(html.unescape(address))
    query = parse_qs(parts.query, strict_parsing=True)
    return parts.path, query["subject"][0], query["body"][0]


@pytest.mark.parametrize(("language", "first"), [("en-gb", "Please delete"), ("es", "Solicitud")])
def test_the_email_to_them_is_in_both_languages_with_the_receipts_and_without_the_address_of_the_wallet(
    holder: Client, alice: Wallet, acme_bank: RelyingParty, language: str, first: str
) -> None:
    RelyingParty.objects.filter(pk=acme_bank.pk).update(
        contact="operators@bank.example", privacy_contact="privacy+a&b@bank.example"
    )
    holder.cookies["language"] = language
    records = [share(alice, requester_id=acme_bank.client_id, days_ago=day) for day in (1, 3)]
    to, subject, body = prepared(holder, reverse("consent_requester", args=[acme_bank.client_id]))
    assert to == "privacy%2Ba%26b@bank.example"
    assert subject.startswith(first)
    assert "Please delete my details" in subject
    assert body.count("Acme Bank (bank.example)") == 2
    for record in records:
        assert body.count(str(record.id)) == 2
    assert alice.email not in body + subject
    page = holder.get(reverse("consent_deletion", args=[acme_bank.client_id])).content.decode()
    assert "operators@" not in page


def test_an_email_names_a_few_receipts_and_counts_the_others(holder: Client, alice: Wallet) -> None:
    for day in range(requesters.REFERENCES + 2):
        share(alice, days_ago=day)
    to, _subject, body = prepared(holder)
    assert to == ""
    assert len(re.findall(r"[0-9a-f-]{36}", body)) == 2 * requesters.REFERENCES
    assert "and 2 older ones" in body


def test_the_date_is_remembered_of_what_they_had_by_then(holder: Client, alice: Wallet, bob: Wallet) -> None:
    mine, others = share(alice), [share(bob), share(alice, requester_id="shop")]
    assert holder.get(f"{PAGE}deletion/").status_code == 200
    assert "You asked them on" not in text(holder.get(PAGE))
    response = holder.post(f"{PAGE}deletion/")
    assert (response.status_code, response.headers["Location"]) == (303, PAGE)
    assert "You asked them on" in text(holder.get(PAGE))
    later = share(alice)
    asked = set(Consent.objects.exclude(deletion_asked_at=None).values_list("id", flat=True))
    assert asked == {mine.id}
    assert not asked & {later.id, *(other.id for other in others)}


def test_a_report_names_neither_the_holder_nor_a_claim(holder: Client, alice: Wallet) -> None:
    share(alice)
    response = holder.post(f"{PAGE}report/", {"reason": "too_much", "text": "They want all of it."})
    assert response.status_code == 303
    assert "has your report, without your name" in text(holder.get(response.headers["Location"]))
    (report,) = Report.objects.all()
    assert (report.requester_id, report.reason) == ("acme", "too_much")
    assert unseal_column(report, "sealed_text") == b"They want all of it."
    columns = {field.name for field in Report._meta.concrete_fields}
    assert columns == {"id", "requester_id", "reason", "sealed_text", "reported_at"}


@pytest.mark.parametrize("form", [{}, {"reason": "because"}, {"reason": "other", "text": "x" * 1001}])
def test_a_report_needs_one_of_the_reasons_and_a_short_text(
    holder: Client, alice: Wallet, form: dict[str, str]
) -> None:
    share(alice)
    response = holder.post(f"{PAGE}report/", form)
    assert response.status_code == 422
    assert "There is a problem" in response.content.decode()
    assert not Report.objects.exists()


@pytest.mark.usefixtures("windows_just_begun")
def test_a_holder_reports_each_requester_once_a_month_and_a_few_a_day(holder: Client, alice: Wallet) -> None:
    for number in range(7):
        share(alice, requester_id=f"party-{number}")
    places = []
    for number in (0, 0, 1, 2, 3, 4, 5, 6):
        response = holder.post(f"{LIST}party-{number}/report/", {"reason": "other"})
        places.append(parse_qs(urlsplit(response.headers["Location"]).query)["reported"][0])
    assert places == ["yes", "often", "yes", "yes", "yes", "yes", "often", "often"]
    assert Report.objects.count() == 5
    assert "a short time ago" in text(holder.get(f"{LIST}party-0/?reported=often"))
    # What was refused for the day is not refused for the month.
    tomorrow = timezone.now() + timedelta(days=1)
    requesters.report(alice, "party-5", reason="other", text="", now=tomorrow)
    with pytest.raises(LimitReachedError):
        requesters.report(alice, "party-0", reason="other", text="", now=tomorrow)


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_reports_sent_at_once_one_counts(alice: Wallet) -> None:
    begin, refused = threading.Barrier(6), []

    def send() -> None:
        try:
            begin.wait(timeout=10)
            requesters.report(alice, "acme", reason="other", text="", now=timezone.now())
        except LimitReachedError as error:
            refused.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=send) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert (Report.objects.count(), len(refused)) == (1, 5)
