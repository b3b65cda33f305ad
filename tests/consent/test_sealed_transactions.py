"""The content of transactions in records: sealed, and erased after some years."""

import secrets
import threading
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from consent import decisions, transactions
from consent.blocks import Transaction
from consent.models import Consent
from consent.retention import erase_transactions, years_before
from infra.sealing import SealError
from keys.sealed_columns import reseal, sealed_columns
from tests.consent.copies import add_copies, analyse
from tests.consent.questions import HASH, WIRE, put
from wallet.models import Wallet

OLD, NEW = (secrets.token_urlsafe(32) for _ in range(2))
ACCOUNT = "DE89 3704 0044 0532 0130 00"
HISTORY = "/wallet/history/"


def answered(wallet: Wallet, *, ago: timedelta = timedelta(0), **changes: Any) -> Consent:
    """A consent to a bank transfer, granted that long ago."""
    then = timezone.now() - ago
    consent = put(wallet, now=then, **({"transactions": [WIRE]} | changes))
    decisions.grant(consent.id, wallet, now=then)
    consent.refresh_from_db()
    return consent


def erase(*, older_than: timedelta, batch: int = 100) -> int:
    """What is erased when the retention time of what was asked that long ago has passed."""
    then = timezone.now() - older_than
    day = 28 if (then.month, then.day) == (2, 29) else then.day  # which is not in every year
    over = then.replace(year=then.year + settings.TRANSACTION_RETENTION_YEARS, day=day)
    return erase_transactions(now=over, batch=batch)


def test_what_was_shown_is_read_back_exactly(alice: Wallet) -> None:
    (kept,) = transactions.kept(answered(alice))

    assert kept.shown == Transaction.from_json(WIRE)
    assert (kept.kind, kept.title, kept.hash) == (WIRE["kind"], WIRE["title"], HASH)


def test_a_question_without_transactions_has_nothing_sealed(alice: Wallet) -> None:
    consent = put(alice)

    assert (consent.transactions, consent.sealed_transactions) == ([], None)
    assert transactions.shown(consent) == ()


def test_every_transaction_has_its_hash(alice: Wallet) -> None:
    with pytest.raises(ValueError, match="shorter"):
        put(alice, transactions=[WIRE, WIRE], transaction_hashes=[HASH])


def test_what_is_old_enough_is_erased_and_the_fact_stays(alice: Wallet) -> None:
    old, young = answered(alice, ago=timedelta(days=11)), answered(alice, ago=timedelta(days=9))
    without = answered(alice, ago=timedelta(days=11), transactions=[])
    before = Consent.objects.filter(id=old.id).values().get()

    assert erase(older_than=timedelta(days=10)) == 1

    row = Consent.objects.filter(id=old.id).values().get()
    assert {name for name in row if row[name] != before[name]} == {"sealed_transactions", "erased_at"}
    assert (row["sealed_transactions"], row["transactions"][0]["hash"]) == (None, HASH)
    young.refresh_from_db()
    without.refresh_from_db()
    assert transactions.shown(young)
    assert (young.erased_at, without.erased_at) == (None, None)


def test_erasing_goes_on_batch_by_batch_and_a_second_time_changes_nothing(alice: Wallet) -> None:
    for _ in range(5):
        answered(alice, ago=timedelta(days=11))

    assert erase(older_than=timedelta(days=10), batch=2) == 5
    before = list(Consent.objects.order_by("id").values())
    assert erase(older_than=timedelta(days=10), batch=2) == 0
    assert list(Consent.objects.order_by("id").values()) == before


def test_what_cannot_be_opened_is_erased_all_the_same(alice: Wallet, settings: Any) -> None:
    settings.KEY_SEALING_KEYS = [OLD]
    lost, forgotten = (answered(alice, ago=timedelta(days=11)) for _ in range(2))
    settings.KEY_SEALING_KEYS = [NEW]
    Consent.objects.filter(id=forgotten.id).update(sealed_transactions=b"")

    assert erase(older_than=timedelta(days=10)) == 2
    lost.refresh_from_db()
    assert lost.sealed_transactions is None


def test_the_hourly_command_erases_after_the_years_of_the_setting(alice: Wallet, settings: Any) -> None:
    settings.TRANSACTION_RETENTION_YEARS = 3
    now = timezone.now()
    old = answered(alice, ago=now - years_before(now, 3) + timedelta(minutes=1))
    young = answered(alice, ago=now - years_before(now, 3) - timedelta(hours=1))
    out = StringIO()

    call_command("clear_expired", stdout=out)

    assert "1 transactions" in out.getvalue()
    old.refresh_from_db()
    young.refresh_from_db()
    assert old.erased_at is not None
    assert young.erased_at is None


@pytest.mark.parametrize(
    ("now", "years", "then"),
    [
        (datetime(2033, 5, 3, 10, tzinfo=UTC), 7, datetime(2026, 5, 3, 10, tzinfo=UTC)),
        (datetime(2032, 2, 29, tzinfo=UTC), 7, datetime(2025, 2, 28, tzinfo=UTC)),
        (datetime(2032, 2, 29, tzinfo=UTC), 4, datetime(2028, 2, 29, tzinfo=UTC)),
        (datetime(2126, 11, 22, tzinfo=UTC), 100, datetime(2026, 11, 22, tzinfo=UTC)),
    ],
)
def test_years_are_calendar_years(now: datetime, years: int, then: datetime) -> None:
    assert years_before(now, years) == then


@given(
    st.datetimes(datetime(2000, 1, 1), datetime(2300, 1, 1), timezones=st.just(UTC)),
    st.integers(1, 100),
    st.timedeltas(timedelta(seconds=1), timedelta(days=300)),
)
def test_a_receipt_never_names_fewer_years_than_the_content_was_kept(
    now: datetime, years: int, earlier: timedelta
) -> None:
    asked = years_before(now, years) - earlier

    assert transactions.years_until_erased(Consent(asked_at=asked, erased_at=now)) == years


def test_the_database_refuses_content_that_is_said_to_be_erased(alice: Wallet) -> None:
    consent = answered(alice)
    with pytest.raises(IntegrityError), transaction.atomic():
        Consent.objects.filter(id=consent.id).update(erased_at=timezone.now())


# --- Pages -----------------------------------------------------------------------------------------------


def test_a_receipt_says_that_its_details_were_erased_and_when(holder: Client, alice: Wallet) -> None:
    receipt = f"{HISTORY}{answered(alice, ago=timedelta(days=7 * 366)).id}/"
    assert "12,500.00" in holder.get(HISTORY).content.decode()
    assert ACCOUNT in holder.get(receipt).content.decode()

    erase(older_than=timedelta(days=7 * 365.25))
    for page in (holder.get(address).content.decode() for address in (HISTORY, receipt)):
        assert "Wire transfer" in page
        assert "after 7 years. That you were asked, and what you answered, stays on record." in page
        assert "Shared" in page
        assert ACCOUNT not in page
        assert "12,500.00" not in page


@pytest.mark.parametrize("forgotten", [True, False])
def test_a_receipt_whose_details_do_not_open_says_so_and_the_others_are_shown(
    holder: Client, alice: Wallet, settings: Any, capsys: Any, forgotten: bool
) -> None:
    settings.KEY_SEALING_KEYS = [OLD]
    lost = answered(alice)
    settings.KEY_SEALING_KEYS = [NEW]
    answered(alice, transactions=[WIRE | {"title": "Another transfer"}])
    if forgotten:
        Consent.objects.filter(id=lost.id).update(sealed_transactions=b"")

    page = holder.get(HISTORY).content.decode()

    assert page.count("The details cannot be shown.") == 1
    assert page.count("12,500.00 EUR") == 1
    assert "The details cannot be shown." in holder.get(f"{HISTORY}{lost.id}/").content.decode()
    assert str(lost.id) in page
    log = capsys.readouterr().err
    assert "transaction_does_not_open" in log
    assert ACCOUNT not in log


@pytest.fixture
def operator(client: Client, db: None) -> User:
    user = User.objects.create_superuser("olga", password="a long enough one")
    client.force_login(user)
    return user


def test_auditors_read_the_type_and_the_hash_beside_what_was_shown(
    client: Client, alice: Wallet, operator: User, settings: Any
) -> None:
    consent = answered(alice, ago=timedelta(days=11))
    address = f"/admin/consent/consent/{consent.id}/change/"
    page = client.get(address).content.decode()
    for text in (WIRE["kind"], HASH, ACCOUNT):
        assert text in page
    settings.KEY_SEALING_KEYS = [NEW]
    page = client.get(address).content.decode()
    assert "The content does not open" in page
    erase(older_than=timedelta(days=10))
    page = client.get(address).content.decode()
    assert "The content was erased on" in page
    assert HASH in page
    assert ACCOUNT not in page


def test_a_hash_that_was_not_kept_is_not_made_up(client: Client, alice: Wallet, operator: User) -> None:
    consent = answered(alice, transaction_hashes=[""])
    page = client.get(f"/admin/consent/consent/{consent.id}/change/").content.decode()
    assert "not recorded" in page


# --- Other sealing keys -----------------------------------------------------------------------------------


def the_column() -> Any:
    return next(one for one in sealed_columns() if str(one) == "consent_consent.sealed_transactions")


def test_records_move_to_another_sealing_key(alice: Wallet, settings: Any) -> None:
    settings.KEY_SEALING_KEYS = [OLD]
    consent = answered(alice)
    settings.KEY_SEALING_KEYS = [NEW, OLD]
    assert the_column().waiting().count() == 1

    assert [moved for moved, _ in reseal(the_column())] == [1]

    settings.KEY_SEALING_KEYS = [NEW]
    consent.refresh_from_db()
    assert transactions.shown(consent) == (Transaction.from_json(WIRE),)
    settings.KEY_SEALING_KEYS = [OLD]
    with pytest.raises(SealError):
        transactions.shown(consent)


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_what_is_erased_while_it_is_sealed_anew_stays_erased(settings: Any) -> None:
    alice = Wallet.objects.create(email="alice@example.org", created_at=timezone.now())
    for _round in range(8):
        settings.KEY_SEALING_KEYS = [OLD]
        for _ in range(30):
            answered(alice, ago=timedelta(days=11))
        settings.KEY_SEALING_KEYS = [NEW, OLD]
        start, failed, erased = threading.Barrier(4), [], []

        def run(work: Any, start: Any = start, failed: Any = failed) -> None:
            try:
                connection.ensure_connection()
                start.wait()
                work()
            except Exception as error:  # returned to the test
                failed.append(error)
            finally:
                connection.close()

        works = [
            lambda: list(reseal(the_column(), size=7)),
            lambda: list(reseal(the_column(), size=5)),
            lambda erased=erased: erased.append(erase(older_than=timedelta(days=10), batch=3)),
            lambda erased=erased: erased.append(erase(older_than=timedelta(days=10), batch=4)),
        ]
        threads = [threading.Thread(target=run, args=[work]) for work in works]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert failed == []
        assert sum(erased) == 30  # each was erased by exactly one
        assert not Consent.objects.filter(sealed_transactions__isnull=False).exists()
        assert not Consent.objects.filter(erased_at=None).exists()
        Consent.objects.all().delete()


@pytest.mark.postgresql
def test_what_is_old_is_found_by_an_index(alice: Wallet) -> None:
    add_copies(answered(alice), [{"sealed_transactions": None}] * 1_000)
    analyse()
    old = Consent.objects.filter(asked_at__lt=timezone.now(), sealed_transactions__isnull=False)
    assert "consent_transactions_by_age" in old.order_by("asked_at").values_list("id")[:10].explain()


def test_a_record_that_an_older_release_wrote_meanwhile_breaks_no_page(holder: Client, alice: Wallet) -> None:
    consent = answered(alice)
    Consent.objects.filter(id=consent.id).update(transactions=[WIRE], sealed_transactions=None)

    page = holder.get(HISTORY).content.decode()

    assert "The details cannot be shown." in page
