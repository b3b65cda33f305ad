"""The holder's home page: the card, its state, and one thing to do next in each state."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse

from tests.people import DETAILS, enroll
from tests.wallet.attempts import attempt_in, in_review
from tests.wallet.operators import claimed, reviewer
from tests.wallet.statuses import SAID
from wallet.account.closing import closures
from wallet.identity import review
from wallet.models import Credential, Wallet
from wallet.operations import suspension

HOME = "/wallet/"
ACTION = re.compile(r"<main.*?</main>", re.DOTALL)
BUTTON = re.compile(r"<button[^>]*>([^<]*)</button>")


def body(client):
    response = client.get(HOME)
    assert response.status_code == 200
    (main,) = ACTION.findall(response.content.decode())
    return main


def badge(page):
    (text,) = re.findall(r'<span class="badge[^"]*">([^<]*)</span>', page)
    return text


@pytest.fixture
def holder(client, alice, sign_in, now):
    Wallet.objects.update(passkey_offered_at=now)  # the home without the offer of a passkey
    sign_in(alice)
    return client


def test_the_card_shows_the_name_who_verified_it_and_until_when_and_folds_the_values(holder):
    Credential.objects.update(expires_at=datetime(2126, 5, 4, tzinfo=UTC))
    page = body(holder)
    card, _, folded = page.partition("<details>")
    for text in ("Alice Archer", "The tests", "Document shown in person", "3 May 2126"):
        assert text in card
    assert "Date of birth" not in card
    for text in ("Show my details", "Given name", "Date of birth", "1990", "United Kingdom"):
        assert text in folded
    assert "<details open" not in page
    assert "Aged 18" not in page, "an age follows from the date of birth"
    assert "Place of birth" not in page, "nobody verified it"


def test_the_details_that_a_provider_verified_are_among_the_values(client, db, sign_in, now):
    born = now.date().replace(1992)
    sign_in(enroll("x@example.org", given_name="X", family_name="", birth_date=born, details=DETAILS))
    _card, _, folded = body(client).partition("<details>")
    for text in ("1 Main Street, Flat 2", "Leeds, Yorkshire, United Kingdom", "P1234567", "31 January 2035"):
        assert text in folded


@pytest.mark.parametrize(
    ("change", "state", "words", "button"),
    [
        ({}, "Valid", "You can share it", ["Renew or change"]),
        ({"expires_at": 29}, "Ends soon", "Renew it now", ["Renew or change"]),
        ({"expires_at": -1}, "Expired", "was valid until the end of", ["Confirm your identity"]),
        ({"state": "revoked"}, "Revoked", "revoked your verified identity", ["Confirm your identity"]),
        ({"sealed_identity": b""}, "Cannot be read", "This is our fault", ["Confirm your identity"]),
        ({"state": "suspended"}, "Suspended", "It is suspended", []),
    ],
)
def test_each_state_says_so_and_has_one_thing_to_do_next(holder, now, change, state, words, button):
    if "expires_at" in change:
        change = {"expires_at": now + timedelta(days=change["expires_at"])}
    Credential.objects.update(**change)
    page = body(holder)
    assert badge(page) == state
    assert words in page
    assert BUTTON.findall(page) == button
    if state not in ("Valid", "Ends soon"):
        assert "Alice" not in page


@pytest.mark.parametrize(
    ("attempt", "state", "words", "button"),
    [
        (None, "None yet", "You need to prove who you are once", "Confirm your identity"),
        ("created", "Being checked", "started an identity check", "Continue the identity check"),
        ("started", "Being checked", "started an identity check", "Continue the identity check"),
        ("resubmit", "Being checked", "started an identity check", "Continue the identity check"),
        ("processing", "Being checked", "What you sent is safe", "See your identity check"),
        ("review", "In review", "e-mail you when it is decided", "See your identity check"),
        ("error", "None yet", "You need to prove who you are once", "Confirm your identity"),
        ("cancelled", "None yet", "You need to prove who you are once", "Confirm your identity"),
    ],
)
def test_who_has_none_yet_reads_where_the_check_stands(
    client, nora, sign_in, now, attempt, state, words, button
):
    if attempt:
        attempt_in(attempt, nora, now)
    sign_in(nora)
    page = body(client)
    assert badge(page) == state
    assert words in page
    assert BUTTON.findall(page) == [button]


@pytest.mark.parametrize("days", [None, 29, -1])
def test_the_home_of_a_wallet_that_closes_says_so_and_nothing_contradicts_it(holder, alice, now, days):
    if days:
        Credential.objects.update(expires_at=now + timedelta(days=days))
    closes_at = closures.ask(alice, now=now).closes_at
    page = body(holder)
    assert badge(page) == "Closing"
    assert page.count(f'datetime="{closes_at.isoformat()}"') == 1
    assert "Nothing is shared from it, and your identity cannot be checked or renewed" in page
    for contradiction in ("badge-good", "You can share it", "Renew", "Valid until", "Confirm your identity"):
        assert contradiction not in page
    assert BUTTON.findall(page) == ["Keep my wallet"]
    closures.undo(alice, now=now)
    assert badge(body(holder)) != "Closing"


@pytest.mark.parametrize("attempt", [None, "started", "review"])
def test_the_home_of_a_closing_wallet_without_an_identity_offers_no_check(
    client, nora, sign_in, now, attempt
):
    if attempt:
        attempt_in(attempt, nora, now)
    closures.ask(nora, now=now)
    sign_in(nora)
    page = body(client)
    assert badge(page) == "Closing"
    assert BUTTON.findall(page) == ["Keep my wallet"]


def test_a_check_of_a_valid_identity_is_what_to_go_on_with(holder, alice, now):
    attempt_in("review", alice, now)
    page = body(holder)
    assert badge(page) == "Valid"
    assert "Alice Archer" in page
    assert BUTTON.findall(page) == ["See your identity check"]


def test_after_a_decline_it_says_from_when_on_one_may_try_again(client, nora, sign_in, now):
    waiting = claimed(in_review(nora, now))
    review.decline(waiting, operator=reviewer(), reason="Forged", now=now)
    sign_in(nora)
    page = body(client)
    assert "We couldn’t confirm that the document is yours." in page
    assert "data-moment" in page
    assert "Forged" not in page
    assert BUTTON.findall(page) == []


def test_a_suspended_wallet_is_signed_out_and_reads_it_at_the_sign_in(holder, alice, now):
    suspension.suspend(alice, now=now, **SAID)
    response = holder.get(HOME)
    assert (response.status_code, response.url) == (303, reverse("wallet_front_door"))


def test_nobody_sees_a_home_without_signing_in(client, db):
    response = client.get(HOME)
    assert (response.status_code, response.url) == (303, reverse("wallet_front_door"))
    assert client.post(HOME).status_code == 405


def test_a_home_shows_only_ones_own_identity_and_is_kept_by_no_cache(client, alice, bob, sign_in):
    sign_in(bob)
    response = client.get(HOME)
    assert "Alice" not in response.content.decode()
    assert "no-store" in response.headers["Cache-Control"]


def test_names_are_shown_as_text(client, db, sign_in, now):
    sign_in(enroll("x@example.org", given_name="O", family_name="<b>R", birth_date=now.date().replace(1992)))
    assert "&lt;b&gt;R" in body(client)


def test_the_home_reads_the_database_four_times(holder, statements):
    with statements() as made:
        holder.get(HOME)
    assert len(made.texts) == 4, (
        made.texts
    )  # session with wallet and credential, newest check, evidence, a move under way
