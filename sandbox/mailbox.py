"""The sandbox's mailbox: e-mails are stored in a table and shown on a page. None is sent."""

from collections.abc import Sequence
from datetime import datetime

from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend
from django.http import HttpRequest
from django.utils import timezone

from infra import browser
from sandbox.models import MailboxEmail
from wallet.models import EmailChange, RedirectTask
from wallet.sign_in import sessions

KEPT = 500  # e-mails
KEPT_CHARACTERS = 20_000


class EmailBackend(BaseEmailBackend):
    """A Django e-mail backend that stores e-mails instead of sending them."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        """Store one row for each recipient, and delete the oldest beyond `KEPT`."""
        now = timezone.now()
        messages = [
            MailboxEmail(
                recipient=recipient[:254],
                subject=message.subject[:200],
                text=str(message.body)[:KEPT_CHARACTERS],
                sent_at=now,
            )
            for message in email_messages
            for recipient in message.recipients()
        ]
        MailboxEmail.objects.bulk_create(messages)
        newest = MailboxEmail.objects.order_by("-id").values_list("id", flat=True).first() or 0
        MailboxEmail.objects.filter(id__lte=newest - KEPT).delete()
        return len(email_messages)


def emails_for(request: HttpRequest, *, now: datetime) -> list[MailboxEmail]:
    """The newest e-mails to the addresses with which this browser has signed in or tried to.

    Other people may use the same sandbox, so their e-mails are left out.
    """
    digest = browser.digest(request)
    addresses: set[str] = set()
    for rows in (RedirectTask.objects, EmailChange.objects) if digest else ():
        addresses |= set(rows.filter(browser=digest).values_list("email", flat=True))
    if session := sessions.current(request, now=now):
        addresses.add(session.wallet.email)
    return list(MailboxEmail.objects.filter(recipient__in=addresses).order_by("-id")[:50])
