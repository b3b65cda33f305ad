"""The link in the e-mail to the address that a wallet had before a change: it undoes the change."""

from datetime import datetime

import structlog
from django.db import transaction
from django.db.models import F, QuerySet

from infra.sealing import sha256_hex
from wallet.account import ways_in
from wallet.account.address.changes import set_address
from wallet.account.closing import closures
from wallet.emails import holder_emails
from wallet.models import EmailChange, FormerAddress, Wallet, WalletClosure
from wallet.sign_in import sessions
from wallet.sign_in.reserved_addresses import undoable

log = structlog.get_logger(__name__)


class UndoGoneError(Exception):
    """The link is unknown, was used, or has expired."""


def find(secret: str, *, now: datetime) -> FormerAddress:
    """The former address that this link puts back; changes nothing. Raises `UndoGoneError`."""
    former = (undoable(now=now) & _of(secret)).first()
    if former is None:
        raise UndoGoneError
    return former


def undone(secret: str, *, now: datetime) -> FormerAddress | None:
    """The former address that this link has put back, while the wallet has it and the link would last."""
    return _of(secret).exclude(closed_at=None).filter(expires_at__gt=now, wallet__email=F("email")).first()


def undo(secret: str, *, now: datetime) -> None:
    """Put the address back, and end what came after: later changes, sessions, closing, new ways to sign in.

    Passkeys count as new if the session that changed the address can have added them.
    Raises `UndoGoneError`, or `AddressTakenError` if another wallet has the address against the rule.
    """
    former = find(secret, now=now)
    with transaction.atomic():
        wallet = Wallet.objects.select_for_update().get(id=former.wallet_id)
        if undoable(now=now).filter(id=former.id).update(closed_at=now) != 1:
            raise UndoGoneError
        later = undoable(now=now).filter(wallet=wallet, left_at__gte=former.left_at)
        later.update(closed_at=now)
        EmailChange.objects.filter(wallet=wallet).delete()
        left = wallet.email
        set_address(wallet, former.email, now=now)
        ways_in.remove_since(wallet, former.left_at - sessions.ABSOLUTE)
        asked_since = WalletClosure.objects.filter(wallet=wallet.id, undone_at=None, operator_id=None)
        if asked_since.filter(asked_at__gte=former.left_at).exists():
            closures.undo(wallet, now=now)
    log.info("address_change_undone", wallet=str(wallet.id))
    holder_emails.send_notice(left, "address_put_back", wallet=wallet)


def _of(secret: str) -> QuerySet[FormerAddress]:
    return FormerAddress.objects.filter(undo_digest=sha256_hex(secret))
