"""A closed wallet is searched for in the whole database: every column of every table, sealed ones opened.

The person has everything that the product can store of somebody. A control shows that the search finds it all
before the wallet is closed.
"""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from consent.models import Consent
from infra import personal_data
from presentation.models import Interaction, RelyingParty
from presentation.webhooks.models import WebhookEvent
from tests.people import BOB
from tests.personal_data import NOT_SEARCHED, TRANSACTION_DATA, searched_texts
from tests.personal_data import plain as _plain
from tests.petronella import DAY, DIGESTS, PERSON, closed, in_the_database
from tests.presentation.requests.deciding import SignIn, ask, decide
from wallet.account.closing import closures, sweeping
from wallet.models import (
    HolderSession,
    StatusEntry,
    Wallet,
    WalletClosure,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("signing_key"), pytest.mark.slow]

# What may name the wallet by its internal number: facts that lead to nobody once the wallet is gone.
FACTS = {"wallet_walletclosure", "infra_auditline"}


@pytest.mark.slow
def test_before_the_wallet_is_closed_the_search_finds_everything(petronella: Wallet) -> None:
    hits = in_the_database(PERSON | {"showspetronella"})

    everything = set().union(*hits.values())
    assert {_plain(text) for text in PERSON - DIGESTS} | {"showspetronella"} == everything
    assert {"wallet_wallet", "wallet_credential", "wallet_identityverification", "wallet_picture"} <= set(
        hits
    )
    assert {"wallet_errand", "wallet_loginlink", "presentation_interaction"} <= set(hits)
    assert {"presentation_pushedrequest", "presentation_delivery", "infra_outgoingemail"} <= set(hits)
    assert {"wallet_passkey", "wallet_emailchange", "wallet_formeraddress", "wallet_recovery"} <= set(hits)
    assert HolderSession.objects.filter(browser_name="Firefox", system_name="Linux").exists()
    assert Consent.objects.filter(email_due=True).exists()
    payments = set().union(*in_the_database(searched_texts()).values())
    assert {_plain(text) for text in ("Petra Payee", "DE02120300000000202051", "203.0.113.177")} <= payments
    assert set(in_the_database({str(petronella.id), petronella.id.hex})) > FACTS - {"wallet_walletclosure"}


def test_of_a_closed_wallet_nothing_is_left(petronella: Wallet, bob: Wallet) -> None:
    browsers = set(Interaction.objects.values_list("browser", flat=True))

    closed(petronella)

    assert in_the_database(PERSON | browsers) == {}
    assert in_the_database(searched_texts() - {_plain(text) for text in NOT_SEARCHED}) == {}
    assert set(in_the_database({str(petronella.id), petronella.id.hex})) == FACTS
    assert list(Wallet.objects.values_list("email", flat=True)) == [BOB]
    assert WalletClosure.objects.get().finished_at is not None


@pytest.mark.slow
@pytest.mark.parametrize("number", range(6))
def test_the_search_finds_something_when_one_eraser_is_left_out(
    petronella: Wallet, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    erasers = list(personal_data.erasers())
    assert len(erasers) == 6
    traces = PERSON | set(Interaction.objects.values_list("browser", flat=True))
    traces |= searched_texts() - {_plain(text) for text in NOT_SEARCHED}
    closures.ask(petronella, now=timezone.now())

    del erasers[number]
    monkeypatch.setattr(personal_data, "erasers", lambda: erasers)
    sweeping.sweep(now=timezone.now() + DAY)

    # Before the row of the wallet goes, and what refers to it with it.
    found = in_the_database(traces)
    found.pop("wallet_walletclosure", None)  # the address for the last e-mail
    assert found != {}


def test_with_a_legal_hold_only_the_payments_stay_and_nobody_is_named(
    petronella: Wallet, settings: Any
) -> None:
    settings.TRANSACTION_LEGAL_HOLD = True
    browsers = set(Interaction.objects.values_list("browser", flat=True))

    closed(petronella)

    assert in_the_database(PERSON | browsers) == {}
    payments = in_the_database({"Petra Payee", "DE02 1203 0000 0000 2020 51"})
    assert set(payments) == {"consent_consent"}
    assert set(Consent.objects.values_list("wallet", flat=True)) == {None}


def test_relying_parties_keep_their_facts_and_are_told_of_the_revocation(petronella: Wallet) -> None:
    StatusEntry.objects.filter(reference__isnull=False).update(expires_at=timezone.now() + 3 * DAY)

    closed(petronella)

    kept = Consent.objects.order_by("asked_at").values_list("requester__name", "decision")
    assert list(kept)[:3] == [("Acme Bank", "granted"), ("Acme Bank", "declined"), ("Acme Bank", "granted")]
    assert WebhookEvent.objects.filter(type="credential.revoked").count() == 3
    assert not Interaction.objects.filter(outcome="").exists()


def test_the_wallet_of_somebody_else_is_left_as_it_was(
    petronella: Wallet, bob: Wallet, bank: RelyingParty, sign_in: SignIn
) -> None:
    browser = Client()
    sign_in(bob, browser=browser)
    wanted = {"login_hint": BOB, "nonce": "nonce-of-bob-of-length", "transaction_data": TRANSACTION_DATA}
    browser.get(decide(browser, ask(browser, bank, **wanted)))
    before = in_the_database({BOB, "Baker", "1985-12-24"})

    closed(petronella)

    assert in_the_database({BOB, "Baker", "1985-12-24"}) == before
    receipt = Consent.objects.get(wallet=bob, decision="granted").id
    assert "DE02 1203 0000 0000 2020 51" in browser.get(f"/wallet/history/{receipt}/").content.decode()
