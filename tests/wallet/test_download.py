"""Download my data: what it contains, who gets it, and that it is complete."""

import gc
import json
import re
from datetime import date, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from consent.models import Consent
from consent.personal_data import BATCH
from consent.question import Requester
from consent.transactions import seal_in
from infra.personal_data import sections
from presentation.models import RelyingParty
from tests.own_databases import ROOT
from tests.people import ALICE, BOB, DETAILS, enroll
from tests.personal_data import TRANSACTION_DATA
from tests.presentation.requests.deciding import SignIn, ask, decide
from tests.wallet.conftest import passkey_of
from wallet.account import pairwise
from wallet.account.closing import closures
from wallet.credential.birth_dates import PartialDate
from wallet.models import EmailChange, FormerAddress, HolderSession, IdentityVerification, Recovery, Wallet

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("signing_key")]
PAGE = "/wallet/data/"
JSON = "/wallet/data/json/"
HTML = "/wallet/data/html/"


def content(response: Any) -> str:
    return b"".join(response.streaming_content).decode()


def share(client: Client, wallet: Wallet, party: RelyingParty, sign_in: SignIn, **request: Any) -> None:
    sign_in(wallet)
    client.get(decide(client, ask(client, party, login_hint=wallet.email, **request)))


def test_both_downloads_hold_what_the_wallet_knows_and_nothing_of_another(
    client: Client,
    alice: Wallet,
    bob: Wallet,
    acme_bank: RelyingParty,
    corner_shop: RelyingParty,
    sign_in: SignIn,
) -> None:
    share(client, bob, corner_shop, sign_in, redirect_uri="https://shop.example/callback")
    share(client, alice, acme_bank, sign_in, transaction_data=TRANSACTION_DATA)

    document, page = json.loads(content(client.get(JSON))), content(client.get(HTML))

    assert document["complete"] is True
    assert document["wallet"][0]["email"] == ALICE
    assert document["identity"][0]["values"]["birth_date"] == "1990-04-01"
    assert document["identity_checks"][0]["evidence"]["verified_by"] == "The tests"
    assert len(document["browsers"]) == 1
    (receipt,) = document["receipts"]
    assert receipt["requester"]["name"] == "Acme Bank"
    assert "DE02 1203 0000 0000 2020 51" in json.dumps(receipt["transactions"])
    for text in (ALICE, "Archer", "1 April 1990", "The tests", "Acme Bank", "DE02 1203 0000 0000 2020 51"):
        assert text in page
    for other in (BOB, "Baker", "1985-12-24", "24 December 1985", "Corner Shop", str(bob.id)):
        assert other not in page + json.dumps(document)


def test_the_details_that_a_provider_verified_are_in_both(client: Client, sign_in: SignIn) -> None:
    born = date(1990, 4, 1)
    sign_in(enroll("x@example.org", given_name="X", family_name="", birth_date=born, details=DETAILS))

    document, page = json.loads(content(client.get(JSON))), content(client.get(HTML))

    assert document["identity"][0]["values"].items() >= DETAILS.items()
    for text in (
        "Postal code",
        "N1 1AA",
        "Place of birth",
        "Yorkshire",
        "Number of the document",
        "P1234567",
    ):
        assert text in page


@pytest.mark.parametrize(
    ("born", "words"),
    [(PartialDate(1990, 4), "April 1990"), (PartialDate(1990), "1990")],
)
def test_what_is_known_of_a_birth_date_is_in_both(
    client: Client, sign_in: SignIn, born: PartialDate, words: str
) -> None:
    sign_in(enroll("x@example.org", given_name="X", family_name="", birth_date=born))

    document, page = json.loads(content(client.get(JSON))), content(client.get(HTML))

    assert document["identity"][0]["values"]["birth_date"] == born.isoformat()
    assert words in page
    assert words in client.get("/wallet/").content.decode()


def test_the_page_needs_nothing_from_elsewhere(holder: Client) -> None:
    page = content(holder.get(HTML))

    assert page.startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")
    assert not re.search(r"<script|src=|url\(|@import|<link|<img|<form", page)
    assert "default-src 'none'" in page


def test_downloads_are_not_cached_and_their_names_say_nothing(holder: Client) -> None:
    for address, media_type in ((JSON, "application/json"), (HTML, "text/html; charset=utf-8")):
        headers = holder.get(address).headers
        assert "no-store" in headers["Cache-Control"]
        assert headers["Content-Type"] == media_type
        assert re.fullmatch(
            r'attachment; filename="my-data-\d{4}-\d\d-\d\d\.\w{4}"', headers["Content-Disposition"]
        )


@pytest.mark.parametrize("address", [PAGE, JSON, HTML])
def test_downloads_need_a_fresh_factor(client: Client, alice: Wallet, sign_in: SignIn, address: str) -> None:
    assert client.get(address).headers["Location"] == "/wallet/sign-in/"
    sign_in(alice, ago=timedelta(minutes=6))

    first, second = (client.get(address).headers["Location"] for _ in range(2))

    assert re.fullmatch(r"/wallet/errands/[0-9a-f-]+/sign-in/", first)
    assert first == second


@pytest.mark.usefixtures("windows_just_begun")
def test_downloads_are_limited_by_the_hour(holder: Client) -> None:
    for _ in range(10):
        assert holder.get(JSON).status_code == 200

    refused = holder.get(HTML)

    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) <= 3600
    assert "You can do it again at" in refused.content.decode()
    assert holder.head(JSON).status_code == 200
    assert holder.get(PAGE).status_code == 200


def many(wallet: Wallet, count: int, *, apart: timedelta = timedelta(seconds=1)) -> None:
    """Receipts of payments, all sealed."""
    rows, now = [], timezone.now()
    requester = Requester(name="Acme Bank", domain="bank.example").to_json()
    for number in range(count):
        row = Consent(
            wallet=wallet,
            requester_id="acme",
            requester=requester,
            claims=[["given_name"]],
            request_hash="0" * 64,
            return_to="/",
            decision="granted",
            asked_at=now - number * apart,
            decided_at=now - number * apart,
            expires_at=now,
        )
        shown = {
            "kind": "urn:x",
            "title": "Approve a bank transfer",
            "blocks": [{"block": "amount", "label": "Amount", "value": f"{number}.00 EUR"}],
            "consequential": True,
        }
        seal_in(row, [shown], ["hash"])
        rows.append(row)
    Consent.objects.bulk_create(rows, batch_size=500)


def test_receipts_are_read_in_batches_and_none_twice_even_of_the_same_moment(
    client: Client, alice: Wallet, sign_in: SignIn, statements: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("consent.personal_data.BATCH", 7)
    many(alice, 40, apart=timedelta(0))
    sign_in(alice)

    with statements() as made:
        document = json.loads(content(client.get(JSON)))

    assert len({receipt["id"] for receipt in document["receipts"]}) == len(document["receipts"]) == 40
    read = [text for text in made.texts if 'FROM "consent_consent"' in text]
    assert len(read) == 7  # six batches, and none that follows


@pytest.mark.slow
def test_many_receipts_need_little_memory(client: Client, alice: Wallet, sign_in: SignIn) -> None:
    receipts = 10 * BATCH
    many(alice, receipts)
    sign_in(alice)
    for address, entry in ((JSON, '"answer": "shared"'), (HTML, "Approve a bank transfer")):
        pieces = client.get(address).streaming_content
        held, found = [], 0
        for piece in pieces:
            assert len(piece) < 64_000
            found += piece.decode().count(entry)
            if found > receipts / 2 and not held:
                held = [row for row in gc.get_objects() if isinstance(row, Consent)]

        assert found == receipts
        assert 0 < len(held) <= 2 * BATCH  # half-way, a batch or two are in memory


def test_what_requesters_write_stays_text(client: Client, alice: Wallet, sign_in: SignIn) -> None:
    many(alice, 1)
    evil = "</article><script>alert(1)</script><img src=x onerror=alert(1)>"
    Consent.objects.update(requester=Requester(name=evil, domain=evil, purpose=evil).to_json())
    sign_in(alice)

    page = content(client.get(HTML))

    assert "&lt;script&gt;" in page
    assert "<script" not in page
    assert "<img" not in page
    assert json.loads(content(client.get(JSON)))["receipts"][0]["requester"]["name"] == evil


def test_an_identity_that_is_erased_or_cannot_be_opened_does_not_stop_the_download(
    client: Client, alice: Wallet, sign_in: SignIn, settings: Any
) -> None:
    many(alice, 1)
    sign_in(alice)
    settings.KEY_SEALING_KEYS = ["another-sealing-key-of-many-characters"]

    document = json.loads(content(client.get(JSON)))

    assert document["identity"][0]["values"] is None
    assert document["receipts"][0]["transactions"][0]["shown"] is None
    assert document["complete"]
    assert content(client.get(HTML)).rstrip().endswith("</html>")


def test_the_document_lists_the_members_of_every_section(
    client: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: SignIn
) -> None:
    share(client, alice, acme_bank, sign_in, transaction_data=TRANSACTION_DATA)
    number = pairwise.of(alice, "acme-bank", now=timezone.now())
    _ways_in(alice)
    text = (ROOT / "docs" / "data-protection.md").read_text()
    described = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|$", text, re.M))

    document = json.loads(content(client.get(JSON)))

    assert list(described) == [*document][:3] + [section.name for section in sections()] + ["complete"]
    for name, entries in document.items():
        if isinstance(entries, list):
            members = re.findall(r"`(\w+)`", described[name])
            assert [list(entry) for entry in entries] == [members] * len(entries), name
            assert entries, name
    assert [entry["value"] for entry in document["pairwise_subjects"]] == [number]


def _ways_in(wallet: Wallet) -> None:
    now = timezone.now()
    passkey_of(wallet, "Alice’s phone", now)
    FormerAddress.objects.create(
        wallet=wallet, email="before@example.org", left_at=now, expires_at=now + timedelta(days=7)
    )
    EmailChange.objects.create(
        wallet=wallet, email="next@example.org", tries_left=5, expires_at=now + timedelta(minutes=9)
    )
    Recovery.objects.create(old=wallet, state="stopped", asked_at=now, ended_at=now, decided_by="olga")


def test_the_download_has_how_one_signs_in_and_names_no_operator(holder: Client, alice: Wallet) -> None:
    _ways_in(alice)
    HolderSession.objects.update(browser_name="Firefox", system_name="Linux")

    document, page = json.loads(content(holder.get(JSON))), content(holder.get(HTML))

    assert [each["name"] for each in document["browsers"]] == ["Firefox on Linux"]
    (passkey,) = document["passkeys"]
    assert (passkey["name"], passkey["backed_up"], passkey["last_used_at"]) == ("Alice’s phone", True, None)
    asked, before = document["address_changes"]
    assert (asked["state"], asked["new_address"]) == ("asked", "next@example.org")
    assert (before["state"], before["address_before"]) == ("changed", "before@example.org")
    assert document["recoveries"][0]["decided_by"] == "operator"
    assert document["wallet"][0]["share_emails"] is False
    for text in (
        "Firefox on Linux",
        "Alice’s phone",
        "before@example.org",
        "This wallet, to another address",
    ):
        assert text in page
    assert "olga" not in page + json.dumps(document)


def test_the_page_has_words_and_no_codes(holder: Client, alice: Wallet) -> None:
    _ways_in(alice)
    Recovery.objects.update(state="waiting", decided_by="old mailbox")
    IdentityVerification.objects.create(
        wallet=alice,
        state="resubmit",
        provider="in_person",
        created_at=timezone.now(),
        changed_at=timezone.now(),
    )
    closures.ask(alice, now=timezone.now())

    page = content(holder.get(HTML))

    for words in (
        "about to close",
        "to be submitted again",
        "waits for the move",
        "a person who reads the old mailbox",
    ):
        assert words in page
    for code in ("resubmit", "closing", "old mailbox<", "waiting<", "asked<", "away<"):
        assert f"<bdi>{code}" not in page


def test_claims_that_were_left_off_are_not_among_those_that_were_shared(
    client: Client, alice: Wallet, sign_in: SignIn
) -> None:
    many(alice, 1)
    claims = [["given_name"], ["birth_date"], ["nationalities"]]
    Consent.objects.update(claims=claims, optional_claims=claims[1:], switched_on=claims[2:])
    sign_in(alice)

    (receipt,) = json.loads(content(client.get(JSON)))["receipts"]
    page = content(client.get(HTML))

    assert [claim["name"] for claim in receipt["claims"]] == ["given_name", "nationalities"]
    assert [claim["name"] for claim in receipt["left_off"]] == ["birth_date"]
    assert "You left off" in page
