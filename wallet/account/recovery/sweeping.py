"""What the sweep does for recoveries: the e-mails to the old address, the moves that are due, and clearing.

A wallet moves only after the old address got all e-mails, the last of them a day before. A mailbox that
refuses e-mail for good counts as told: a lost mailbox often does not exist any more.
"""

import secrets
import uuid
from collections import Counter
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet
from django.urls import reverse
from django.utils.timezone import localtime

from infra.mail import outbox
from infra.retention import Due, delete
from infra.sealing import sha256_hex
from wallet.account.recovery import moving
from wallet.account.recovery.moving import NotNowError
from wallet.emails import holder_emails
from wallet.identity.batches import process
from wallet.identity.erasure import ATTEMPTS_KEPT
from wallet.identity.recoveries import ASKED_FOR, WAITING_TIME
from wallet.models import Recovery, StopLink

State = Recovery.State

LAST_NOTICE = timedelta(days=1)  # at least that long before the move
# The e-mails to the old address, and how long after the match each is due.
NOTICES = (
    ("move_begun", timedelta(0)),
    ("move_midway", WAITING_TIME / 2),
    ("move_last", WAITING_TIME - LAST_NOTICE),
)
# Links outlive the move that an unreachable mail server puts off.
LINKS_KEPT = WAITING_TIME * 2


def sweep(*, now: datetime, batch: int = 500) -> Counter[str]:
    """Send the e-mails that are due and move the wallets that are due; says how many of each."""
    waiting = Recovery.objects.filter(state=State.WAITING)
    due = waiting.filter(due_at__lte=now, notices__gte=len(NOTICES), notified_at__lte=now - LAST_NOTICE)
    old = waiting.select_related("old")
    told = sum(process(old, batch, partial(_notify, now=now), failure="recovery_notice_not_sent"))
    moved = sum(process(due, batch, partial(_move, now=now), failure="wallet_not_moved"))
    return +Counter({"e-mails about moves": told, "wallets moved": moved})


def clear(*, now: datetime, batch: int) -> int:
    """Delete recoveries that ended long ago, and those that nobody was verified for."""
    return sum(delete(due.rows, by=due.by, batch=batch) for due in over(now))


def over(now: datetime) -> list[Due]:
    """What `clear` deletes."""
    long_ago, unused = now - ATTEMPTS_KEPT, now - ASKED_FOR
    return [
        Due(Recovery.objects.filter(ended_at__lte=long_ago), "ended_at", long_ago),
        Due(Recovery.objects.filter(state=State.ASKED, asked_at__lte=unused), "asked_at", unused),
    ]


def _notify(recovery: Recovery, *, now: datetime) -> bool:
    """Send the next e-mail to the old address if it is due, and count it once it was sent."""
    if recovery.outgoing is not None:
        return _count(recovery, now=now)
    if recovery.notices >= len(NOTICES) or recovery.matched_at is None or recovery.old is None:
        return False
    notice, after = NOTICES[recovery.notices]
    if recovery.matched_at + after > now:
        return False
    row = _waiting(recovery).filter(outgoing=None)
    with transaction.atomic():
        if row.update(notice_until=None) != 1:  # locks it, so that two sweeps do not send the same e-mail
            return False
        recovery.outgoing = _send(recovery, recovery.old.email, notice, now=now)
        row.update(outgoing=recovery.outgoing)
    return _count(recovery, now=now)


def _waiting(recovery: Recovery) -> QuerySet[Recovery]:
    return Recovery.objects.filter(id=recovery.id, state=State.WAITING, notices=recovery.notices)


def _count(recovery: Recovery, *, now: datetime) -> bool:
    """Counts the e-mail from the outbox if it was delivered or its mailbox does not exist; says whether.

    If it was not sent for another reason, the next sweep sends it again.
    """
    done = outbox.is_done(recovery.outgoing)
    if done is None:
        return False
    told = {"notices": F("notices") + 1, "notified_at": now} if done else {}
    counted = _waiting(recovery).filter(outgoing=recovery.outgoing).update(outgoing=None, **told)
    return counted == 1 and done


def _send(recovery: Recovery, email: str, notice: str, *, now: datetime) -> uuid.UUID:
    """Put the e-mail into the outbox; gives its number."""
    secret = secrets.token_urlsafe(16)
    StopLink.objects.create(digest=sha256_hex(secret), recovery=recovery, expires_at=now + LINKS_KEPT)
    link = settings.BASE_URL + reverse("wallet_recovery_stop", args=[secret])
    day = localtime(max(recovery.due_at or now, now + LAST_NOTICE)).date()
    return holder_emails.send_notice(email, notice, wallet=recovery.old, link=link, day=day)


def _move(recovery: Recovery, *, now: datetime) -> bool:
    """Move one wallet and tell both addresses."""
    try:
        addresses = moving.move(recovery, now=now)
    except NotNowError:
        return False
    if addresses is None:
        return False
    for email, notice in zip(addresses, ("moved_away", "moved_here"), strict=True):
        holder_emails.send_notice(email, notice, wallet=recovery.old)
    return True
