"""At most one e-mail is sent to a mailbox within a period, and all requests in that period share its link.

If such an e-mail was sent, further requests send none. While it is being sent it may still fail, so requests
in that time have to be repeated.
"""

from contextlib import ExitStack
from datetime import datetime, timedelta

from infra.limits import LimitReachedError, RollingLimit, take
from infra.models import Allowance

COME_AGAIN_AFTER = timedelta(seconds=10)
# A lease, longer than sending an e-mail takes: it ends the claim of a process that was killed.
LONGEST_SENDING = timedelta(minutes=2)


class EmailThrottle:
    """`limit` allows one e-mail to a mailbox; `under_way` is taken while that e-mail is being sent.

    Both have one slot. The slot of `under_way` is taken before that of `limit`, and given back after it. So
    if only `limit` is taken, the mail server has the e-mail.
    """

    def __init__(self, limit: RollingLimit) -> None:
        self.limit = limit
        self.under_way = RollingLimit(f"{limit.purpose}-under-way", most=1, window=LONGEST_SENDING)

    def take(self, mailbox: str, *, now: datetime, under_way: ExitStack, taken: ExitStack) -> datetime | None:
        """Claim the e-mail and return None, or return the time of the next one if one was sent already.

        After None, the caller sends an e-mail. taken: gives the claim back when it is closed, unless it was
        emptied. under_way: ends the time of sending when it is closed, which must be after `taken`.
        Raises `limits.LimitReachedError` while another request is sending an e-mail.
        """
        if next_at := self._sent_until(mailbox, now):
            return next_at
        try:
            take(self.under_way, mailbox, now=now, taken=under_way)
        except LimitReachedError:
            raise LimitReachedError(now + COME_AGAIN_AFTER) from None
        try:
            take(self.limit, mailbox, now=now, taken=taken)
        except LimitReachedError as reached:  # another request has sent it since the query above
            return reached.retry_at
        return None

    def _sent_until(self, mailbox: str, now: datetime) -> datetime | None:
        """Reads both slots in one statement, because between two statements another request could fail."""
        (sent,), (busy,) = self.limit.slots(mailbox), self.under_way.slots(mailbox)
        rows = Allowance.objects.filter(key__in=[sent, busy], expires_at__gt=now)
        until = dict(rows.values_list("key", "expires_at"))
        return until.get(sent) if busy not in until else None
