"""The outbox: what it keeps of an e-mail, when it is tried, and what people and operators can learn of it."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core import mail
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from infra.email_addresses import EmailAddressError
from infra.mail import failures, outbox, queue
from infra.mail.failures import Failure
from infra.mail.models import OutgoingEmail
from infra.mail.outbox import SendingState
from infra.mail.queue import EmailContent
from infra.personal_data import Person, erasers
from infra.sealing import SealError
from tests.stored_columns import columns_that_hold

pytestmark = pytest.mark.django_db
NORA = "nora@example.org"
CONTENT = EmailContent(to=NORA, subject="Your sign-in code", text="The code is 135790.", html="<p>135790</p>")
BUSY = Failure("451 for the recipient")
FULL = Failure("552 for the recipient", final=True)
State = OutgoingEmail.State


@pytest.fixture(autouse=True)
def _sent_by_a_process(settings: Any) -> None:
    """As in production: nothing is sent by itself."""
    settings.EMAILS_SENT_AT_ONCE = False


@pytest.fixture
def now() -> datetime:
    return timezone.now()


def row(email: Any) -> OutgoingEmail:
    return OutgoingEmail.objects.get(id=email)


def claimed(*, urgent: bool = False, **ahead: Any) -> OutgoingEmail:
    found = queue.claim(urgent=urgent, now=timezone.now() + timedelta(**ahead))
    assert found is not None
    return found


def test_nothing_is_sent_by_the_process_that_writes_an_email() -> None:
    email = outbox.put(CONTENT, purpose="code")

    assert mail.outbox == []
    assert row(email).state == State.WAITING


def test_no_column_has_the_address_or_the_content_in_clear() -> None:
    outbox.put(CONTENT, purpose="code")

    for text in (NORA, "nora", "135790", "Your sign-in code"):
        assert columns_that_hold(text) == set()


def test_the_content_opens_in_its_own_row_only() -> None:
    one, other = (row(outbox.put(CONTENT, purpose="code")) for _ in range(2))
    assert queue.content(one) == CONTENT
    one.sealed_letter = other.sealed_letter
    with pytest.raises(SealError):
        queue.content(one)


def test_the_repr_of_an_email_says_nothing() -> None:
    assert "nora" not in repr(CONTENT)
    assert "135790" not in repr(CONTENT)


@pytest.mark.parametrize(
    "address", ["=?utf-8?q?a=40b.example?=@example.org", "no address", "a@b.example\nBcc: c@d.example"]
)
def test_an_address_that_mailers_would_change_is_refused(address: str) -> None:
    with pytest.raises(EmailAddressError):
        outbox.put(EmailContent(to=address, subject="s", text="t"), purpose="code")
    assert not OutgoingEmail.objects.exists()


def test_an_email_of_a_transaction_that_is_rolled_back_is_not_sent(settings: Any) -> None:
    settings.EMAILS_SENT_AT_ONCE = True

    def fail() -> None:
        with transaction.atomic():
            outbox.put(CONTENT, purpose="code")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with transaction.atomic():
        outbox.put(CONTENT, purpose="notice")
        assert mail.outbox == [], "not before the end of the transaction"

    assert len(mail.outbox) == 1
    assert OutgoingEmail.objects.get().purpose == "notice"


def test_a_claimed_email_is_claimed_again_only_when_its_lease_has_ended() -> None:
    email = outbox.put(CONTENT, purpose="notice")

    assert claimed().id == email
    assert queue.claim(urgent=False, now=timezone.now()) is None
    again = claimed(seconds=queue.LEASE.total_seconds() + 1)
    assert (again.id, again.tries) == (email, 2)


def test_a_sender_whose_lease_has_ended_does_not_overwrite_the_result_of_the_next() -> None:
    outbox.put(CONTENT, purpose="notice")
    late, next_one = claimed(), claimed(minutes=5)
    queue.note(next_one, None, now=timezone.now())
    queue.note(late, FULL, now=timezone.now())

    assert row(late.id).state == State.SENT


@pytest.mark.parametrize("result", [None, BUSY, FULL], ids=["sent", "busy", "refused"])
def test_a_sender_whose_lease_has_ended_notes_nothing_while_the_next_is_sending(
    result: Failure | None,
) -> None:
    outbox.put(CONTENT, purpose="notice")
    late, next_one = claimed(), claimed(minutes=5)
    queue.note(late, result, now=timezone.now())

    kept = row(next_one.id)
    assert (kept.state, kept.reason, kept.due_at) == (State.WAITING, "", next_one.due_at)
    assert kept.leased_until == next_one.leased_until, "the next sender is still alone with it"
    assert queue.content(kept) == CONTENT


def test_codes_and_other_emails_are_claimed_apart_and_the_oldest_first() -> None:
    notices = [outbox.put(CONTENT, purpose="notice") for _ in range(3)]
    code = outbox.put(CONTENT, purpose="code", urgent=True)

    assert claimed(urgent=True).id == code
    assert queue.claim(urgent=True, now=timezone.now()) is None
    assert [claimed().id for _ in notices] == notices


def test_what_stays_of_a_sent_email_is_its_purpose_state_and_times(now: datetime) -> None:
    outbox.put(CONTENT, purpose="notice")
    email = claimed()
    queue.note(email, None, now=now)

    kept = row(email.id)
    assert (kept.state, bytes(kept.sealed_letter), kept.ended_at, kept.purpose) == (
        "sent",
        b"",
        now,
        "notice",
    )
    assert outbox.state_of(email.id, now=now) is SendingState.SENT
    assert outbox.is_done(email.id) is True
    assert not outbox.drop(email.id, now=now)
    assert not outbox.send_again(email.id, now=now)


def test_an_email_that_was_not_accepted_is_tried_again_later_and_later() -> None:
    outbox.put(CONTENT, purpose="notice")
    waits, at = [], timezone.now()
    for _ in range(8):
        email = queue.claim(urgent=False, now=at)
        assert email is not None
        queue.note(email, BUSY, now=at)
        assert outbox.state_of(email.id, now=at) is SendingState.DELAYED
        waits.append((row(email.id).due_at - at).total_seconds())
        at = row(email.id).due_at

    assert waits == [5, 30, 120, 600, 1800, 3600, 3600, 3600]


def test_nobody_waits_long_for_the_next_try_of_a_code() -> None:
    waits = [failures.wait_after(tries, urgent=True).total_seconds() for tries in (1, 2, 3, 100)]
    assert waits == [5, 30, 30, 30]


def test_a_code_that_is_too_old_is_not_sent_and_its_content_is_erased(now: datetime) -> None:
    email = outbox.put(CONTENT, purpose="code", urgent=True, expires_at=now + timedelta(minutes=10))
    later = now + timedelta(minutes=10)

    assert outbox.state_of(email, now=now) is SendingState.SENDING
    assert queue.claim(urgent=True, now=later) is None
    assert outbox.state_of(email, now=later) is SendingState.FAILED
    assert queue.end_expired(now=later) == 1
    assert (row(email).state, bytes(row(email).sealed_letter)) == (State.TOO_LATE, b"")
    assert outbox.is_done(email) is False


def test_an_email_that_was_refused_for_good_can_be_sent_again_by_an_operator(now: datetime) -> None:
    email = outbox.put(CONTENT, purpose="notice")
    queue.note(claimed(), FULL, now=now)

    assert queue.claim(urgent=False, now=now + timedelta(hours=5)) is None
    assert outbox.state_of(email, now=now) is SendingState.FAILED
    assert outbox.is_done(email) is True
    assert outbox.send_again(email, now=now)
    assert outbox.state_of(email, now=now) is SendingState.SENDING
    assert not outbox.send_again(email, now=now), "it waits"
    assert claimed(minutes=1).id == email


def test_a_refused_email_is_erased_when_it_is_too_late_to_send_it(now: datetime) -> None:
    email = outbox.put(CONTENT, purpose="notice")
    queue.note(claimed(), FULL, now=now)
    later = now + outbox.SENT_FOR + timedelta(minutes=1)

    assert queue.end_expired(now=later) == 1
    assert (row(email).state, bytes(row(email).sealed_letter)) == (State.REFUSED, b"")
    assert not outbox.send_again(email, now=now)
    assert not outbox.send_again(email, now=later)
    assert queue.end_expired(now=later) == 0


def test_a_refused_email_is_sent_again_until_it_is_too_late_and_not_afterwards(now: datetime) -> None:
    email = outbox.put(CONTENT, purpose="notice")
    queue.note(claimed(), FULL, now=now)
    end = row(email).expires_at

    assert queue.end_expired(now=end - timedelta(microseconds=1)) == 0
    assert not outbox.send_again(email, now=end)
    assert outbox.send_again(email, now=end - timedelta(microseconds=1))


def test_what_is_too_late_is_not_sent_at_once_either(now: datetime) -> None:
    email = outbox.put(CONTENT, purpose="code", urgent=True, expires_at=now + timedelta(minutes=10))

    assert queue.claim_one(email, now=now + timedelta(minutes=10)) is None
    assert queue.claim_one(email, now=now) is not None


def test_however_many_are_too_late_all_of_them_end(now: datetime) -> None:
    for _ in range(3):
        outbox.put(CONTENT, purpose="notice")
        queue.note(claimed(), FULL, now=now)
    for _ in range(3):
        outbox.put(CONTENT, purpose="notice")

    assert queue.end_expired(now=now + 2 * outbox.SENT_FOR, batch=1) == 6

    assert sorted(OutgoingEmail.objects.values_list("state", flat=True)) == ["refused"] * 3 + ["too late"] * 3
    assert not OutgoingEmail.objects.exclude(sealed_letter=b"").exists()


def test_a_refusal_of_the_content_does_not_say_that_there_is_no_mailbox(now: datetime) -> None:
    email = outbox.put(CONTENT, purpose="notice")
    queue.note(claimed(), Failure("554 for the content", final=True), now=now)

    assert outbox.is_done(email) is False


@pytest.mark.parametrize("result", [None, BUSY, FULL], ids=["sent", "busy", "refused"])
def test_a_dropped_email_is_erased_and_not_sent(now: datetime, result: Failure | None) -> None:
    email = outbox.put(CONTENT, purpose="code", urgent=True)
    being_sent = claimed(urgent=True)

    assert outbox.drop(email, now=now)
    assert not outbox.drop(email, now=now)
    assert not outbox.drop(None, now=now)
    queue.note(being_sent, result, now=now)
    assert (row(email).state, bytes(row(email).sealed_letter), row(email).reason) == (State.DROPPED, b"", "")
    assert queue.claim(urgent=True, now=now + timedelta(minutes=1)) is None


def test_of_an_email_that_is_not_in_the_outbox_nothing_is_known(now: datetime) -> None:
    assert outbox.state_of(None, now=now) is SendingState.SENT
    assert outbox.is_done(None) is False


def test_the_database_knows_no_other_states_and_no_end_while_an_email_waits(now: datetime) -> None:
    email = OutgoingEmail.objects.filter(id=outbox.put(CONTENT, purpose="notice"))
    for wrong in ({"state": "lost", "ended_at": now}, {"state": "sent"}, {"ended_at": now}):
        with pytest.raises(IntegrityError), transaction.atomic():
            email.update(**wrong)


def test_a_closed_wallet_leaves_no_email_that_was_written_before(now: datetime) -> None:
    before, other = (
        outbox.put(CONTENT, purpose="notice"),
        EmailContent(to="o@example.org", subject="s", text="t"),
    )
    kept = {outbox.put(other, purpose="notice")}
    person = Person(id=before, address=NORA, known_until=timezone.now())
    kept.add(outbox.put(CONTENT, purpose="closed"))  # the e-mail about the end

    for erase in erasers():
        erase(person, now=now, batch=10)

    assert set(OutgoingEmail.objects.values_list("id", flat=True)) == kept


def test_what_was_sent_is_forgotten_after_a_week(now: datetime) -> None:
    from infra.retention import ENTRIES

    [clear] = [entry.clear for entry in ENTRIES if entry.cleared_as == "e-mails"]
    assert clear is not None
    outbox.put(CONTENT, purpose="notice")
    queue.note(claimed(), None, now=now)
    waiting = outbox.put(CONTENT, purpose="notice")

    assert clear(now=now + outbox.KEPT - timedelta(seconds=1), batch=10) == 0
    assert clear(now=now + outbox.KEPT, batch=10) == 1
    assert OutgoingEmail.objects.get().id == waiting


def test_a_claim_is_one_statement_and_one_that_reads_the_row(statements: Any) -> None:
    outbox.put(CONTENT, purpose="notice")
    with statements() as seen:
        claimed()
    assert len(seen.texts) == 2
    assert ("SKIP LOCKED" in seen.texts[0]) == (connection.vendor == "postgresql")
