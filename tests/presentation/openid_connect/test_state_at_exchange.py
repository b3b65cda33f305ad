"""What is behind a code or an access token leaves only while the presentation is valid."""

import threading
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.utils import timezone

from consent import decisions
from consent.models import Consent
from keys.models import SigningKey, StatementKey
from keys.rotation import due_steps, transitions
from presentation.requests.models import AuthorizationCode
from tests.people import ALICE, enroll
from tests.presentation.openid_connect.shop import Shop, user_info
from tests.relying_party import read_jwt
from tests.wallet.statuses import SAID
from wallet.account.closing import closures
from wallet.credential import revocation
from wallet.models import Credential, StatusEntry, Wallet
from wallet.operations import suspension
from wallet.sign_in import sessions
from wallet.status_lists import changes

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("signing_key")]
HISTORY = "/wallet/history/"
Change = Callable[[Wallet], Any]


def _said() -> dict[str, Any]:
    return SAID | {"now": timezone.now()}


def _operator_invalidates(wallet: Wallet) -> None:
    changes.change_presented(StatusEntry.objects.get(), changes.Action.INVALIDATED, **_said())


def _operator_suspends(wallet: Wallet) -> None:
    changes.change_presented(StatusEntry.objects.get(), changes.Action.SUSPENDED, **_said())


def _presentation_expires(wallet: Wallet) -> None:
    StatusEntry.objects.update(expires_at=timezone.now())


CHANGES: dict[str, Change] = {
    "the credential is revoked": lambda wallet: revocation.revoke(wallet.credential, **_said()),
    "the credential is suspended": lambda wallet: revocation.suspend(wallet.credential, **_said()),
    "the wallet is suspended": lambda wallet: suspension.suspend(wallet, **_said()),
    "the wallet is about to close": lambda wallet: closures.ask(wallet, now=timezone.now()),
    "the presentation is taken back": lambda wallet: decisions.take_back(
        wallet, Consent.objects.get().id, now=timezone.now()
    ),
    "an operator invalidates the presentation": _operator_invalidates,
    "an operator suspends the presentation": _operator_suspends,
    "the presentation expires": _presentation_expires,
}
of_every_change = pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())


def refused(response: Any) -> str:
    assert response.status_code in (400, 401), response.content
    return str(response.json()["error"])


@pytest.fixture
def code(holder: Client, shop: Shop) -> str:
    return shop.code(holder)


@of_every_change
def test_between_the_yes_and_the_exchange(shop: Shop, code: str, alice: Wallet, change: Change) -> None:
    change(alice)
    assert refused(shop.redeems(Client(), code)) == "invalid_grant"
    row = AuthorizationCode.objects.get()
    assert (row.used_at, row.access_digest) == (None, None)
    assert Consent.objects.get().undelivered_at is not None


@of_every_change
def test_between_the_exchange_and_user_info(shop: Shop, code: str, alice: Wallet, change: Change) -> None:
    token = shop.redeems(Client(), code).json()["access_token"]
    assert user_info(Client(), token).status_code == 200
    change(alice)
    assert refused(user_info(Client(), token)) == "invalid_token"


def test_a_key_that_is_withdrawn_ends_what_it_signed(shop: Shop, code: str, signing_key: SigningKey) -> None:
    token = shop.redeems(Client(), code).json()["access_token"]
    transitions.withdraw(signing_key.pk, reason="stolen", now=timezone.now())
    assert refused(user_info(Client(), token)) == "invalid_token"


def test_what_was_suspended_for_a_moment_can_be_collected_afterwards(
    shop: Shop, code: str, alice: Wallet
) -> None:
    suspension.suspend(alice, **_said())
    assert refused(shop.redeems(Client(), code)) == "invalid_grant"
    suspension.reinstate(alice, **_said())
    assert shop.redeems(Client(), code).status_code == 200


def test_a_new_verification_meanwhile_does_not_bring_back_what_was_revoked(
    shop: Shop, code: str, alice: Wallet
) -> None:
    revocation.revoke(alice.credential, **_said())
    Credential.objects.update(
        state=Credential.State.VALID, issued_at=timezone.now(), revoked_at=None
    )  # as after a new verification
    assert refused(shop.redeems(Client(), code)) == "invalid_grant"


# --- Taking back an open code -----------------------------------------------------------------------------


def test_taking_back_an_open_code_ends_it_and_says_so(
    holder: Client, shop: Shop, code: str, signing_key: Any
) -> None:
    due_steps.rotate(now=timezone.now(), kind=StatementKey)
    consent = Consent.objects.get()
    page = f"{HISTORY}{consent.id}/invalidate/"
    receipts = holder.get(HISTORY).content.decode()
    assert "You said yes, not collected yet" in receipts
    assert page in receipts
    assert page in holder.get(f"{HISTORY}{consent.id}/").content.decode()
    assert holder.get(page).status_code == 200

    done = holder.get(holder.post(page).headers["Location"]).content.decode()

    assert "<bdi>Shop</bdi> ended before it was collected. Nothing was shared." in done
    assert "You said yes, but nothing was shared" in done
    assert page not in done
    assert refused(shop.redeems(Client(), code)) == "invalid_grant"
    receipt = holder.get(f"{HISTORY}{consent.id}/").content.decode()
    assert "It was ended before <bdi>Shop</bdi> collected it." in receipt
    assert _stated(holder, consent)["answer"] == "not delivered"


def test_what_was_collected_is_taken_back_as_before(holder: Client, shop: Shop, code: str) -> None:
    shop.redeems(Client(), code)
    consent = Consent.objects.get()
    done = holder.get(holder.post(f"{HISTORY}{consent.id}/invalidate/").headers["Location"]).content.decode()
    assert "What you shared with <bdi>Shop</bdi> is not valid any more." in done
    assert "Shared, no longer valid" in done
    assert Consent.objects.get().undelivered_at is None


def test_an_exchange_that_read_the_clock_before_a_take_back_comes_too_late(
    shop: Shop, code: str, alice: Wallet
) -> None:
    consent = Consent.objects.get()
    before = timezone.now()
    decisions.take_back(alice, consent.id, now=before + timedelta(seconds=1))
    assert not decisions.collect(consent.id, now=before)


def test_another_holder_cannot_end_a_code(shop: Shop, code: str, bob: Wallet) -> None:
    decisions.take_back(bob, Consent.objects.get().id, now=timezone.now())
    assert shop.redeems(Client(), code).status_code == 200


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_taking_back_and_exchanging_at_once_one_wins_and_the_record_agrees(
    client: Client, signing_key: Any
) -> None:
    shop = Shop.registered()
    wallet = enroll(ALICE, given_name="Alice", family_name="Archer", birth_date=date(1990, 4, 1))
    response = HttpResponse()
    sessions.start(RequestFactory().get("/"), response, wallet, now=timezone.now())
    client.cookies[settings.HOLDER_COOKIE_NAME] = response.cookies[settings.HOLDER_COOKIE_NAME].value
    for _ in range(8):
        code = shop.code(client)
        consent = Consent.objects.latest("asked_at")
        begin, got = threading.Barrier(2), list[Any]()

        def exchange(code: str = code, begin: Any = begin, got: Any = got) -> None:
            try:
                begin.wait(timeout=10)
                got.append(shop.redeems(Client(), code))
            finally:
                connection.close()

        def take_back(consent: Consent = consent, begin: Any = begin) -> None:
            try:
                begin.wait(timeout=10)
                decisions.take_back(wallet, consent.id, now=timezone.now())
            finally:
                connection.close()

        threads = [threading.Thread(target=exchange), threading.Thread(target=take_back)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=30)

        (answer,) = got
        consent.refresh_from_db()
        assert (answer.status_code == 200) is (consent.undelivered_at is None)
        assert StatusEntry.objects.get(reference=consent.id).status == StatusEntry.Status.INVALID
        if answer.status_code == 200:  # the exchange came first
            assert refused(user_info(Client(), answer.json()["access_token"])) == "invalid_token"
        else:
            assert refused(answer) == "invalid_grant"
            assert consent.undelivered_at == consent.decided_at
            assert refused(shop.redeems(Client(), code)) == "invalid_grant"


# --- Statements -------------------------------------------------------------------------------------------


def _stated(holder: Client, consent: Consent) -> dict[str, Any]:
    response = holder.get(f"{HISTORY}{consent.id}/statement/")
    assert response.status_code == 200, response.content
    return dict(read_jwt(response.content.decode()).payload)


def test_nothing_is_stated_while_a_code_is_open(holder: Client, shop: Shop, code: str) -> None:
    due_steps.rotate(now=timezone.now(), kind=StatementKey)
    consent = Consent.objects.get()
    receipt = f"{HISTORY}{consent.id}/"
    assert holder.get(f"{receipt}statement/").status_code == 404
    page = holder.get(receipt).content.decode()
    assert "statement/" not in page
    assert "qr-code" not in page
    assert "<bdi>Shop</bdi> can collect your answer for about a minute" in page

    shop.redeems(Client(), code)
    assert _stated(holder, consent)["answer"] == "shared"


def test_a_code_that_ended_unused_is_stated_as_not_delivered(holder: Client, shop: Shop, code: str) -> None:
    due_steps.rotate(now=timezone.now(), kind=StatementKey)
    consent = Consent.objects.get()
    Consent.objects.update(undelivered_at=timezone.now())
    assert refused(shop.redeems(Client(), code)) == "invalid_grant"
    assert _stated(holder, consent)["answer"] == "not delivered"


def test_an_answer_stays_collectable_until_its_code_has_surely_ended(shop: Shop, code: str) -> None:
    """So that no exchange that began in time ends after a statement was signed."""
    until = Consent.objects.get().undelivered_at
    assert until is not None
    assert until > AuthorizationCode.objects.get().expires_at


def test_what_can_be_collected_is_on_the_page_of_what_the_requester_knows(
    holder: Client, shop: Shop, code: str
) -> None:
    page = f"/wallet/requesters/{shop.party.client_id}/"
    assert "Still valid." in holder.get(page).content.decode()
    Consent.objects.update(undelivered_at=timezone.now())
    assert "They received nothing." in holder.get(page).content.decode()
