"""Receipts as signed statements: saved, printed as a QR code, and checked by anybody."""

import re
from typing import Any

import pytest
from django.conf import settings as project
from django.test import Client
from django.utils import timezone
from playwright.sync_api import expect

from consent import decisions, statements
from consent.models import Consent
from keys.models import StatementKey
from keys.rotation import due_steps
from tests.consent.questions import BASIC, HASH, WIRE, put
from tests.drawn import without_drawn
from tests.relying_party import read_jwt
from wallet.models import Wallet

pytestmark = pytest.mark.django_db
HISTORY, CHECK = "/wallet/history/", "/receipt-check/"
OPTIONAL = [("birth_date",)]


@pytest.fixture
def statement_key(signing_key: Any) -> StatementKey:
    due_steps.rotate(now=timezone.now(), kind=StatementKey)
    return StatementKey.objects.get()


def answered(wallet: Wallet, answer: str, **changes: Any) -> Consent:
    now = timezone.now()
    consent = put(wallet, **changes)
    if answer == "not shared":
        decisions.decline(consent.id, wallet, now=now)
    else:
        decisions.grant(consent.id, wallet, now=now)
    if answer == "not delivered":
        Consent.objects.filter(id=consent.id).update(undelivered_at=now)
    return Consent.objects.get(id=consent.id)


def saved(client: Client, consent: Consent) -> str:
    response = client.get(f"{HISTORY}{consent.id}/statement/")
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/jwt"
    assert "no-store" in response.headers["Cache-Control"]
    assert response.headers["Content-Disposition"] == f'attachment; filename="receipt-{consent.id}.jwt"'
    return response.content.decode()


def check(statement: str) -> Any:
    """What somebody without an account sees."""
    return Client().post(CHECK, {"statement": statement})


@pytest.mark.parametrize("answer", ["shared", "not shared", "not delivered"])
def test_every_receipt_is_saved_with_names_and_no_values(
    holder: Client, alice: Wallet, statement_key: StatementKey, answer: str
) -> None:
    consent = answered(alice, answer, transactions=[WIRE])
    token = read_jwt(saved(holder, consent))

    assert token.header == {"alg": "ES256", "typ": "receipt-statement+jwt", "kid": str(statement_key)}
    assert token.payload.pop("iat") >= token.payload["answered_at"]
    assert token.payload == {
        "iss": project.BASE_URL,
        "receipt": str(consent.id),
        "requester": {"client_id": "acme", "name": "Acme Bank", "domain": "bank.example"},
        "claims": [".".join(path) for path in BASIC],
        "answer": answer,
        "answered_at": int(consent.decided_at.timestamp()),  # type: ignore[union-attr]
        "transaction_data_hashes": [HASH],
    }


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("shared", "<dd>Shared"),
        ("not shared", "<dd>Not shared"),
        ("not delivered", "<dd>The person said yes, but nothing"),
    ],
)
def test_anybody_sees_that_a_statement_is_genuine_and_what_it_says(
    holder: Client, alice: Wallet, statement_key: StatementKey, answer: str, said: str
) -> None:
    consent = answered(alice, answer, transactions=[WIRE])

    response = check(saved(holder, consent))

    page = response.content.decode()
    assert response.status_code == 200
    assert "no-store" in response.headers["Cache-Control"]
    assert re.search("Genuine, from <bdi>.+</bdi>", page)
    for text in ("Acme Bank", "bank.example", "Given name", said, HASH, str(consent.id)):
        assert text in page
    for value in ("Alice", "Archer", alice.email, "12,500.00", "DE89"):
        assert value not in page


def test_only_shared_claims_are_named(holder: Client, alice: Wallet, statement_key: StatementKey) -> None:
    consent = answered(alice, "shared", claims=[*BASIC, *OPTIONAL], optional=OPTIONAL)
    assert read_jwt(saved(holder, consent)).payload["claims"] == [".".join(path) for path in BASIC]


def test_anything_else_is_not_genuine(holder: Client, alice: Wallet, statement_key: StatementKey) -> None:
    statement = saved(holder, answered(alice, "not shared"))
    header, payload, signature = statement.split(".")
    for wrong in ("", "x", f"{header}.{payload}.{signature[:-4]}AAAA", statement * 20, "é\x00\n", "a.b.c"):
        response = check(wrong)
        assert response.status_code == 422
        assert "Not genuine" in response.content.decode()
        assert "Acme" not in without_drawn(response.content.decode())
    assert "Genuine" in check(f"\n {statement}\n").content.decode(), "as it is pasted"


def test_a_check_stores_nothing_and_logs_nothing_of_it(
    holder: Client, alice: Wallet, statement_key: StatementKey, statements: Any, capsys: Any
) -> None:
    statement = saved(holder, answered(alice, "shared"))
    capsys.readouterr()
    with statements() as made:
        check(statement)
    assert made.texts
    assert all(text.startswith("SELECT") for text in made.texts)
    log = capsys.readouterr().err
    assert "[config.middleware]" in log
    assert statement.split(".")[1] not in log


def test_a_check_costs_one_query_and_a_limited_length(
    holder: Client, alice: Wallet, statement_key: StatementKey, statements: Any
) -> None:
    statement = saved(holder, answered(alice, "shared"))
    for sent, most in ((statement, 1), ("a.b.c", 0), ("e30." * 3, 0), (statement + "A" * 16_384, 0)):
        with statements() as made:
            check(sent)
        assert len([text for text in made.texts if "keys_" in text]) == most


def test_strangers_and_others_get_no_statement(
    client: Client, alice: Wallet, bob: Wallet, sign_in: Any, statement_key: StatementKey
) -> None:
    mine, open_one = answered(alice, "shared"), put(bob)
    assert client.get(f"{HISTORY}{mine.id}/statement/").status_code == 303
    sign_in(bob)
    for consent in (mine, open_one):
        assert client.get(f"{HISTORY}{consent.id}/statement/").status_code == 404


def test_while_statements_cannot_be_signed_receipts_are_shown_without(holder: Client, alice: Wallet) -> None:
    consent = answered(alice, "shared")
    response = holder.get(f"{HISTORY}{consent.id}/")
    assert response.status_code == 200
    assert "signed statement" not in response.content.decode()
    assert holder.get(f"{HISTORY}{consent.id}/statement/").status_code == 404


def test_a_statement_too_long_for_a_code_is_only_saved() -> None:
    assert statements.qr_code("x" * 2000).startswith("<svg")
    assert statements.qr_code("x" * 3000) == ""


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_the_code_on_paper_leads_to_the_answer_and_the_statement_leaves_the_address_bar(
    as_alice: Any, alice: Wallet, live_server: Any, browser: Any, statement_key: StatementKey, settings: Any
) -> None:
    settings.BASE_URL = live_server.url
    consent = answered(alice, "not shared")
    as_alice.goto(f"{live_server.url}{HISTORY}{consent.id}/")
    expect(as_alice.get_by_role("img", name="QR code that checks this receipt")).to_be_visible()
    with as_alice.expect_download() as download:
        as_alice.get_by_role("link", name="Save as a signed statement").click()
    statement = download.value.path().read_text()

    context = browser.new_context(locale="en-GB")
    stranger, requested = context.new_page(), []
    stranger.on("request", lambda request: requested.append(request.url))
    stranger.goto(f"{live_server.url}{CHECK}#{statement}")
    expect(stranger.get_by_role("status")).to_contain_text("Genuine, from")
    assert stranger.url == f"{live_server.url}{CHECK}"
    assert not any(statement[:40] in url for url in requested)
    stranger.goto(f"{live_server.url}{CHECK}#{statement[:-9]}")
    expect(stranger.get_by_role("alert")).to_contain_text("Not genuine")
    context.close()
