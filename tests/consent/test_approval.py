"""Heading, title and button of a payment: they name amount and payee, whatever the payee is called."""

import copy
import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone, translation
from hypothesis import given
from hypothesis import strategies as st

from consent import decisions
from consent.approval import Approval
from consent.blocks import Amount, Money, Payment, Phrase, Rows, Transaction, filled, total
from consent.models import Consent
from consent.question_page import Question
from infra.characters import is_legible, legible
from tests.consent.questions import ACME, WIRE, put
from wallet.deadlines import Deadline
from wallet.models import Wallet


def payment(payee: str = "Mary Landlady", amount: str = "950.00", currency: str = "USD") -> Transaction:
    paid = Payment(amount, currency, payee)
    return Transaction("urn:example:wire", "Approve a bank transfer", (), True, paid)


def approval(*transactions: Transaction) -> Approval:
    found = Approval.of(transactions)
    assert found is not None
    return found


@given(st.text(max_size=200).map(legible))
def test_no_name_gets_out_of_its_place(payee: str) -> None:
    found = approval(payment(payee))

    assert found.heading.count("<") == found.heading.count("<bdi") + found.heading.count("</bdi>")
    names = 2 if payee else 1  # amount and payee
    assert found.heading.count("<bdi") == names
    assert "\u2068950.00\xa0USD\u2069" in found.title
    assert "950.00\xa0USD" in found.button
    assert (found.title.count("\u2068"), found.title.count("\u2069")) == (names, names)
    assert "\n" not in found.title


@given(st.text(min_size=1, max_size=200).map(legible))
def test_no_name_is_cut(payee: str) -> None:
    assert " ".join(payee.split()) in approval(payment(payee)).title


@pytest.mark.parametrize(
    ("transactions", "title", "button"),
    [
        ([payment()], "Approve 950.00 USD to Mary Landlady?", "Approve 950.00 USD"),
        ([payment("")], "Approve a payment of 950.00 USD?", "Approve 950.00 USD"),
        ([payment(), payment()], "Approve 2 payments, 1,900.00 USD in total?", "Approve 1,900.00 USD"),
        ([payment(), payment(currency="EUR")], "Approve 2 payments?", "Approve 2 payments"),
        ([payment("%(amount)s")], "Approve 950.00 USD to %(amount)s?", "Approve 950.00 USD"),
        ([payment(amount="0.00")], "Approve 0.00 USD to Mary Landlady?", "Approve 0.00 USD"),
    ],
)
def test_heading_and_button_say_what_is_approved(
    transactions: list[Transaction], title: str, button: str
) -> None:
    found = approval(*transactions)

    plain = found.title.replace("\u2068", "").replace("\u2069", "").replace("\xa0", " ")
    assert plain == title
    assert re.sub("<[^>]*>", "", found.button).replace("\xa0", " ") == button


def test_without_the_facts_of_every_payment_no_heading_is_made_up() -> None:
    old = Transaction.from_json(WIRE)

    assert Approval.of([old]) is None
    assert Approval.of([old, payment()]) is None
    assert Approval.of([]) is None


@given(st.lists(st.decimals(0, 10**11, places=2), min_size=1, max_size=10))
def test_the_sum_is_exact(amounts: list[Any]) -> None:
    found = total(tuple(Money.of(amount, "EUR") for amount in amounts))

    assert found is not None
    assert int(found.amount.replace(".", "")) == sum(int(amount * 100) for amount in amounts)


def test_our_words_are_translated_and_theirs_are_not() -> None:
    with translation.override("de"):  # Django's own catalogue knows these
        assert str(Phrase("Yes", {})) == "Ja"
        assert filled(str(Phrase("Monday", {})), {}) == "Montag"
    assert str(Phrase("%(who)s says", {"who": "%(who)s <b>"})) == "%(who)s <b> says"


# --- On the page ------------------------------------------------------------------------------------------


def test_a_question_of_an_earlier_release_is_still_shown(holder: Any, alice: Wallet) -> None:
    consent = put(alice, transactions=[WIRE])
    page = holder.get(f"/consent/{consent.id}/").content.decode()

    assert "<h1>Do you approve this for <bdi>Acme Bank</bdi>?</h1>" in page
    assert "12,500.00 EUR" in page
    assert "Registered" not in page  # it was not stored
    assert "more_time" not in page


def test_the_words_of_the_page_follow_the_language_and_the_record_does_not(
    holder: Any, alice: Wallet
) -> None:
    shown = copy.deepcopy(WIRE) | {"title": "Monday"}
    shown["blocks"][1] |= {"heading": "Tuesday", "rows": [["Yes", "No"]]}
    consent = put(alice, transactions=[shown])
    for language, words in (("en-GB", ("Monday", "Tuesday", "Yes")), ("es", ("lunes", "martes", "Sí"))):
        headers = {"Accept-Language": language}
        page = holder.get(f"/consent/{consent.id}/", headers=headers).content.decode()
        for word in words:
            assert f">{word}<" in page
        assert '<bdi translate="no">No</bdi>' in page  # a value is quoted, never translated


def test_a_name_with_control_characters_is_harmless_in_the_title(holder: Any, alice: Wallet) -> None:
    paid = {"amount": "1.00", "currency": "EUR", "payee": legible("Bob\u202e</title>\u2069<script>")}
    consent = put(alice, transactions=[WIRE | {"payment": paid}])
    page = holder.get(f"/consent/{consent.id}/").content.decode()
    title = page.split("<title>")[1].split("</title>")[0]

    assert "⟨U+202E⟩&lt;/title&gt;⟨U+2069⟩&lt;script&gt;" in title
    assert is_legible(title.replace("\u2068", "").replace("\u2069", ""))
    assert page.count("<script") == page.count('<script src="/static/')


@pytest.mark.parametrize(
    ("unchecked", "words"),
    [
        (
            False,
            ["Registered with <bdi>Example Identity</bdi></p>", "<bdi>Example Identity</bdi> since 2026."],
        ),
        (True, ["Not checked by anybody", "Registered itself in this sandbox; nobody has checked it."]),
    ],
)
def test_the_page_says_who_vouches_for_the_requester(
    client: Any, alice: Wallet, sign_in: Any, settings: Any, unchecked: bool, words: list[str]
) -> None:
    from datetime import date

    settings.OPERATOR = replace(settings.OPERATOR, name="Example Identity")
    sign_in(alice)
    consent = put(alice, requester_since=date(2026, 3, 1), requester_is_unchecked=unchecked)
    page = client.get(f"/consent/{consent.id}/").content.decode()

    assert [text for text in words if text not in page] == []
    assert ("Registered with" in page) != unchecked


def test_a_quote_has_its_author_and_device_data_a_sentence(holder: Any, alice: Wallet) -> None:
    device = Rows("", (("IP address", "192.0.2.9"),), "%(requester)s says you are on this device.")
    told = Transaction("urn:example:device", "This device", (device,), False)
    page = holder.get(f"/consent/{put(alice, transactions=[told.to_json(), WIRE]).id}/").content.decode()

    assert '<p><bdi translate="no">Acme Bank</bdi> says you are on this device.</p>' in page
    assert "In their words:</p>" in page
    assert "“<bdi>Invoice 2026-114</bdi>”" in page
    assert "Reason: “<bdi>To open your account</bdi>”" in page


@pytest.mark.parametrize(
    ("purpose", "first", "rest"),
    [
        ("", "", ""),
        ("To open your account.", "To open your account.", ""),
        ("To check, e.g. your age. And more. Much more.", "To check, e.g. your age.", "And more. Much more."),
        ("¿Por qué? ¡Porque sí!", "¿Por qué?", "¡Porque sí!"),
    ],
)
def test_the_reason_is_its_first_sentence_and_the_rest(purpose: str, first: str, rest: str) -> None:
    assert reason_of(purpose) == (first, rest)


@given(st.text(max_size=300))
def test_no_word_of_a_purpose_is_lost(purpose: str) -> None:
    assert " ".join(reason_of(purpose)).strip() == purpose.strip()


def reason_of(purpose: str) -> tuple[str, str]:
    consent = Consent(requester=replace(ACME, purpose=purpose).to_json())
    return Question(
        consent, (), (), frozenset(), None, frozenset(), Deadline(timezone.now(), None, "")
    ).reason


def test_the_receipt_shows_the_amount_as_the_page_did(holder: Any, alice: Wallet) -> None:
    paid = Transaction(
        "urn:example:wire", "Approve a bank transfer", (Amount("Amount", Money("950.00", "USD")),), True
    )
    consent = put(alice, transactions=[paid.to_json()])
    decisions.grant(consent.id, alice, now=timezone.now())

    assert "950.00\xa0USD" in holder.get("/wallet/history/").content.decode()


# --- More time --------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_question_is_extended_within_its_limit_only(alice: Wallet) -> None:
    now = timezone.now()
    minutes = [now + timedelta(minutes=number) for number in range(121)]
    consent = put(alice, now=now, extendable_until=minutes[60])

    assert decisions.extend(consent.id, until=minutes[45], now=now)
    assert decisions.extend(consent.id, until=minutes[40], now=now)  # never shorter
    assert not decisions.extend(consent.id, until=minutes[61], now=now)
    assert Consent.objects.get().expires_at == minutes[45]
    assert not decisions.extend(consent.id, until=minutes[50], now=minutes[45])
    decisions.decline(consent.id, alice, now=now)
    assert not decisions.extend(consent.id, until=minutes[50], now=now)
    assert not decisions.extend(put(alice, now=now).id, until=minutes[31], now=now)  # of an earlier release
