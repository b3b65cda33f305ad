"""The holder's receipts."""

import html
import json
import re
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from consent import decisions
from consent.models import Consent
from consent.receipts import PAGE_SIZE
from infra.sealing import seal_column
from tests.consent.questions import HASH, WIRE, put
from tests.drawn import without_drawn
from wallet.models import Wallet

pytestmark = pytest.mark.slow

ADDRESS = "/wallet/history/"


def link(rel: str, page: str) -> str:
    """The address of the older (`next`) or the newer (`prev`) receipts."""
    (address,) = re.findall(f'href="([^"]*)" rel="{rel}"', page)
    return html.unescape(address)


def test_receipts_name_what_was_shared_without_values(holder, alice: Wallet) -> None:
    consent = put(alice, transactions=[WIRE])
    decisions.grant(consent.id, alice, now=timezone.now())
    page = holder.get(ADDRESS).content.decode()
    receipt = holder.get(f"{ADDRESS}{consent.id}/").content.decode()
    for text in ("Acme Bank", "Shared", "Given name", "12,500.00 EUR", str(consent.id)):
        assert text in page
        assert text in receipt
    assert "Invoice 2026-114" in receipt
    for value in (">Alice", "Archer", "1990"):
        assert value not in without_drawn(page)
        assert value not in without_drawn(receipt)


def test_a_yes_that_shared_no_claim_says_what_it_shared(holder, alice: Wallet) -> None:
    decisions.grant(put(alice, claims=[]).id, alice, now=timezone.now())
    assert "only that you hold a verified identity" in holder.get(ADDRESS).content.decode()


def test_unanswered_questions_and_other_peoples_receipts_are_not_listed(holder, alice, bob) -> None:
    put(alice)
    decisions.grant(put(bob).id, bob, now=timezone.now())
    page = holder.get(ADDRESS).content.decode()
    assert "Nothing here yet" in page
    assert "Acme Bank" not in page


def test_receipts_come_newest_first_in_pages_with_the_same_few_statements(
    holder, alice: Wallet, statements
) -> None:
    now = timezone.now()
    ids = []
    for minutes in range(PAGE_SIZE + 1):
        consent = put(alice)
        decisions.grant(consent.id, alice, now=now - timedelta(minutes=minutes))
        ids.append(str(consent.id))
    with statements() as made:
        first = holder.get(ADDRESS).content.decode()
    assert len(made.texts) == 4, (
        made.texts
    )  # session, receipts, what became of them, a move of the wallet under way
    shown = [first.index(f'"receipt-{consent_id}"') for consent_id in ids[:PAGE_SIZE]]
    assert shown == sorted(shown)
    assert ids[-1] not in first
    second = holder.get(link("next", first)).content.decode()
    assert ids[-1] in second
    assert holder.get(link("prev", second)).content.decode().count("<article") == PAGE_SIZE


def test_a_receipt_outlives_the_name_of_its_claims(holder, alice: Wallet) -> None:
    consent = put(alice)
    Consent.objects.filter(id=consent.id).update(claims=[["shoe", "size"]])
    decisions.grant(consent.id, alice, now=timezone.now())
    assert "shoe.size" in holder.get(ADDRESS).content.decode()


def test_receipts_are_kept_by_no_cache(holder) -> None:
    assert "no-store" in holder.get(ADDRESS)["Cache-Control"]


def test_a_browser_that_is_not_signed_in_is_sent_to_the_sign_in(client, db) -> None:
    response = client.get(ADDRESS)
    assert (response.status_code, response["Location"]) == (303, "/wallet/sign-in/")


def test_the_amount_of_a_bill_is_its_total_and_what_is_no_payment_has_none(holder, alice: Wallet) -> None:
    bill = WIRE | {"blocks": WIRE["blocks"][2:]}
    device = WIRE | {"title": "This device", "blocks": WIRE["blocks"][3:]}
    decisions.grant(put(alice, transactions=[bill, device]).id, alice, now=timezone.now())
    page = holder.get(ADDRESS).content.decode()
    assert re.findall(r'<strong class="nowrap"><bdi translate="no">([^<]*)', page) == ["25.00 EUR"]


def test_content_in_a_format_that_is_not_known_breaks_no_page(holder, alice: Wallet) -> None:
    consent = put(alice, transactions=[WIRE])
    decisions.grant(consent.id, alice, now=timezone.now())
    unknown = json.dumps([WIRE | {"blocks": [{"block": "of the future"}]}]).encode()
    sealed = seal_column(consent, "sealed_transactions", unknown)
    Consent.objects.filter(id=consent.id).update(sealed_transactions=sealed)
    for address in (ADDRESS, f"{ADDRESS}{consent.id}/"):
        assert "The details cannot be shown." in holder.get(address).content.decode()


def receipt_of(client, consent: Consent, **headers) -> str:
    """The text of a receipt, without markup and with single spaces."""
    page = client.get(f"{ADDRESS}{consent.id}/", **headers).content.decode()
    main = re.search(r"<main.*</main>", page, re.DOTALL)[0]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", main)).split())


def test_a_receipt_says_who_issued_it_to_whom_and_what_was_approved(
    client, alice: Wallet, sign_in, settings
) -> None:
    settings.OPERATOR = replace(settings.OPERATOR, name="Wallet House", place="1 High Street, Dublin")
    sign_in(alice)
    paid = {"amount": "12500.00", "currency": "EUR", "payee": "Mary Landlady"}
    consent = put(alice, transactions=[WIRE | {"payment": paid}])
    decisions.grant(consent.id, alice, now=timezone.now())
    text = receipt_of(client, consent)
    assert "You approved a payment of 12,500.00 EUR to Mary Landlady" in text
    assert "Issued by Wallet House · 1 High Street, Dublin · localhost:8000 · help@localhost" in text
    assert f"Issued to {alice.email}" in text
    assert f"Receipt number {consent.id}" in text
    assert f"Hash of the transaction (SHA-256) {HASH}" in text


def test_a_receipt_says_in_a_sentence_what_was_answered(holder, alice: Wallet) -> None:
    shared, kept, several = put(alice), put(alice), put(alice, transactions=[WIRE, WIRE])
    decisions.grant(shared.id, alice, now=timezone.now())
    decisions.decline(kept.id, alice, now=timezone.now())
    decisions.grant(several.id, alice, now=timezone.now())
    assert "You shared your details with Acme Bank" in receipt_of(holder, shared)
    assert "You did not share your details with Acme Bank" in receipt_of(holder, kept)
    assert "You shared your details with Acme Bank" in receipt_of(holder, several)
