"""The outbox, for use cases: put an e-mail in, and see what became of it."""

import uuid
from datetime import datetime, timedelta
from enum import Enum

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac

from infra import email_addresses
from infra.email_addresses import EmailAddressError
from infra.mail import at_once, failures, queue
from infra.mail.models import OutgoingEmail
from infra.mail.queue import Letter

State = OutgoingEmail.State

SENT_FOR = timedelta(days=3)  # so long a notice is tried
KEPT = timedelta(days=7)  # after an e-mail was sent or given up; without its content
NO_MAILBOX = uuid.UUID(int=0)  # in place of the number of an e-mail that nothing could be sent to


class Standing(Enum):
    """How it stands with an e-mail, for the person who waits for it."""

    SENDING = "sending"
    DELAYED = "delayed"  # a try has failed, others follow
    SENT = "sent"
    FAILED = "failed"


class Outcome(Enum):
    """What became of an e-mail, for use cases that depend on it."""

    WAITING = "waiting"
    SENT = "sent"
    NO_MAILBOX = "no mailbox"  # the mail server refuses the recipient for good
    NOT_SENT = "not sent"


def put(
    letter: Letter, *, purpose: str, urgent: bool = False, expires_at: datetime | None = None
) -> uuid.UUID:
    """Store an e-mail to be sent after the transaction is committed; gives its number.

    urgent: somebody waits for it on a page. expires_at: when it is too late to send it, by default in three
    days. Raises EmailAddressError for an address that mailers would change, and SealError.
    """
    if not email_addresses.is_accepted(letter.to):
        raise EmailAddressError
    now = timezone.now()
    until = expires_at or now + SENT_FOR
    row = OutgoingEmail(purpose=purpose, urgent=urgent, created_at=now, due_at=now, expires_at=until)
    row.recipient = digest(letter.to)
    queue.write(row, letter)
    at_once.after_commit(row.id, apart=bool(letter.backend))
    return row.id


def digest(address: str) -> str:
    """The keyed digest by which e-mails to an address are found."""
    return salted_hmac("infra.mail.recipient", address, algorithm="sha256").hexdigest()


def standing(email: uuid.UUID | None, *, now: datetime) -> Standing:
    """How it stands with this e-mail. One that is not in the queue any more counts as sent."""
    found = OutgoingEmail.objects.filter(id=email).first() if email else None
    if found is None or found.state == State.SENT:
        return Standing.SENT
    if found.state != State.WAITING or found.expires_at <= now:
        return Standing.FAILED
    return Standing.DELAYED if found.reason else Standing.SENDING


def outcome(email: uuid.UUID | None) -> Outcome:
    """What became of this e-mail. Of one that is not in the queue any more nothing is known."""
    if email == NO_MAILBOX:
        return Outcome.NO_MAILBOX
    found = OutgoingEmail.objects.filter(id=email).first() if email else None
    if found is None:
        return Outcome.NOT_SENT
    if found.state == State.REFUSED and failures.is_of_recipient(found.reason):
        return Outcome.NO_MAILBOX
    known = {State.WAITING.value: Outcome.WAITING, State.SENT.value: Outcome.SENT}
    return known.get(found.state, Outcome.NOT_SENT)


def drop(email: uuid.UUID | None, *, now: datetime) -> bool:
    """The e-mail is not sent any more; False if it was sent, or is dropped already."""
    if email is None:
        return False
    rows = OutgoingEmail.objects.filter(id=email, state__in=[State.WAITING, State.REFUSED])
    return queue.end(rows, State.DROPPED, now=now) == 1


def send_again(email: uuid.UUID, *, now: datetime) -> bool:
    """Make a refused e-mail wait again; False if it does not stand refused, or has no content any more."""
    rows = OutgoingEmail.objects.filter(id=email, state=State.REFUSED, expires_at__gt=now)
    found = rows.exclude(sealed_letter=b"").update(state=State.WAITING, due_at=now, ended_at=None, reason="")
    if found:
        at_once.after_commit(email, apart=False)
    return found == 1


def end_late(*, now: datetime, batch: int) -> int:
    """Erase the content of what is too late to send, also while no sender runs; gives the number."""
    return queue.end_expired(now=now, batch=batch)


def written_to(address: str, *, until: datetime) -> QuerySet[OutgoingEmail]:
    """The e-mails that were written to this address by then."""
    return OutgoingEmail.objects.filter(recipient=digest(address), created_at__lte=until)
