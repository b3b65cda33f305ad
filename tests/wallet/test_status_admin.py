"""Presented credentials in the admin: found by list and index, invalidated with a reason."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from keys.rotation import transitions
from tests.people import ALICE
from tests.wallet.operators import address, operate, operator
from tests.wallet.statuses import INVALID, SUSPENDED, VALID, presented, status_of
from wallet.models import StatusEntry, StatusEvent, Wallet

pytestmark = [pytest.mark.usefixtures("signing_key"), pytest.mark.slow]
LISTING = "/admin/wallet/statusentry/"


def test_one_is_invalidated_and_the_history_has_actor_reason_and_number(olga: Client, alice: Wallet) -> None:
    entry, other = presented(alice), presented(alice)
    assert "Invalidate" in olga.get(address(entry)).content.decode()
    assert "cannot be undone" in olga.get(address(entry, "do", "invalidate")).content.decode()
    assert olga.post(address(entry, "do", "invalidate"), {"reason": ""}).status_code == 200
    assert status_of(entry) == VALID

    response = operate(olga, entry, "invalidate", reason="Lost phone")

    assert (response.status_code, response.url) == (302, address(entry))
    assert (status_of(entry), status_of(other)) == (INVALID, VALID)
    event = StatusEvent.objects.get()
    assert (event.actor, event.reason, event.count) == ("olga", "Lost phone", 1)
    assert "Lost phone" in LogEntry.objects.get().get_change_message()
    assert "Lost phone" in olga.get("/admin/wallet/statusevent/").content.decode()


def test_one_is_suspended_and_reinstated(olga: Client, alice: Wallet) -> None:
    entry = presented(alice)
    seen = []
    for name in ("suspend", "reinstate", "suspend", "invalidate"):
        operate(olga, entry, name)
        seen.append(status_of(entry))

    assert seen == [SUSPENDED, VALID, SUSPENDED, INVALID]
    for name in ("suspend", "reinstate", "invalidate"):
        assert f"/do/{name}/" not in olga.get(address(entry)).content.decode()
        operate(olga, entry, name)
    assert status_of(entry) == INVALID


def test_only_operators_who_may_change_keys_invalidate_all_that_a_key_signed(
    olga: Client, alice: Wallet
) -> None:
    entry = presented(alice)
    assert "invalidate-signed" not in olga.get(address(entry)).content.decode()

    assert olga.get(address(entry, "do", "invalidate-signed")).status_code == 403
    assert operate(olga, entry, "invalidate-signed").status_code == 403
    assert status_of(entry) == VALID


def test_all_that_a_key_signed_is_invalidated_after_showing_the_number(
    olga: Client, alice: Wallet, bob: Wallet
) -> None:
    User.objects.get().user_permissions.add(Permission.objects.get(codename="change_signingkey"))
    entries = [presented(wallet) for wallet in (alice, alice, bob)]
    page = olga.get(address(entries[0], "do", "invalidate-signed")).content.decode()
    assert "<strong>3</strong> presented credentials" in page

    operate(olga, entries[0], "invalidate-signed")

    assert [status_of(entry) for entry in entries] == [INVALID] * 3
    assert StatusEvent.objects.get().subject == "key"
    again = olga.post(address(entries[0], "do", "invalidate-signed"), {"reason": "x"}, follow=True)
    assert "nothing was changed" in again.content.decode()
    assert StatusEvent.objects.count() == 1


@pytest.mark.parametrize(
    ("row", "name", "status"), [("wallet", "suspend", SUSPENDED), ("credential", "revoke", INVALID)]
)
def test_a_wallet_and_a_credential_take_what_was_presented_along(
    olga: Client, alice: Wallet, row: str, name: str, status: int
) -> None:
    entry = presented(alice)
    subject = alice if row == "wallet" else alice.credential
    assert (
        "<strong>1</strong> presented credential " in olga.get(address(subject, "do", name)).content.decode()
    )

    operate(olga, subject, name)

    assert status_of(entry) == status
    event = StatusEvent.objects.get()
    assert (event.subject, event.subject_id, event.count) == (row, str(subject.pk), 1)


def found(client: Client, term: object) -> set[int]:
    page = client.get(LISTING, {"q": str(term)}).content.decode()
    return {entry.pk for entry in StatusEntry.objects.all() if address(entry) in page}


def test_they_are_found_by_place_receipt_credential_wallet_and_key(
    olga: Client, alice: Wallet, bob: Wallet
) -> None:
    reference = uuid4()
    first, second = presented(alice, reference=reference), presented(alice)
    third = presented(bob)

    assert found(olga, "") == {first.pk, second.pk, third.pk}
    assert found(olga, f"{first.status_list_id}/{first.idx}") == {first.pk}
    assert found(olga, f"{first.status_list_id}#{first.idx}") == {first.pk}
    assert found(olga, reference) == {first.pk}
    assert found(olga, alice.credential.pk) == found(olga, alice.pk) == {first.pk, second.pk}
    assert found(olga, third.signing_key_id) == {first.pk, second.pk, third.pk}
    for nothing in (uuid4(), "alice@example.org", "7", "1/2/3"):
        assert found(olga, nothing) == set()


def test_what_has_ended_is_not_there(olga: Client, alice: Wallet) -> None:
    entry = presented(alice)
    StatusEntry.objects.update(expires_at=timezone.now() - timedelta(days=400))

    assert found(olga, "") == set()
    assert operate(olga, entry, "invalidate").status_code == 404


def test_the_list_says_how_each_stands_and_nothing_about_people(olga: Client, alice: Wallet) -> None:
    entry = presented(alice)
    transitions.withdraw(entry.signing_key_id, reason="stolen", now=timezone.now())

    for page in (LISTING, address(entry)):
        text = olga.get(page).content.decode()
        assert "invalid" in text
        for word in (ALICE, "Alice", "Archer"):
            assert word not in text


def test_auditors_read_and_others_see_nothing(audrey: Client, alice: Wallet) -> None:
    entry = presented(alice)
    assert audrey.get(address(entry)).status_code == 200
    assert "/do/" not in audrey.get(address(entry)).content.decode()
    for client, codes in ((audrey, 403), (operator("otto"), 403)):
        assert operate(client, entry, "invalidate").status_code == codes
    assert operator("otto2").get(LISTING).status_code == 403
    assert status_of(entry) == VALID


def test_nothing_can_be_typed_in_or_deleted_even_by_a_superuser(admin_client: Any, alice: Wallet) -> None:
    entry = presented(alice)
    operate(admin_client, entry, "invalidate")
    for row in (entry, StatusEvent.objects.get()):
        name = row._meta.model_name
        assert admin_client.get(reverse(f"admin:wallet_{name}_add")).status_code == 403
        assert admin_client.post(address(row, "delete"), {"post": "yes"}).status_code == 403
        assert admin_client.post(address(row), {"status": "0"}).status_code == 403


def test_a_row_that_is_no_number_is_not_found(olga: Client, alice: Wallet) -> None:
    assert olga.post("/admin/wallet/statusentry/x/do/invalidate/", {"reason": "x"}).status_code == 404
