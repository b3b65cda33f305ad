"""The consent page and the targets of its forms. For the effects of the forms see `test_deciding`."""

import re
import uuid
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.html import escape

from consent import decisions
from consent.models import Consent
from consent.question import Requester
from tests.consent.questions import WIRE, put
from wallet.models import Wallet


def address(consent: Consent) -> str:
    return f"/consent/{consent.id}/"


def decision_of(consent: Consent) -> str:
    return Consent.objects.values_list("decision", flat=True).get(id=consent.id)


def test_where_nothing_is_shared_the_page_does_not_ask_to_share(holder, alice: Wallet) -> None:
    quiet, share = WIRE | {"consequential": False}, "Confirm that I am verified"
    for transactions, heading, answer in (
        ([], "Confirm to <bdi>Acme Bank</bdi> that you are verified?", share),
        ([quiet], "Confirm to <bdi>Acme Bank</bdi> that you are verified?", share),
        ([WIRE], "Do you approve this for <bdi>Acme Bank</bdi>?", "Approve"),
    ):
        page = holder.get(address(put(alice, claims=[], transactions=transactions))).content.decode()
        assert f"<h1>{heading}</h1>" in page
        assert "Nothing about you is shared" in page
        assert "They learn that you hold a verified identity here" in page
        assert f">{answer}</button>" in page
        assert "Share these" not in page
        assert "Don’t share" not in page


def test_the_page_says_when_was_shared_before_and_what_is_new(holder, alice: Wallet) -> None:
    then = timezone.now() - timedelta(days=40)
    decisions.grant(put(alice, claims=[("given_name",)], now=then).id, alice, now=then)
    page = holder.get(address(put(alice, claims=[("given_name",), ("family_name",)]))).content.decode()
    assert f'You last shared with them on <time datetime="{then.isoformat()}"' in page
    assert page.count("not shared last time") == 1


def test_the_transaction_comes_before_the_claims_verbatim_and_escaped(holder, alice) -> None:
    page = holder.get(address(put(alice, transactions=[WIRE]))).content.decode()
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
    assert ">Approve</button>" in page
    assert "Don’t approve" in page


def test_a_hostile_name_stays_text(holder, alice: Wallet) -> None:
    requester = Requester(name="<script>alert(1)</script>", domain='"><img src=x>')
    page = holder.get(address(put(alice, requester=requester))).content.decode()
    assert page.count("<script") == page.count('<script src="/static/')
    assert "<img src=x" not in page


def test_nothing_about_a_question_is_kept_by_a_cache(holder, alice: Wallet) -> None:
    decided = put(alice)
    decisions.grant(decided.id, alice, now=timezone.now())
    for consent in (put(alice), decided):
        assert holder.get(address(consent))["Cache-Control"] == "no-store"


@pytest.mark.parametrize("method", ["post", "put", "delete"])
@pytest.mark.parametrize("enforce_csrf_checks", [True, False])
def test_nothing_is_decided_at_the_address_of_the_page(
    alice: Wallet, sign_in, method: str, enforce_csrf_checks: bool
) -> None:
    browser = Client(enforce_csrf_checks=enforce_csrf_checks)
    sign_in(alice, browser=browser)
    consent = put(alice)
    response = getattr(browser, method)(address(consent), {"decision": "share"})
    assert (response.status_code, response["Allow"]) == (405, "GET, HEAD")
    assert decision_of(consent) == "asked"


def test_every_form_that_answers_names_its_page(holder, alice) -> None:
    """In another tab somebody else may be asked meanwhile, or the question may be another one."""
    consent = put(alice)
    page = holder.get(address(consent)).content.decode()
    forms = re.findall(f'<form method="post" action="{consent.return_to}".*?</form>', page, re.DOTALL)
    assert len(forms) >= 3
    for form in forms:
        assert f'<input type="hidden" name="page" value="{address(consent)}">' in form


def test_every_form_of_the_page_is_sent_to_where_the_answer_is_acted_on(holder, alice) -> None:
    decided = put(alice)
    decisions.grant(decided.id, alice, now=timezone.now())
    for consent in (put(alice), decided):
        page = holder.get(address(consent)).content.decode()
        assert set(re.findall('<form method="post" action="([^"]*)"', page)) == {
            consent.return_to,
            "/language/",
        }


def test_showing_the_page_takes_three_statements(holder, alice: Wallet, statements) -> None:
    consent = put(alice, transactions=[WIRE])
    with statements() as made:
        assert holder.get(address(consent)).status_code == 200
    assert len(made.texts) == 3, made.texts  # the question, the session, the last sharing


@pytest.mark.parametrize(("choice", "words"), [("share", "You said yes to"), ("decline", "You said no to")])
def test_a_decided_question_shows_its_answer_and_the_way_on(holder, alice, choice, words) -> None:
    consent = put(alice)
    decides = decisions.grant if choice == "share" else decisions.decline
    decides(consent.id, alice, now=timezone.now())
    response = holder.get(address(consent))
    page = response.content.decode()
    assert response.status_code == 410
    assert words in page
    assert f'href="{consent.return_to}"' in page
    assert "Archer" not in page


def test_an_expired_question_leads_to_the_page_with_the_way_back(holder, alice: Wallet) -> None:
    consent = put(alice, expires_at=timezone.now() - timedelta(seconds=1))
    response = holder.get(address(consent))
    assert (response.status_code, response["Location"]) == (303, consent.return_to)
    assert decision_of(consent) == "asked"


def test_another_holders_question_shows_nothing_of_it(client, alice, bob, sign_in) -> None:
    sign_in(bob)
    consent = put(alice)
    response = client.get(address(consent))
    page = response.content.decode()
    assert response.status_code == 410
    assert f'href="{consent.return_to}"' in page
    for text in ("Acme", "Alice", alice.email):
        assert text not in page
    assert decision_of(consent) == "asked"


def test_a_browser_that_is_not_signed_in_is_sent_to_sign_in_first(client, alice: Wallet) -> None:
    consent = put(alice)
    response = client.get(address(consent))
    assert (response.status_code, response["Location"]) == (303, consent.return_to)
    assert decision_of(consent) == "asked"


def test_a_holder_without_a_valid_credential_is_sent_on(holder, alice: Wallet) -> None:
    from wallet.credential import revocation

    consent = put(alice)
    revocation.revoke(alice.credential, actor="olga", reason="Reported stolen", now=timezone.now())
    response = holder.get(address(consent))
    assert (response.status_code, response["Location"]) == (303, consent.return_to)


def test_an_unknown_question_is_not_found(client, db) -> None:
    assert client.get(f"/consent/{uuid.uuid4()}/").status_code == 404
