"""At most one e-mail goes to a mailbox in a stretch of time, and all requests for one share its link.

A request that finds such an e-mail sent needs no other. While the e-mail is only being handed to the mail
server, it may still fail, so a request that comes at that moment is asked to come again.
"""

from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta

from infra.limits import LimitReachedError, RollingLimit, take
from infra.models import Allowance

COME_AGAIN_AFTER = timedelta(seconds=10)
# Handing an e-mail over takes no longer. It is a lease: after this time a process that was killed no longer
# keeps other requests away.
LONGEST_HAND_OVER = timedelta(minutes=2)


@dataclass(frozen=True)
class SharedEmail:
    """`limit` allows one e-mail to a mailbox; `under_way` is occupied while that e-mail is handed over.

    Both have one slot. The slot of `under_way` is always taken before that of `limit`, and given back after
    it, so that `limit` taken and `under_way` free means that the mail server has the e-mail.
    """

    limit: RollingLimit
    under_way: RollingLimit

    @classmethod
    def of(cls, limit: RollingLimit) -> "SharedEmail":
        """The e-mails that are counted by this limit."""
        return cls(limit, RollingLimit(f"{limit.purpose}-under-way", most=1, window=LONGEST_HAND_OVER))

    def take(self, mailbox: str, *, now: datetime, under_way: ExitStack, taken: ExitStack) -> datetime | None:
        """Take the one e-mail; the time of the next one if this one was handed over already.

        After None the caller hands an e-mail over. taken: gives the e-mail back when it is closed, unless it
        was emptied. under_way: lets other requests decide when it is closed, which must come after `taken`.
        Raises `limits.LimitReachedError` while another request hands an e-mail over.
        """
        if next_at := self._handed_over_until(mailbox, now):
            return next_at
        try:
            take(self.under_way, mailbox, now=now, taken=under_way)
        except LimitReachedError:
            raise LimitReachedError(now + COME_AGAIN_AFTER) from None
        try:
            take(self.limit, mailbox, now=now, taken=taken)
        except LimitReachedError as reached:  # another request has handed it over since we looked
            return reached.retry_at
        return None

    def _handed_over_until(self, mailbox: str, now: datetime) -> datetime | None:
        """One statement reads both slots: between two statements another request could fail."""
        (sent,), (busy,) = self.limit.slots(mailbox), self.under_way.slots(mailbox)
        rows = Allowance.objects.filter(key__in=[sent, busy], expires_at__gt=now)
        until = dict(rows.values_list("key", "expires_at"))
        return until.get(sent) if busy not in until else None
