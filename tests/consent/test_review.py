"""The page that asks: what it shows, what it sends, and that it decides once."""

import uuid
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.html import escape

from consent import decisions
from consent.decisions import Requester
from consent.models import Consent
from tests.consent.questions import WIRE, put
from wallet.models import HolderSession, Wallet


def address(consent: Consent) -> str:
    return f"/consent/{consent.id}/"


def decision_of(consent: Consent) -> str:
    return Consent.objects.values_list("decision", flat=True).get(id=consent.id)


def test_the_page_says_who_asks_why_and_what_with_values(client, alice: Wallet, sign_in) -> None:
    sign_in(alice)
    page = client.get(address(put(alice))).content.decode()
    for text in (
        "Acme Bank",
        "bank.example",
        "To open your account",
        'href="https://bank.example/privacy"',
        'href="https://bank.example/terms"',
        "alice@example.org",
        "Given name",
        "Alice",
        "Archer",
        "first time you share with them",
        "Share and continue to Acme Bank",
        "Don’t share",
        "within 29\xa0minutes",
    ):
        assert text in page
    assert "1990" not in page


def test_the_page_says_what_is_not_shared(client, alice: Wallet, sign_in) -> None:
    sign_in(alice)
    page = client.get(address(put(alice, claims=[("given_name",)]))).content.decode()
    withheld = page.split("Not shared:")[1].split("</p>")[0]
    assert "Family name" in withheld
    assert "Given name" not in withheld


def test_where_nothing_is_shared_the_page_does_not_ask_to_share(client, alice: Wallet, sign_in) -> None:
    sign_in(alice)
    quiet = WIRE | {"consequential": False}
    pages = {
        heading: client.get(address(put(alice, claims=[], transactions=transactions))).content.decode()
        for heading, transactions in {
            "Confirm to <bdi>Acme Bank</bdi> that you are verified?": [],
            "Do you confirm this to <bdi>Acme Bank</bdi>?": [quiet],
            "Do you approve this for <bdi>Acme Bank</bdi>?": [WIRE],
        }.items()
    }
    for heading, page in pages.items():
        assert f"<h1>{heading}</h1>" in page
        assert "Nothing about you is shared" in page
        assert "learns that you hold a verified identity here" in page
        assert "Share and" not in page
        assert "Don’t share" not in page
        assert ("Confirm and continue to Acme Bank" in page) == ("approve" not in heading)


def test_the_page_says_when_was_shared_before_and_what_is_new(client, alice: Wallet, sign_in) -> None:
    sign_in(alice)
    then = timezone.now() - timedelta(days=40)
    decisions.grant(put(alice, claims=[("given_name",)], now=then).id, alice, now=then)
    page = client.get(address(put(alice, claims=[("given_name",), ("family_name",)]))).content.decode()
    assert f"You last shared with them on {then.day} {then:%B %Y}" in page
    assert page.count("not shared last time") == 1


def test_the_transaction_comes_before_the_claims_verbatim_and_escaped(client, alice, sign_in) -> None:
    sign_in(alice)
    page = client.get(address(put(alice, transactions=[WIRE]))).content.decode()
    for text in (
        "12,500.00 EUR",
        "DE89 3704 0044 0532 0130 00",
        "Invoice 2026-114",
        "25.00 EUR",
        "Line total",
    ):
        assert page.index(text) < page.index("What you share")
    assert escape("Coffee & <b>beans</b>") in page
    assert "<b>beans</b>" not in page
    assert "Approve and continue to Acme Bank" in page
    assert "Don’t approve" in page


def test_a_hostile_name_stays_text(client, alice: Wallet, sign_in) -> None:
    sign_in(alice)
    requester = Requester(name="<script>alert(1)</script>", domain='"><img src=x>')
    page = client.get(address(put(alice, requester=requester))).content.decode()
    assert page.count("<script") == page.count('<script src="/static/')
    assert "<img src=x" not in page


def test_only_the_review_page_leaves_form_action_out(client, alice: Wallet, sign_in) -> None:
    sign_in(alice)
    policy = client.get(address(put(alice)))["Content-Security-Policy"]
    assert "form-action" not in policy
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self'" in client.get("/wallet/history/")["Content-Security-Policy"]


@pytest.mark.parametrize("method", ["get", "post"])
def test_nothing_about_a_question_is_kept_by_a_cache(client, alice: Wallet, sign_in, method: str) -> None:
    sign_in(alice)
    consent = put(alice)
    data = {"decision": "share"} if method == "post" else {}
    assert getattr(client, method)(address(consent), data)["Cache-Control"] == "no-store"


def test_showing_the_page_takes_three_statements(client, alice: Wallet, sign_in, statements) -> None:
    sign_in(alice)
    consent = put(alice, transactions=[WIRE])
    with statements() as made:
        assert client.get(address(consent)).status_code == 200
    assert len(made.texts) == 3, made.texts


@pytest.mark.parametrize(("choice", "decision"), [("share", "granted"), ("decline", "declined")])
def test_an_answer_is_written_down_and_the_browser_goes_on(client, alice, sign_in, choice, decision) -> None:
    sign_in(alice)
    consent = put(alice)
    response = client.post(address(consent), {"decision": choice})
    assert (response.status_code, response["Location"]) == (303, consent.return_to)
    assert decision_of(consent) == decision


def test_deciding_takes_three_statements(client, alice: Wallet, sign_in, statements) -> None:
    sign_in(alice)
    consent = put(alice)
    with statements() as made:
        client.post(address(consent), {"decision": "share"})
    assert len(made.texts) == 3, made.texts


def test_a_double_click_decides_once_and_goes_on(client, alice: Wallet, sign_in) -> None:
    sign_in(alice)
    consent = put(alice)
    client.post(address(consent), {"decision": "share"})
    before = Consent.objects.filter(id=consent.id).values().get()
    again = client.post(address(consent), {"decision": "share"})
    assert (again.status_code, again["Location"]) == (303, consent.return_to)
    assert Consent.objects.filter(id=consent.id).values().get() == before


def test_the_other_answer_from_a_second_tab_is_refused_with_a_page(client, alice: Wallet, sign_in) -> None:
    sign_in(alice)
    consent = put(alice)
    client.post(address(consent), {"decision": "share"})
    response = client.post(address(consent), {"decision": "decline"})
    assert response.status_code == 409
    assert "You said yes to" in response.content.decode()
    assert decision_of(consent) == "granted"


@pytest.mark.parametrize(("choice", "words"), [("share", "You said yes to"), ("decline", "You said no to")])
def test_a_decided_question_shows_its_answer_and_the_way_on(client, alice, sign_in, choice, words) -> None:
    sign_in(alice)
    consent = put(alice)
    client.post(address(consent), {"decision": choice})
    response = client.get(address(consent))
    page = response.content.decode()
    assert response.status_code == 410
    assert words in page
    assert f'href="{consent.return_to}"' in page
    assert "Archer" not in page


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_lapsed_question_shows_the_way_back(client, alice: Wallet, sign_in, method: str) -> None:
    sign_in(alice)
    consent = put(alice, expires_at=timezone.now() - timedelta(seconds=1))
    data = {"decision": "share"} if method == "post" else {}
    response = getattr(client, method)(address(consent), data)
    page = response.content.decode()
    assert response.status_code == 410
    assert "This request has expired" in page
    assert f'href="{consent.return_to}"' in page
    assert decision_of(consent) == "asked"


@pytest.mark.parametrize("method", ["get", "post"])
def test_another_holders_question_shows_nothing_of_it(client, alice, bob, sign_in, method: str) -> None:
    sign_in(bob)
    consent = put(alice)
    response = getattr(client, method)(address(consent), {"decision": "share"} if method == "post" else {})
    page = response.content.decode()
    assert response.status_code == 410
    assert f'href="{consent.return_to}"' in page
    for text in ("Acme", "Alice", alice.email):
        assert text not in page
    assert decision_of(consent) == "asked"


@pytest.mark.parametrize("method", ["get", "post"])
def test_who_is_not_signed_in_is_sent_on_to_sign_in(client, alice: Wallet, method: str) -> None:
    consent = put(alice)
    response = getattr(client, method)(address(consent), {"decision": "share"} if method == "post" else {})
    assert (response.status_code, response["Location"]) == (303, consent.return_to)
    assert decision_of(consent) == "asked"


def test_a_holder_without_a_valid_credential_is_sent_on(client, alice: Wallet, sign_in) -> None:
    from wallet import revocation

    sign_in(alice)
    consent = put(alice)
    revocation.revoke(alice.credential, actor="olga", reason="Reported stolen", now=timezone.now())
    response = client.get(address(consent))
    assert (response.status_code, response["Location"]) == (303, consent.return_to)


def test_not_you_signs_out_and_decides_nothing(client, alice: Wallet, sign_in) -> None:
    sign_in(alice)
    consent = put(alice)
    response = client.post(address(consent), {"decision": "not_me"})
    assert (response.status_code, response["Location"]) == (303, consent.return_to)
    assert not HolderSession.objects.exists()
    assert decision_of(consent) == "asked"


@pytest.mark.parametrize("choice", [None, "", "granted", "SHARE", "share "])
def test_an_unknown_decision_decides_nothing(client, alice: Wallet, sign_in, choice) -> None:
    sign_in(alice)
    consent = put(alice)
    response = client.post(address(consent), {} if choice is None else {"decision": choice})
    assert response.status_code == 400
    assert decision_of(consent) == "asked"


def test_an_unknown_question_is_not_found(client, db) -> None:
    assert client.get(f"/consent/{uuid.uuid4()}/").status_code == 404


def test_a_question_takes_only_get_and_post(client, alice: Wallet) -> None:
    response = client.put(address(put(alice)))
    assert (response.status_code, response["Allow"]) == (405, "GET, HEAD, POST")


def test_a_form_without_its_token_decides_nothing(alice: Wallet, sign_in) -> None:
    browser = Client(enforce_csrf_checks=True)
    sign_in(alice, browser=browser)
    consent = put(alice)
    response = browser.post(
        address(consent), {"decision": "share"}, headers={"referer": f"http://testserver{address(consent)}"}
    )
    page = response.content.decode()
    assert response.status_code == 403
    assert f"testserver{address(consent)}" in page  # the way to load it anew
    assert decision_of(consent) == "asked"


def test_a_decision_rotates_the_csrf_token_so_that_back_cannot_revive_the_page(alice, sign_in) -> None:
    browser = Client(enforce_csrf_checks=True)
    sign_in(alice, browser=browser)
    consent = put(alice)
    browser.get(address(consent))
    before = browser.cookies["csrf"].value
    response = browser.post(address(consent), {"decision": "share", "csrfmiddlewaretoken": before})
    assert response.status_code == 303
    assert response.cookies["csrf"].value != before
