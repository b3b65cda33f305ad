"""Former addresses that no other wallet may take while their mailbox can undo the change (`undoing`)."""

from datetime import datetime

from django.db.models import QuerySet

from wallet.models import FormerAddress, Wallet


class AddressReservedError(Exception):
    """A wallet had this address until a few days ago, and its mailbox can still put it back."""


def undoable(*, now: datetime) -> QuerySet[FormerAddress]:
    """The former addresses whose mailboxes can still undo the change."""
    return FormerAddress.objects.filter(closed_at=None, expires_at__gt=now)


def check(email: str, *, but_for: Wallet | None = None, now: datetime) -> None:
    """Raises `AddressReservedError` if it is kept for another wallet than `but_for`.

    Call it after the address was written, in the same transaction: the unique address has then waited for
    every change under way, so that what it reserved is seen here.
    """
    rows = undoable(now=now).filter(email=email)
    if but_for is not None:
        rows = rows.exclude(wallet=but_for)
    if rows.exists():
        raise AddressReservedError
