"""The outbox, for use cases: they put e-mails into it and read their state."""

import uuid
from datetime import datetime, timedelta
from enum import Enum
from functools import partial

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac

from infra import email_addresses
from infra.email_addresses import EmailAddressError
from infra.mail import failures, queue, sending
from infra.mail.models import OutgoingEmail
from infra.mail.queue import EmailContent

State = OutgoingEmail.State

SENT_FOR = timedelta(days=3)  # so long a notice is tried
KEPT = timedelta(days=7)  # after an e-mail was sent or given up; without its content
HEAD_START = timedelta(seconds=2)  # of a process that sends an e-mail itself, before the worker would
_on_commit = transaction.on_commit


class SendingState(Enum):
    """The state of an e-mail, for the person who waits for it."""

    SENDING = "sending"
    DELAYED = "delayed"  # a try has failed, others follow
    SENT = "sent"
    FAILED = "failed"


def put(
    content: EmailContent, *, purpose: str, urgent: bool = False, expires_at: datetime | None = None
) -> uuid.UUID:
    """Store an e-mail to be sent after the transaction is committed; gives its number.

    urgent: somebody waits for it on a page. expires_at: when it is too late to send it, by default in three
    days. Raises EmailAddressError for an address that mailers would change, and SealError.
    """
    if not email_addresses.is_accepted(content.to):
        raise EmailAddressError
    now, apart = timezone.now(), bool(content.backend)
    until = expires_at or now + SENT_FOR
    due_at = now + HEAD_START if sends_at_once(apart=apart) else now
    row = OutgoingEmail(purpose=purpose, urgent=urgent, created_at=now, due_at=due_at, expires_at=until)
    row.recipient = digest(content.to)
    queue.write(row, content)
    _send_after_commit(row.id, apart=apart)
    return row.id


def sends_at_once(*, apart: bool) -> bool:
    """Whether this process sends an e-mail itself, as in a sandbox, whose page shows the e-mail at once.

    Elsewhere `manage.py worker` does, so that no request waits for a mail server. apart: by a mail server of
    its own, which may be slow.
    """
    return bool(settings.EMAILS_SENT_AT_ONCE) and not apart


def _send_after_commit(email: uuid.UUID, *, apart: bool) -> None:
    if sends_at_once(apart=apart):
        _on_commit(partial(sending.send_one, email, clock=timezone.now))


def digest(address: str) -> str:
    """The keyed digest by which e-mails to an address are found."""
    return salted_hmac("infra.mail.recipient", address, algorithm="sha256").hexdigest()


def state_of(email: uuid.UUID | None, *, now: datetime) -> SendingState:
    """The state of this e-mail. One that is no longer in the queue counts as sent."""
    row = OutgoingEmail.objects.filter(id=email).first() if email else None
    if row is None or row.state == State.SENT:
        return SendingState.SENT
    if row.state != State.WAITING or row.expires_at <= now:
        return SendingState.FAILED
    return SendingState.DELAYED if row.reason else SendingState.SENDING


def is_done(email: uuid.UUID | None) -> bool | None:
    """Whether this e-mail was sent, or its mailbox does not exist; None while it waits.

    False for one that is no longer in the queue.
    """
    row = OutgoingEmail.objects.filter(id=email).first() if email else None
    if row is None or row.state == State.WAITING:
        return None if row else False
    no_mailbox = row.state == State.REFUSED and failures.is_of_recipient(row.reason)
    return row.state == State.SENT or no_mailbox


def drop(email: uuid.UUID | None, *, now: datetime) -> bool:
    """Drops the e-mail, so that it is not sent; False if it was sent or dropped before."""
    if email is None:
        return False
    rows = OutgoingEmail.objects.filter(id=email, state__in=[State.WAITING, State.REFUSED])
    return queue.end(rows, State.DROPPED, now=now) == 1


def send_again(email: uuid.UUID, *, now: datetime) -> bool:
    """Queues a refused e-mail again; False if it was not refused, or its content is erased."""
    rows = OutgoingEmail.objects.filter(id=email, state=State.REFUSED, expires_at__gt=now)
    requeued = rows.exclude(sealed_letter=b"").update(
        state=State.WAITING, due_at=now, ended_at=None, reason=""
    )
    if requeued:
        _send_after_commit(email, apart=False)
    return requeued == 1


def written_to(address: str, *, until: datetime) -> QuerySet[OutgoingEmail]:
    """The e-mails to this address that were put into the outbox until then."""
    return OutgoingEmail.objects.filter(recipient=digest(address), created_at__lte=until)
