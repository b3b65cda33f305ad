"""Sends an e-mail in the process that writes it: in a sandbox, whose page shows the e-mail at once.

Elsewhere `manage.py worker` sends them, so that no request waits for a mail server.
"""

import uuid
from datetime import timedelta
from functools import partial

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from infra.mail import sending

_on_commit = transaction.on_commit
HEAD_START = timedelta(seconds=2)  # before the worker would send it


def sends(*, apart: bool) -> bool:
    """Whether this process sends an e-mail itself. apart: not one whose mail server may be slow."""
    return bool(settings.EMAILS_SENT_AT_ONCE) and not apart


def after_commit(email: uuid.UUID, *, apart: bool) -> None:
    """If this process is to send this e-mail, it does once the transaction is committed."""
    if sends(apart=apart):
        _on_commit(partial(send, email))


def send(email: uuid.UUID) -> None:
    """Send this e-mail in this thread."""
    sending.send_one(email, clock=timezone.now)
