"""E-mails about identities that people are not waiting for on a page. The sweep sends each of them once.

A row says which e-mail it had (`Credential.notice`) or still needs (`IdentityVerification.notice_due`). The
same transaction puts the e-mail into the outbox, so two sweeps do not send the same one.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet

from wallet.credential import credentials
from wallet.emails import holder_emails
from wallet.emails.texts import NOTICES
from wallet.identity.batches import process
from wallet.models import Credential, IdentityVerification, Wallet

State = IdentityVerification.State

OUTCOMES = {State.APPROVED: "approved", State.DECLINED: "declined", State.RESUBMIT: "ask_again"}
FIRST, SECOND = timedelta(days=30), timedelta(days=7)  # before the end
LATE = timedelta(days=7)  # after an end or an outcome no e-mail is sent any more


def owe(verification: IdentityVerification) -> None:
    """Marks the e-mail about the outcome as due. Call it in the transaction that moves the attempt."""
    verification.notice_due = OUTCOMES.get(State(verification.state), "")
    verification.save(update_fields=["notice_due"])


def seen(wallet: Wallet) -> None:
    """Cancels the e-mail about the outcome, because the holder has read it on a page."""
    IdentityVerification.objects.filter(wallet=wallet).exclude(notice_due="").update(notice_due="")


def send_owed(verification: IdentityVerification) -> bool:
    """Send the e-mail about the outcome, unless another process does."""
    notice = verification.notice_due
    row = IdentityVerification.objects.filter(id=verification.id, notice_due=notice)
    email, facts = notice, {}
    if verification.came_from and f"{notice}_for" in NOTICES:
        link = verification.begin_again and settings.BASE_URL + verification.begin_again
        email, facts = f"{notice}_for", {"requester": verification.came_from, "link": link}
    return bool(notice) and _send_once(row, verification.wallet, email, {"notice_due": ""}, facts)


def send_due(*, now: datetime, batch: int = 500) -> Counter[str]:
    """Send all e-mails that are due; gives how many of each."""
    sent: Counter[str] = Counter()
    recent = Q(changed_at__gt=now - LATE, state__in=OUTCOMES)
    owed = IdentityVerification.objects.select_related("wallet").filter(recent).exclude(notice_due="")
    sent.update(process(owed, batch, _send_outcome, failure="identity_notice_not_sent"))
    for notice, rows in _ending(now):
        send = partial(_send_end, notice=notice)
        ended = process(rows.select_related("wallet"), batch, send, failure="identity_notice_not_sent")
        sent[notice] += sum(ended)
    del sent[""]
    return +sent


def _send_outcome(verification: IdentityVerification) -> str:
    return verification.notice_due if send_owed(verification) else ""


def _ending(now: datetime) -> Iterator[tuple[str, QuerySet[Credential]]]:
    """Each e-mail about the end of an identity, and the credentials whose holders do not have it yet.

    An identity that was valid for less time than an e-mail precedes its end gets no such e-mail.
    """
    staying = {"wallet__state": Wallet.State.ACTIVE, "wallet__closes_at": None, "wallet__closed_at": None}
    held = Credential.objects.filter(**staying).exclude(sealed_identity=b"")
    valid = held.filter(state=Credential.State.VALID)
    soon, sooner = valid.filter(expires_at__gt=now + SECOND), valid.filter(expires_at__gt=now)
    yield "ends_30", _before(soon, FIRST, now).filter(notice="")
    yield "ends_7", _before(sooner, SECOND, now).filter(notice__in=["", "ends_30"])
    yield "ended", valid.filter(expires_at__lte=now, expires_at__gt=now - LATE).exclude(notice="ended")
    revoked = held.filter(state=Credential.State.REVOKED, revoked_at__gt=now - LATE)
    yield "revoked", revoked.exclude(notice="revoked")


def _before(rows: QuerySet[Credential], ahead: timedelta, now: datetime) -> QuerySet[Credential]:
    return rows.filter(expires_at__lte=now + ahead, issued_at__lt=F("expires_at") - ahead)


def _send_end(credential: Credential, notice: str) -> bool:
    # Compares columns of the row only: PostgreSQL does not evaluate a join again after it waited for a lock.
    row = Credential.objects.filter(
        id=credential.id, state=credential.state, issued_at=credential.issued_at, notice=credential.notice
    )
    facts = {"day": credentials.last_day(credential)}
    return _send_once(row, credential.wallet, notice, {"notice": notice}, facts)


def _send_once(
    row: QuerySet[Any], wallet: Wallet, notice: str, done: Mapping[str, str], facts: Mapping[str, Any]
) -> bool:
    """Write `done` if `row` is still as it was read, and put the e-mail into the outbox."""
    with transaction.atomic():
        if row.update(**done) != 1:
            return False
        holder_emails.send_notice(wallet.email, notice, wallet=wallet, **facts)
    return True
