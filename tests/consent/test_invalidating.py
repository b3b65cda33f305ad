"""Holders invalidate what they shared: from its receipt, after a confirmation, before it expires."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from consent import decisions
from consent.models import Consent
from tests.consent.questions import put
from tests.wallet.statuses import INVALID, SAID, VALID, presented, status_of
from wallet.models import StatusEntry, StatusEvent, Wallet
from wallet.operations import suspension
from wallet.status_lists import changes

pytestmark = [pytest.mark.usefixtures("signing_key"), pytest.mark.slow]

HISTORY = "/wallet/history/"


def shared(wallet: Wallet) -> tuple[Consent, StatusEntry]:
    """A consent that was granted, and the status entry of its presented credential."""
    consent = put(wallet)
    decisions.grant(consent.id, wallet, now=timezone.now())
    return consent, presented(wallet, reference=consent.id)


def told(client: Client, invalidated: object) -> str:
    """The page of receipts with the query that names an invalidated receipt."""
    return client.get(HISTORY, {"invalidated": invalidated}).content.decode()


def page_of(consent: Consent) -> str:
    return f"{HISTORY}{consent.id}/invalidate/"


def test_the_receipt_leads_to_a_confirmation_that_invalidates_it(holder, alice) -> None:
    consent, entry = shared(alice)
    assert f'href="{page_of(consent)}"' in holder.get(HISTORY).content.decode()

    asked = holder.get(page_of(consent))
    assert "Take back the details you shared with <bdi>Acme Bank</bdi>?" in asked.content.decode()
    assert "no-store" in asked.headers["Cache-Control"]
    assert status_of(entry) == VALID

    done = holder.post(page_of(consent))
    assert (done.status_code, done.headers["Location"]) == (303, f"{HISTORY}?invalidated={consent.id}")
    assert status_of(entry) == INVALID
    assert 'role="status">What you shared with <bdi>Acme Bank</bdi> is not valid' in told(holder, consent.id)
    receipts = holder.get(HISTORY).content.decode()
    assert 'role="status"' not in receipts
    assert "no longer valid" in receipts
    assert page_of(consent) not in receipts
    event = StatusEvent.objects.get()
    assert (event.actor, event.subject_id, event.count) == ("holder", str(entry), 1)


def test_only_invalid_credentials_are_shown_as_invalid(holder, alice, bob) -> None:
    (mine, _entry), (his, entry) = shared(alice), shared(bob)
    StatusEntry.objects.filter(pk=entry.pk).update(status=INVALID)

    for said in (mine.id, his.id, uuid4(), "", "x"):
        assert 'role="status"' not in told(holder, said)


def test_only_what_is_on_the_receipt_is_invalidated(holder, alice) -> None:
    (consent, entry), (_other, kept) = shared(alice), shared(alice)

    holder.post(page_of(consent))

    assert (status_of(entry), status_of(kept)) == (INVALID, VALID)


def test_all_that_was_presented_with_one_receipt_is_invalidated(holder, alice) -> None:
    consent, first = shared(alice)
    others = [presented(alice, reference=consent.id) for _ in range(2)]
    changes.change_presented(first, changes.Action.INVALIDATED, now=timezone.now(), **SAID)
    assert page_of(consent) in holder.get(HISTORY).content.decode(), "two are still valid"

    holder.post(page_of(consent))

    assert [status_of(entry) for entry in (first, *others)] == [INVALID] * 3
    assert page_of(consent) not in holder.get(HISTORY).content.decode()
    by_holder = StatusEvent.objects.filter(actor="holder")
    assert {(event.subject_id, event.count) for event in by_holder} == {(str(entry), 1) for entry in others}


def test_nobody_takes_back_what_is_not_theirs(client, alice, bob, sign_in) -> None:
    sign_in(bob)
    consent, entry = shared(alice)

    for method in (client.get, client.post):
        assert method(page_of(consent)).status_code == 404
        assert method(f"{HISTORY}{uuid4()}/invalidate/").status_code == 404
    assert status_of(entry) == VALID


def test_a_browser_that_is_not_signed_in_is_redirected_to_the_sign_in(client, alice) -> None:
    consent, entry = shared(alice)

    for method in (client.get, client.post):
        response = method(page_of(consent))
        assert (response.status_code, response.headers["Location"]) == (303, "/wallet/sign-in/")
    assert status_of(entry) == VALID


def test_only_a_form_that_is_sent_takes_something_back(holder, alice) -> None:
    consent, entry = shared(alice)

    assert holder.get(page_of(consent)).status_code == holder.head(page_of(consent)).status_code == 200
    for method in (holder.put, holder.patch, holder.delete, holder.options):
        assert method(page_of(consent)).status_code == 405
    assert holder.post(HISTORY).status_code == 405
    assert status_of(entry) == VALID


def test_a_form_of_another_site_takes_nothing_back(alice, sign_in) -> None:
    client = Client(enforce_csrf_checks=True)
    sign_in(alice, browser=client)
    consent, entry = shared(alice)

    assert client.post(page_of(consent)).status_code == 403
    assert status_of(entry) == VALID


def test_what_has_ended_is_not_offered_and_not_done(holder, alice) -> None:
    consent, _entry = shared(alice)
    StatusEntry.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    assert page_of(consent) not in holder.get(HISTORY).content.decode()
    for method in (holder.get, holder.post):
        assert method(page_of(consent)).headers["Location"].split("?")[0] == HISTORY
    assert StatusEntry.objects.get().status == VALID
    assert not StatusEvent.objects.exists()


def test_a_second_click_changes_nothing(holder, alice) -> None:
    consent, _entry = shared(alice)

    for _ in range(2):
        assert holder.post(page_of(consent)).status_code == 303
    assert StatusEvent.objects.count() == 1


def test_a_declined_request_has_nothing_to_invalidate(holder, alice) -> None:
    consent = put(alice)
    decisions.decline(consent.id, alice, now=timezone.now())

    assert "invalidate" not in holder.get(HISTORY).content.decode()
    assert holder.post(page_of(consent)).status_code == 303
    assert not StatusEvent.objects.exists()


def test_an_undelivered_presentation_cannot_be_invalidated(holder, alice) -> None:
    consent, entry = shared(alice)  # a credential was issued but not delivered
    decisions.note_undelivered(consent.id, now=timezone.now())

    receipts = holder.get(HISTORY).content.decode()
    assert "You said yes, but nothing was shared" in receipts
    assert "invalidate" not in receipts.lower()
    for method in (holder.get, holder.post):
        response = method(page_of(consent))
        assert (response.status_code, response.headers["Location"]) == (303, HISTORY)
    assert status_of(entry) == VALID
    assert not StatusEvent.objects.exists()


def test_what_is_suspended_with_its_wallet_can_still_be_invalidated(client, alice, sign_in) -> None:
    consent, entry = shared(alice)
    now = timezone.now()
    suspension.suspend(alice, now=now, **SAID)
    suspension.reinstate(alice, now=now, **SAID)
    sign_in(alice)

    client.post(page_of(consent))

    assert status_of(entry) == INVALID
