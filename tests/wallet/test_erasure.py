"""What a verified identity leaves behind is erased in time, and nothing that is still needed."""

from datetime import date, timedelta

import pytest

from infra.sealing import seal
from tests.people import evidence_of
from tests.wallet.attempts import NORA_NEW, attempt_in
from tests.wallet.conftest import together
from wallet.credential import credentials, revocation
from wallet.identity import erasure, pictures
from wallet.identity.settling import settle
from wallet.identity.state_machine import move_to
from wallet.models import (
    Credential,
    IdentityEvidence,
    IdentityMark,
    IdentityVerification,
    IdentityVerificationTransition,
    Picture,
    Wallet,
)
from wallet.providers.findings import Verified

DAY = timedelta(days=1)
KEPT = timedelta(days=30)
State = IdentityVerification.State
PASSPORT = evidence_of(document_number="P1234567", document_expires_on=date(2035, 1, 1))


def verified(wallet, now, identity=NORA_NEW):
    """The wallet is verified with a passport."""
    settle(attempt_in("processing", wallet, now), Verified(identity, PASSPORT), now=now)
    return Credential.objects.get(wallet=wallet)


def clear(now, batch=1):
    return [
        clear(now=now, batch=batch)
        for clear in (erasure.erase_identities, erasure.erase_documents, erasure.clear_attempts)
    ]


def is_there():
    """Whether the claims, the marks and the details of the document are there."""
    document = IdentityEvidence.objects.values_list(
        "document_kind", "issuing_country", "document_expires_on"
    ).get()
    return (
        bool(Credential.objects.get().sealed_identity),
        IdentityMark.objects.exists(),
        document != ("", "", None),
    )


def test_an_identity_that_ended_is_erased_after_thirty_days_with_marks_and_document(nora, now):
    credential = verified(nora, now)
    end = credential.expires_at
    assert clear(end + KEPT - timedelta(seconds=1)) == [0, 0, 0]
    assert is_there() == (True, True, True)
    assert clear(end + KEPT) == [1, 1, 0]
    assert is_there() == (False, False, False)
    assert clear(end + KEPT) == [0, 0, 0]
    evidence = IdentityEvidence.objects.get()
    assert (evidence.method, evidence.verified_by) == ("in_person", "The tests")
    credential.refresh_from_db()
    assert (credential.expires_at, credential.erased_at) == (end, end + KEPT)


def test_an_identity_that_was_revoked_is_erased_thirty_days_after_that(nora, now):
    revocation.revoke(verified(nora, now), actor="olga", reason="Forged", now=now + DAY)
    assert clear(now + KEPT) == [0, 0, 0]
    assert clear(now + DAY + KEPT) == [1, 1, 0]
    assert is_there() == (False, False, False)


def test_the_setting_says_for_how_long(nora, now, settings):
    settings.IDENTITY_KEPT = 3 * DAY
    revocation.revoke(verified(nora, now), actor="olga", reason="Forged", now=now)
    assert clear(now + 3 * DAY) == [1, 1, 0]


def test_a_suspended_identity_that_ended_is_erased_as_well(nora, now):
    credential = verified(nora, now)
    revocation.suspend(credential, actor="olga", reason="Odd", now=now)
    assert clear(credential.expires_at + KEPT) == [1, 1, 0]
    assert Credential.objects.get().state == "suspended"


def test_an_identity_that_is_valid_stays(nora, now):
    credential = verified(nora, now)
    assert clear(credential.expires_at - DAY) == [0, 0, 0]


def test_of_an_identity_that_was_replaced_the_document_is_erased(nora, now):
    verified(nora, now)
    verified(nora, now + DAY)
    assert clear(now + KEPT) == [0, 0, 0]
    assert clear(now + DAY + KEPT) == [0, 1, 0]
    assert sorted(IdentityEvidence.objects.values_list("document_kind", flat=True)) == ["", "passport"]


def test_who_is_verified_again_has_an_identity_that_stays(nora, now):
    revocation.revoke(verified(nora, now), actor="olga", reason="Forged", now=now)
    clear(now + KEPT)
    again = verified(nora, now + KEPT)
    assert (again.revoked_at, again.erased_at) == (None, None)
    assert clear(now + 3 * KEPT)[0] == 0
    assert credentials.valid_credential(Wallet.objects.get(), now=now + 3 * KEPT)


def test_many_are_erased_in_small_batches(db, now):
    for number in range(5):
        wallet = Wallet.objects.create(email=f"person{number}@example.org", created_at=now)
        revocation.revoke(verified(wallet, now), actor="olga", reason="Forged", now=now)
    assert clear(now + KEPT, batch=2) == [5, 5, 0]


# --- Attempts ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["declined", "abandoned", "cancelled", "expired", "error"])
def test_an_attempt_is_deleted_with_its_log_two_years_after_it_ended(nora, now, state):
    verification = attempt_in(state, nora, now)
    IdentityVerificationTransition.objects.create(
        verification=verification, to_state=state, actor="holder", at=now
    )
    assert clear(now + 729 * DAY)[2] == 0
    assert clear(now + 730 * DAY)[2] == 1
    assert not IdentityVerification.objects.exists()
    assert not IdentityVerificationTransition.objects.exists()


@pytest.mark.parametrize("state", ["created", "started", "submitted", "processing", "resubmit", "review"])
def test_an_attempt_that_has_not_ended_is_not_deleted(nora, now, state):
    attempt_in(state, nora, now - 1000 * DAY)
    assert clear(now)[2] == 0


def test_the_attempt_of_the_last_identity_stays_as_long_as_the_wallet(nora, now):
    credential = verified(nora, now)
    move_to(credential.verification, State.EXPIRED, actor="sweep", now=credential.expires_at)
    assert clear(credential.expires_at + 1000 * DAY) == [1, 1, 0]
    credential.delete()
    assert clear(credential.expires_at + 1000 * DAY) == [0, 0, 1]
    assert not IdentityVerification.objects.exists()


@pytest.mark.parametrize("state", ["error", "declined", "approved"])
def test_pictures_are_erased_a_week_after_an_attempt_ended_however_it_ended(nora, now, state):
    verification = attempt_in(state, nora, now)
    picture = Picture(verification=verification, kind="face", uploaded_at=now)
    picture.sealed_jpeg = seal(b"jpeg", context=f"wallet_picture.sealed_jpeg:{picture.id}")
    picture.save()
    assert pictures.clear(now=now + 6 * DAY, batch=1) == 0
    assert pictures.clear(now=now + 7 * DAY, batch=1) == 1


# --- At once -----------------------------------------------------------------------------------------------


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_an_identity_that_is_renewed_while_it_is_erased_is_whole_afterwards(nora, now):
    for _ in range(5):
        Credential.objects.all().delete()
        IdentityVerification.objects.all().delete()
        credential = verified(nora, now)
        Credential.objects.update(expires_at=now - KEPT)
        renewal = attempt_in("processing", nora, now)

        def work(number, renewal=renewal):
            if number % 2:
                return erasure.erase_identities(now=now, batch=1)
            return settle(
                IdentityVerification.objects.get(id=renewal.id), Verified(NORA_NEW, PASSPORT), now=now
            )

        results = together(work, 4)
        assert not [result for result in results if isinstance(result, Exception)]
        credential.refresh_from_db()
        assert (bool(credential.sealed_identity), credential.erased_at) == (True, None)
        assert IdentityMark.objects.filter(credential=credential).exists()


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_clearings_at_once_erase_each_identity_once(db, now):
    for number in range(6):
        wallet = Wallet.objects.create(email=f"person{number}@example.org", created_at=now)
        revocation.revoke(verified(wallet, now), actor="olga", reason="Forged", now=now)
    counts = together(lambda number: erasure.erase_identities(now=now + KEPT, batch=2), 4)
    assert sum(counts) == 6
