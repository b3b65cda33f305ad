"""The queue of e-mails, for senders: they claim one after the other, and store the result of each try.

A row is claimed by one statement and committed before the mail server is called, so no transaction is open
meanwhile. If a sender dies, its lease ends and another one sends the e-mail. It may then arrive twice, with
the same Message-ID. `tries` shows whether the row still belongs to the sender that stores a result.
"""

import json
import uuid
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import QuerySet

from infra import sealing, totals
from infra.mail.failures import Failure, wait_after
from infra.mail.models import OutgoingEmail

State = OutgoingEmail.State

TOTAL = "email "
LEASE = timedelta(seconds=60)  # longer than a sender works on one e-mail: twice `sending.DEADLINE`

_CLAIM = """
    UPDATE infra_outgoingemail SET leased_until = %s, tries = tries + 1, tried_at = %s WHERE id = (
        SELECT id FROM infra_outgoingemail
        WHERE state = 'waiting' AND urgent = %s AND due_at <= %s AND expires_at > %s
        AND (leased_until IS NULL OR leased_until <= %s)
        ORDER BY due_at LIMIT 1 {skipping}
    ) RETURNING id
"""


@dataclass(frozen=True, repr=False)
class EmailContent:
    """The content of an e-mail. backend: Django's e-mail backend for it, if not MAIL_BACKEND."""

    to: str
    subject: str
    text: str
    html: str = ""
    backend: str = ""


def claim(*, urgent: bool, now: datetime) -> OutgoingEmail | None:
    """Claims the e-mail that has been due longest; no other sender gets it until the lease ends."""
    skipping = "FOR UPDATE SKIP LOCKED" if connection.features.has_select_for_update_skip_locked else ""
    at, until = map(connection.ops.adapt_datetimefield_value, (now, now + LEASE))
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_CLAIM.format(skipping=skipping), [until, at, urgent, at, at, at])
        claimed = cursor.fetchall()
    return OutgoingEmail.objects.filter(id=uuid.UUID(str(claimed[0][0]))).first() if claimed else None


def claim_one(email: uuid.UUID, *, now: datetime) -> OutgoingEmail | None:
    """Claims this e-mail; None if it does not wait or another sender has claimed it."""
    row = OutgoingEmail.objects.filter(id=email, state=State.WAITING, leased_until=None, expires_at__gt=now)
    waiting_email = row.first()
    if (
        waiting_email is None
        or row.update(leased_until=now + LEASE, tries=waiting_email.tries + 1, tried_at=now) != 1
    ):
        return None
    waiting_email.tries += 1
    return waiting_email


def content(email: OutgoingEmail) -> EmailContent:
    """The content of an e-mail; raises SealError."""
    return EmailContent(**json.loads(sealing.unseal_column(email, "sealed_letter")))


def write(row: OutgoingEmail, content: EmailContent) -> None:
    """Insert the row with its content; raises SealError."""
    row.sealed_letter = sealing.seal_column(row, "sealed_letter", json.dumps(asdict(content)).encode())
    row.save(force_insert=True)


def note(email: OutgoingEmail, failure: Failure | None, *, now: datetime) -> None:
    """Store the result of a try, unless another sender has claimed the e-mail since."""
    own = OutgoingEmail.objects.filter(id=email.id, tries=email.tries, state=State.WAITING)
    if failure is None:
        end(own, State.SENT, now=now)
    elif failure.final:
        # Its content stays until it expires, so that an operator can send it again.
        refused = own.update(state=State.REFUSED, reason=failure.reason, ended_at=now, leased_until=None)
        totals.add(total_of(State.REFUSED), refused)
    else:
        own.update(
            reason=failure.reason,
            due_at=now + wait_after(email.tries, urgent=email.urgent),
            leased_until=None,
        )


def end(rows: QuerySet[OutgoingEmail], state: str, *, now: datetime) -> int:
    """End these e-mails and erase their content; gives their number."""
    ended = rows.update(state=state, ended_at=now, sealed_letter=b"", leased_until=None)
    totals.add(total_of(state), ended)
    return ended


def total_of(state: str) -> str:
    """The name of the count of e-mails that ended so (`infra.totals`)."""
    return f"{TOTAL}{state}"


def end_expired(*, now: datetime, batch: int = 500) -> int:
    """End expired e-mails and erase their content; gives their number."""
    expired = OutgoingEmail.objects.filter(expires_at__lte=now)
    ended = 0
    while page := list(expired.filter(state=State.WAITING).values_list("id", flat=True)[:batch]):
        ended += end(expired.filter(id__in=page, state=State.WAITING), State.TOO_LATE, now=now)
    refused = expired.filter(state=State.REFUSED).exclude(sealed_letter=b"")
    while page := list(refused.values_list("id", flat=True)[:batch]):
        ended += refused.filter(id__in=page).update(sealed_letter=b"")
    return ended
