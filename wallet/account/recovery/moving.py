"""The move that ends a recovery: the old wallet gets the new address and the identity verified for it.

The old row stays, because consent records and presented credentials refer to it. What the new wallet has got
since goes along, and its row is deleted. Nobody stays signed in and no passkey is left. No undo follows: the
waiting time and its e-mails came before.
"""

from datetime import datetime

import structlog
from django.db import transaction

from infra import personal_data
from infra.sealing import seal_column, unseal_column
from wallet.account import pairwise, ways_in
from wallet.account.address.changes import set_address
from wallet.credential import credentials
from wallet.identity import recoveries, state_machine
from wallet.identity.state_machine import MOVES, OPEN, move_to
from wallet.models import (
    Credential,
    FormerAddress,
    IdentityMark,
    IdentityVerification,
    Recovery,
    StatusEntry,
    Wallet,
)

log = structlog.get_logger(__name__)
State = Recovery.State
Attempt = IdentityVerification.State


class NotNowError(Exception):
    """Another process has moved or stopped it, or an identity check is at a step that cannot be ended.

    In the second case a later sweep moves it.
    """


def move(waiting: Recovery, *, now: datetime) -> tuple[str, str] | None:
    """Move the wallet if nothing speaks against it; returns the old and the new address.

    If something does, such as a suspension, the recovery is stopped, and None returned. Raises `NotNowError`,
    and then changes nothing.
    """
    with transaction.atomic():
        old, new = _lock(waiting)
        row = Recovery.objects.select_for_update().filter(id=waiting.id, state=State.WAITING, due_at__lte=now)
        current = row.first()
        if current is None:
            raise NotNowError
        why = "the new wallet is gone" if old is None or new is None else _why_not(current, old, new)
        if old is None or new is None or why:
            recoveries.stop(current, by="sweep", reason=why, now=now)
            return None
        row.update(state=State.MOVED, ended_at=now, decided_by="sweep")
        addresses = old.email, new.email
        _merge(new, old, now=now)
    log.info("wallet_moved", recovery=str(waiting.id), wallet=str(old.id))
    return addresses


def _lock(waiting: Recovery) -> tuple[Wallet | None, Wallet | None]:
    """The old and the new wallet. For the order of the locks see docs/architecture.md."""
    ids = [wallet_id for wallet_id in (waiting.old_id, waiting.new_id) if wallet_id]
    list(IdentityVerification.objects.select_for_update().filter(wallet_id__in=ids).order_by("id"))
    list(Credential.objects.select_for_update().filter(wallet__in=ids).order_by("id"))
    locked = {
        wallet.id: wallet for wallet in Wallet.objects.select_for_update().filter(id__in=ids).order_by("id")
    }
    old, new = (
        locked.get(wallet_id) if wallet_id else None for wallet_id in (waiting.old_id, waiting.new_id)
    )
    return old, new


def _why_not(current: Recovery, old: Wallet, new: Wallet) -> str:
    """The reason why the wallet may no longer move; "" if it may. Compares the levels of assurance again."""
    fresh = Credential.objects.filter(wallet=new, state=Credential.State.VALID).first()
    if not new.can_share or fresh is None or fresh.erased_at is not None:
        return "the new wallet or its identity is suspended, revoked, erased or about to be closed"
    if fresh.verification_id != current.verification_id:
        return "the new wallet was verified anew since"
    before = Credential.objects.filter(wallet=old).first()
    return recoveries.why_not(old, before, credentials.assurance(fresh))


def _merge(source: Wallet, into: Wallet, *, now: datetime) -> None:
    _end_open_attempts(into, now=now)
    _give_identity(source, into, now=now)
    personal_data.merge(source, into)
    pairwise.bring(source, into)
    for wallet in (source, into):
        ways_in.remove_all(wallet)
    FormerAddress.objects.filter(wallet=into).update(closed_at=now)
    address = source.email
    source.delete()
    set_address(into, address, now=now)


def _end_open_attempts(wallet: Wallet, *, now: datetime) -> None:
    """A check that somebody else has begun in the old wallet must not replace its identity later."""
    for attempt in IdentityVerification.objects.filter(wallet=wallet, state__in=OPEN):
        to = Attempt.DECLINED if attempt.state == Attempt.REVIEW else Attempt.CANCELLED
        if to not in MOVES[Attempt(attempt.state)]:
            raise NotNowError
        move_to(attempt, to, actor="sweep", note="the wallet moved", now=now)


def _give_identity(source: Wallet, into: Wallet, *, now: datetime) -> None:
    """The credential of `into` gets the identity of that of `source`, which is deleted."""
    fresh, kept = Credential.objects.get(wallet=source), Credential.objects.get(wallet=into)
    for replaced in IdentityVerification.objects.filter(wallet=into, state=Attempt.APPROVED):
        state_machine.move_to(replaced, Attempt.EXPIRED, actor="sweep", note="replaced", now=now)
    IdentityVerification.objects.filter(wallet=source).update(wallet=into)
    kept.sealed_identity = seal_column(kept, "sealed_identity", unseal_column(fresh, "sealed_identity"))
    for name in ("verification_id", "issued_at", "expires_at", "notice"):
        setattr(kept, name, getattr(fresh, name))
    kept.revoked_at = kept.erased_at = None
    kept.save()
    IdentityMark.objects.filter(credential=kept).delete()
    IdentityMark.objects.filter(credential=fresh).update(credential=kept)
    StatusEntry.objects.filter(credential=fresh).update(credential=kept)
    fresh.delete()
