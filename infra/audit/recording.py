"""Appends a line to the audit record, in the transaction of the action that it records."""

import re
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AbstractUser
from django.db import connection, models, transaction
from django.http import HttpRequest
from django.utils import timezone

from infra.audit import chain
from infra.audit.chain import Head
from infra.models import AuditLine

LOCK = 0x41554449  # of the end of the record, among PostgreSQL's advisory locks
LONGEST_REASON = 200
_ACTION = re.compile(r"[a-z][a-z0-9_]{0,39}")
LEFT_OUT = "[address left out]"


def record(
    who: HttpRequest | AbstractUser | None,
    action: str,
    about: models.Model | type[models.Model] | str = "",
    reason: str = "",
    *,
    now: datetime | None = None,
) -> AuditLine:
    """Adds one line: who did what to which row, and why.

    who: the operator, or a request of theirs; None for a command at the shell. action: a word such as
    `claims_seen`. about: the row, the model for a list of its rows, or a text such as "wallet.wallet:5".
    reason: what the operator typed; what looks like an e-mail address is left out, because lines are never
    erased.

    Call it last in the transaction of the action, because it holds a lock until that ends; without a
    transaction it makes one. Call it before personal data is shown: what cannot be recorded is not shown.
    Raises ValueError for an unknown form of action.
    """
    if not _ACTION.fullmatch(action):
        raise ValueError(f"an action is one word in small letters, not {action!r}")
    operator = who.user if isinstance(who, HttpRequest) else who
    with transaction.atomic():
        _lock_the_end()
        line = chain.line(
            _head(),
            at=now or timezone.now(),
            operator_id=operator.pk if operator else None,
            action=action,
            about=_clean(_name(about)),
            reason=_clean(reason),
        )
        return AuditLine.objects.create(**line._asdict())


def _lock_the_end() -> None:
    """One writer at a time, until the transaction ends. SQLite's transactions are such a lock already."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])


def _head() -> Head | None:
    newest = AuditLine.objects.order_by("-seq").values_list("seq", "hash").first()
    return Head(*newest) if newest else None


def _name(about: Any) -> str:
    if isinstance(about, models.Model):
        return f"{about._meta.label_lower}:{about.pk}"
    return str(about) if isinstance(about, str) else str(about._meta.label_lower)


def _clean(text: str) -> str:
    """The text on one line, without e-mail addresses and without what no database or hash can take."""
    storable = text.replace("\0", " ").encode(errors="replace").decode()
    words = (LEFT_OUT if "@" in word[1:-1] else word for word in storable.split())
    return " ".join(words)[:LONGEST_REASON]
