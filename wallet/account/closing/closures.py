"""Closing a wallet: asked for, undone within a day, and done by a sweep that can be stopped at any time.

asked ──(a day)──► closed: nobody signs in, nothing is shared, credentials are revoked, the identity is erased
                     └──► finished: every app and every provider has erased what it kept; the row is deleted

The day is longer while a change of the e-mail address can be undone: see `earliest`. Closing takes one
transaction; from then on the e-mail address may open another wallet. The rest is erased in steps, which the
next sweep repeats until nothing is left but the row of `WalletClosure`, which names nobody.
"""

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.contrib.auth import get_user_model
from django.db import transaction
from django.utils.translation import gettext as _t

from infra.email_addresses import EmailAddressError
from infra.operations import WrongStateError
from infra.sealing import seal_column, unseal_column
from wallet.account import ways_in
from wallet.credential import revocation
from wallet.emails import holder_emails
from wallet.identity import recoveries
from wallet.models import (
    Credential,
    EmailChange,
    FormerAddress,
    HolderSession,
    IdentityMark,
    PasskeyChallenge,
    Subject,
    Wallet,
    WalletClosure,
)
from wallet.sign_in.reserved_addresses import undoable
from wallet.status_lists.changes import HOLDER

log = structlog.get_logger(__name__)
Reason = WalletClosure.Reason

DAY = timedelta(days=1)  # to change one's mind


def earliest(wallet: Wallet, *, now: datetime) -> datetime:
    """When the wallet can close if its holder asks now: in a day, or once no change of address can be undone.

    Otherwise a thief at an open browser could change the address and then close the wallet.
    """
    former = undoable(now=now).filter(wallet=wallet)
    return max([now + DAY, *former.values_list("expires_at", flat=True)])


def ask(
    wallet: Wallet,
    *,
    now: datetime,
    closes_at: datetime | None = None,
    operator_id: int | None = None,
    reason: Reason = Reason.OWN_WISH,
) -> WalletClosure:
    """Schedule the closing, for `closes_at` or else in a day. Until then nothing is shared from the wallet.

    Raises `WrongStateError`.
    """
    closes_at = closes_at or now + DAY
    with transaction.atomic():
        rows = Wallet.objects.filter(id=wallet.id, closes_at=None, closed_at=None)
        if rows.update(closes_at=closes_at) != 1:
            raise WrongStateError("It closes already.")
        closure = WalletClosure.objects.create(
            wallet=wallet.id,
            reason=reason,
            operator_id=operator_id,
            asked_at=now,
            closes_at=closes_at,
        )
        _tell(wallet, "closing", when=closes_at)
    wallet.closes_at = closure.closes_at
    why = [str(reason), str(operator_id or 0)]  # `repeat_changes` reads this line
    log.info("wallet_closing_asked", wallet=str(wallet.id), closure=str(closure.id), why=why)
    return closure


def undo(wallet: Wallet, *, now: datetime, operator_id: int | None = None) -> WalletClosure:
    """Cancel the closing. Raises `WrongStateError` if none is scheduled, or the wallet is closed."""
    with transaction.atomic():
        # The sweep locks the wallet first as well, so that only one of the two finds it open.
        rows = Wallet.objects.filter(id=wallet.id, closed_at=None).exclude(closes_at=None)
        if rows.update(closes_at=None) != 1:
            raise WrongStateError("It does not close, or has closed.")
        closure = WalletClosure.objects.get(wallet=wallet.id, undone_at=None)
        closure.undone_at, closure.undone_by = now, operator_id
        closure.save(update_fields=["undone_at", "undone_by"])
        _tell(wallet, "kept")
    wallet.closes_at = None
    log.info("wallet_closing_undone", wallet=str(wallet.id), closure=str(closure.id))
    return closure


def close(closure: WalletClosure, *, now: datetime) -> bool:
    """Close the wallet, if its day is over; False if it was undone or closed meanwhile. One transaction."""
    with transaction.atomic():
        # In the order of locks, see docs/architecture.md.
        credential = Credential.objects.select_for_update().filter(wallet=closure.wallet).first()
        due = Wallet.objects.select_for_update().filter(closes_at__lte=now, closed_at=None)
        wallet = due.filter(id=closure.wallet).first()
        if wallet is None:
            return False
        _tell(wallet, "closed")
        if credential is not None:
            _end(credential, actor=_actor(closure), now=now)
        _end_ways_in(wallet, now=now)
        Subject.objects.filter(wallet=wallet).delete()
        closure.closed_at = now
        closure.sealed_address = seal_column(closure, "sealed_address", wallet.email.encode())
        closure.save(update_fields=["closed_at", "sealed_address"])
        # Not an e-mail address, so nobody can sign in with it; the holder’s own is free for another wallet.
        wallet.email, wallet.suspension_reason, wallet.closed_at = f"closed:{wallet.id}", "", now
        wallet.share_emails, wallet.passkey_offered_at = False, None
        wallet.save()
    log.info("wallet_closed", wallet=str(closure.wallet), closure=str(closure.id))
    return True


def _tell(wallet: Wallet, notice: str, **facts: Any) -> None:
    """Put an e-mail to the holder into the outbox; a wallet closes even if its address takes none."""
    with suppress(EmailAddressError):
        holder_emails.send_notice(wallet.email, notice, wallet=wallet, **facts)


def _end_ways_in(wallet: Wallet, *, now: datetime) -> None:
    """Nobody signs in any more, undoes a change of the address, or gets the wallet moved."""
    sessions = HolderSession.objects.filter(wallet=wallet)
    PasskeyChallenge.objects.filter(bound_to__in=sessions.values("digest")).delete()
    ways_in.remove_all(wallet)
    EmailChange.objects.filter(wallet=wallet).delete()
    FormerAddress.objects.filter(wallet=wallet, closed_at=None).update(closed_at=now)
    recoveries.end_all(wallet, now=now)


def _end(credential: Credential, *, actor: str, now: datetime) -> None:
    """Revoke the credential and everything presented from it, and erase the identity."""
    with suppress(WrongStateError):  # it was revoked before
        revocation.revoke(credential, actor=actor, reason=_t("The wallet was closed."), now=now)
    IdentityMark.objects.filter(credential=credential).delete()
    Credential.objects.filter(id=credential.id).update(sealed_identity=b"", erased_at=now, notice="")


def _actor(closure: WalletClosure) -> str:
    if closure.operator_id is None:
        return HOLDER
    operator = get_user_model()._default_manager.filter(pk=closure.operator_id).first()
    # Without a name only if the account was deleted meanwhile.
    return operator.get_username() if operator else _t("operator %(id)s") % {"id": closure.operator_id}


def address_of(closure: WalletClosure) -> str:
    """The e-mail address of the wallet, also once it is closed; empty once erased. Raises `SealError`."""
    if closure.sealed_address is not None:
        return unseal_column(closure, "sealed_address").decode()
    if closure.closed_at is not None:
        return ""
    return Wallet.objects.filter(id=closure.wallet).values_list("email", flat=True).first() or ""
