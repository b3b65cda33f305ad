"""A question is answered once, by its holder and before it expires; then the record does not change."""

import threading
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from consent import decisions
from consent.decisions import AlreadyDecidedError, ExpiredError
from consent.models import Consent
from consent.question import QuestionFormatError
from infra.database.append_only import AppendOnlyError
from tests.consent.questions import WIRE, last_shared, put
from wallet.models import Wallet


@pytest.fixture
def consent(alice: Wallet) -> Consent:
    return put(alice)


def test_a_yes_is_written_down_with_its_time(alice: Wallet, consent: Consent) -> None:
    now = timezone.now()
    decisions.grant(consent.id, alice, now=now)
    consent.refresh_from_db()
    assert (consent.decision, consent.decided_at) == ("granted", now)


def test_a_no_is_written_down_with_its_time(alice: Wallet, consent: Consent) -> None:
    now = timezone.now()
    decisions.decline(consent.id, alice, now=now)
    consent.refresh_from_db()
    assert (consent.decision, consent.decided_at) == ("declined", now)


@pytest.mark.parametrize("first", [decisions.grant, decisions.decline])
@pytest.mark.parametrize("second", [decisions.grant, decisions.decline])
def test_a_second_answer_changes_nothing(alice: Wallet, first, second, consent: Consent) -> None:
    first(consent.id, alice, now=timezone.now())
    before = Consent.objects.filter(id=consent.id).values().get()
    with pytest.raises(AlreadyDecidedError) as error:
        second(consent.id, alice, now=timezone.now())
    assert error.value.decision == before["decision"]
    assert Consent.objects.filter(id=consent.id).values().get() == before


def test_a_question_cannot_be_answered_from_the_moment_it_expires(alice: Wallet, consent: Consent) -> None:
    for decide in (decisions.grant, decisions.decline):
        with pytest.raises(ExpiredError):
            decide(consent.id, alice, now=consent.expires_at)
    decisions.grant(consent.id, alice, now=consent.expires_at - timedelta(microseconds=1))


def test_a_question_cannot_be_answered_from_another_wallet(
    alice: Wallet, bob: Wallet, consent: Consent
) -> None:
    with pytest.raises(LookupError):
        decisions.grant(consent.id, bob, now=timezone.now())
    consent.refresh_from_db()
    assert consent.decision == Consent.Decision.ASKED


def test_a_yes_is_good_for_exactly_its_request_and_wallet(
    alice: Wallet, bob: Wallet, consent: Consent
) -> None:
    assert not decisions.granted_for(consent, request_hash=consent.request_hash, wallet=alice)
    decisions.grant(consent.id, alice, now=timezone.now())
    consent.refresh_from_db()
    assert decisions.granted_for(consent, request_hash=consent.request_hash, wallet=alice)
    assert not decisions.granted_for(consent, request_hash="b" * 64, wallet=alice)
    assert not decisions.granted_for(consent, request_hash=consent.request_hash, wallet=bob)


def test_a_no_is_good_for_nothing(alice: Wallet, consent: Consent) -> None:
    decisions.decline(consent.id, alice, now=timezone.now())
    consent.refresh_from_db()
    assert not decisions.granted_for(consent, request_hash=consent.request_hash, wallet=alice)


def test_a_transaction_no_page_could_show_is_not_asked_about(alice: Wallet) -> None:
    with pytest.raises(QuestionFormatError):
        put(alice, transactions=[WIRE | {"surprise": "x"}])
    assert not Consent.objects.exists()


def test_a_row_cannot_be_saved_again_or_deleted(alice: Wallet, consent: Consent) -> None:
    consent.decision = Consent.Decision.GRANTED
    with pytest.raises(AppendOnlyError):
        consent.save()
    with pytest.raises(AppendOnlyError):
        Consent.objects.get(id=consent.id).delete()
    assert Consent.objects.get(id=consent.id).decision == Consent.Decision.ASKED


@pytest.mark.parametrize(
    "change",
    [
        {"decision": "granted"},
        {"decision": "maybe", "decided_at": timezone.now()},
        {"decided_at": timezone.now()},
    ],
)
def test_the_database_refuses_half_an_answer(alice: Wallet, change: dict, consent: Consent) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Consent.objects.filter(id=consent.id).update(**change)


def test_the_row_holds_no_claim_value(alice: Wallet) -> None:
    consent = put(alice, transactions=[WIRE])
    decisions.grant(consent.id, alice, now=timezone.now())
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM consent_consent")
        # Ids and times can contain the digits by chance.
        stored = [value for value in cursor.fetchone() if not isinstance(value, UUID | datetime)]
    dump = " ".join(value.decode("latin-1") if isinstance(value, bytes) else str(value) for value in stored)
    assert "given_name" in dump  # the dump does contain stored values
    for value in ("Alice", "Archer", "1990", "04-01", alice.email):
        assert value not in dump


def test_the_last_sharing_is_the_newest_yes_to_the_same_requester(alice: Wallet, bob: Wallet) -> None:
    now = timezone.now()
    assert last_shared(alice, "acme") is None
    for days, requester, decide, wallet in [
        (5, "acme", decisions.grant, alice),
        (4, "acme", decisions.grant, alice),
        (3, "acme", decisions.decline, alice),
        (2, "shop", decisions.grant, alice),
        (1, "acme", decisions.grant, bob),
    ]:
        then = now - timedelta(days=days)
        decide(put(wallet, requester_id=requester, now=then, claims=[("given_name",)]).id, wallet, now=then)
    put(alice)
    last = last_shared(alice, "acme")
    assert last is not None
    assert (last.at, last.claims) == (now - timedelta(days=4), {("given_name",)})


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_many_answers_at_once_one_wins() -> None:
    alice = Wallet.objects.create(email="alice@example.org", created_at=timezone.now())
    for _ in range(10):
        consent = put(alice)
        start, won, lost = threading.Barrier(6), [], []

        def answer(decide, decision, consent=consent, start=start, won=won, lost=lost) -> None:
            try:
                connection.ensure_connection()
                start.wait()
                decide(consent.id, alice, now=timezone.now())
                won.append(decision)
            except AlreadyDecidedError as error:
                lost.append(error.decision)
            finally:
                connection.close()

        kinds = [(decisions.grant, "granted"), (decisions.decline, "declined")] * 3
        threads = [threading.Thread(target=answer, args=kind) for kind in kinds]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        consent.refresh_from_db()
        assert won == [consent.decision]
        assert lost == won * 5
