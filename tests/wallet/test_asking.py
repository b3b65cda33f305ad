"""Who asks, and for what, in words: on every page of a redirect task, from the first one on."""

import pytest
from django.urls import reverse

from tests.people import NORA
from tests.wallet.browser_redirect_tasks import make_redirect_task
from wallet.credential import claim_phrases
from wallet.credential.claims import NAMES

ASKED = {
    "asks_for": ["given_name", "family_name", "age_equal_or_over.18"],
    "requester_domain": "bank.example",
    "requester_logo": "/logos/acme/",
}


def test_every_claim_has_a_phrase_and_no_phrase_is_without_a_claim():
    said = [claim_phrases.phrases([name]) for name in NAMES]
    assert all(said)
    assert len({phrase for (phrase,) in said}) == len(NAMES)
    assert set(claim_phrases.PHRASES) <= set(NAMES)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["given_name", "family_name", "age_equal_or_over.18"], "your name, that you are 18 or over"),
        (["family_name", "birth_date", "given_name"], "your name, your date of birth"),
        (["given_name"], "your given name"),
        (["age_equal_or_over.65", "nationalities"], "that you are 65 or over, your nationality"),
        (["age_equal_or_over.16"], "that you are 16 or over"),
        (["age_equal_or_over.121", "nationality_in.XX"], ""),
        (["nationality_in.ES"], "whether your nationality is “Spain”"),
        (["nationality_in.EU"], "whether your nationality is “a country of the European Union”"),
        (["a claim of a later release", "birth_date"], "your date of birth"),
        ([], ""),
    ],
)
def test_the_claims_are_said_in_words(names, words):
    assert ", ".join(claim_phrases.phrases(names)) == words


@pytest.mark.parametrize("name", ["wallet_sign_in", "wallet_code"])
def test_the_pages_of_the_sign_in_say_who_asks_and_for_what(client, db, now, name):
    redirect_task = make_redirect_task(client, now=now, **ASKED)
    client.post(reverse("wallet_sign_in", args=[redirect_task.id]))
    text = client.get(reverse(name, args=[redirect_task.id])).content.decode()
    assert "Acme Bank</bdi> wants to confirm: your name, that you are 18 or over" in text
    assert "<bdi>bank.example</bdi>" in text
    assert '<img src="/logos/acme/" alt=""' in text
    assert "Not your address? Go back to Acme Bank and correct it there." in text


def test_so_do_the_pages_of_the_identity_check_and_of_another_wallet(client, alice, nora, now, sign_in):
    redirect_task = make_redirect_task(client, now=now, **ASKED)
    sign_in(alice)
    switch = client.get(reverse("wallet_switch", args=[redirect_task.id])).content.decode()
    sign_in(nora)
    identity = client.get(reverse("wallet_identity", args=[redirect_task.id])).content.decode()
    for text in (switch, identity):
        assert text.count("wants to confirm: your name, that you are 18 or over") == 1


def test_nobody_is_named_where_nobody_asked(client, db, now):
    redirect_task = make_redirect_task(client, now=now, on_behalf_of="", email=NORA)
    text = client.get(reverse("wallet_sign_in", args=[redirect_task.id])).content.decode()
    assert "who-asks" not in text
    assert "Not your address" not in text


def test_names_of_requesters_are_shown_as_text(client, db, now):
    facts = ASKED | {
        "on_behalf_of": "<b>Bank</b>",
        "requester_domain": "<i>x</i>",
        "requester_logo": '/"><i>',
    }
    redirect_task = make_redirect_task(client, now=now, **facts)
    text = client.get(reverse("wallet_sign_in", args=[redirect_task.id])).content.decode()
    assert "&lt;b&gt;Bank&lt;/b&gt;" in text
    assert "<b>Bank" not in text
    assert "<i>" not in text


def test_who_said_not_me_is_told_what_that_means(client, db, now):
    redirect_task = make_redirect_task(client, now=now, **ASKED)
    page = reverse("wallet_sign_in", args=[redirect_task.id])
    assert "You are signed out. This request is for" in client.get(f"{page}?not_me=1").content.decode()
    assert "You are signed out." not in client.get(page).content.decode()
