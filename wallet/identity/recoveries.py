"""Recovery after a lost mailbox: a wallet moves to the address of a new one, after the identity was verified.

The person opens a new wallet, names the old address, and is verified again. The wallet of that address moves
if it holds an identity with the same document or provider's subject, verified no better than now. Name and
birth date never suffice. Nothing is said about the old wallet before the check. The old mailbox and signed-in
holders can stop the move for WAITING_TIME. The move itself is in `account.recovery.moving`.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

import structlog
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils.crypto import constant_time_compare, salted_hmac

from infra.limits import Limit
from infra.operations import WrongStateError
from infra.sealing import SealError
from wallet.credential import credentials
from wallet.credential.evidence import Assurance, Evidence, at_least
from wallet.identity import duplicates
from wallet.models import Credential, IdentityVerification, Recovery, Wallet
from wallet.sign_in.reserved_addresses import undoable

log = structlog.get_logger(__name__)

State = Recovery.State
ASKED_FOR = timedelta(days=7)  # then a recovery without a verified identity is forgotten
WAITING_TIME = timedelta(days=7)
STOPPED_FOR = timedelta(days=30)  # after a stop, only an operator can help
STOPPERS = ("old mailbox", "holder", "new wallet", "sweep")  # besides operators
RECOVERIES_PER_WALLET = Limit.from_settings("recoveries-per-wallet")


class RecoveryOverError(WrongStateError):
    """The recovery does not wait any more: it was stopped, or the wallet has moved."""


def ask(new: Wallet, old_address: str, *, now: datetime) -> Recovery:
    """Remember that the holder of `new` lost the mailbox of `old_address`; replaces what they asked before.

    Raises `limits.LimitReachedError`, or `RecoveryOverError` while a wallet is already to move to `new`.
    """
    RECOVERIES_PER_WALLET.take(str(new.id), now=now)
    with transaction.atomic():
        Wallet.objects.select_for_update().get(id=new.id)
        if Recovery.objects.filter(new=new, state=State.WAITING).exists():
            raise RecoveryOverError
        Recovery.objects.filter(new=new, state=State.ASKED).delete()
        recovery = Recovery.objects.create(new=new, named=_digest(new, old_address), asked_at=now)
    log.info("recovery_asked", recovery=str(recovery.id))
    return recovery


def latest(new: Wallet) -> Recovery | None:
    """What the holder of this wallet asked for last."""
    return Recovery.objects.filter(new=new).order_by("-asked_at").first()


def waiting_for(old: Wallet) -> Recovery | None:
    """The recovery by which this wallet is to move away."""
    return Recovery.objects.filter(old=old, state=State.WAITING).first()


def on_verified(verification: IdentityVerification, evidence: Evidence, *, now: datetime) -> None:
    """Decide the holder's recovery, if there is one. Call it in the transaction that enrols them."""
    recovery = Recovery.objects.filter(
        new_id=verification.wallet_id, state=State.ASKED, asked_at__gt=now - ASKED_FOR
    ).first()
    if recovery is None or verification.created_at < recovery.asked_at:  # only a check made for this
        return
    old, why = _match(recovery, verification.wallet, evidence, now=now)
    if old is not None and _wait(recovery, old, verification, now=now):
        log.info("recovery_waits", recovery=str(recovery.id))
        return
    why = why or "another recovery waits"
    facts = {"state": State.REFUSED, "reason": why, "named": "", "ended_at": now, "decided_by": "sweep"}
    Recovery.objects.filter(id=recovery.id, state=State.ASKED).update(**facts)
    log.info("recovery_refused", recovery=str(recovery.id), why=why)


def stop(recovery: Recovery, *, by: str, reason: str, now: datetime) -> None:
    """Stop the move. Raises `RecoveryOverError` if it does not wait any more.

    by: "old mailbox", "holder", "new wallet", or the user name of an operator.
    """
    row = Recovery.objects.filter(id=recovery.id, state=State.WAITING)
    if row.update(state=State.STOPPED, decided_by=by[:150], reason=reason[:200], ended_at=now) != 1:
        raise RecoveryOverError
    recovery.refresh_from_db()
    log.info("recovery_stopped", recovery=str(recovery.id), by=by if by in STOPPERS else "operator")


def end_all(wallet: Wallet, *, now: datetime) -> None:
    """End every move of or to a wallet that closes. Call it in the transaction that closes it."""
    of_it = Recovery.objects.filter(Q(old=wallet) | Q(new=wallet))
    facts = {"decided_by": "sweep", "reason": "the wallet was closed", "ended_at": now}
    of_it.filter(state=State.WAITING).update(state=State.STOPPED, **facts)
    of_it.filter(state=State.ASKED).update(state=State.REFUSED, named="", **facts)


def why_not(old: Wallet, credential: Credential | None, now_verified: Assurance | None) -> str:
    """Why this wallet cannot move to somebody who was verified in this way; "" if it can."""
    if not old.can_share or credential is None or credential.state != Credential.State.VALID:
        return "the wallet or its identity is suspended, revoked, erased or about to be closed"
    try:
        before = credentials.assurance(credential)
    except SealError:
        before = None
    if before is None or now_verified is None or not at_least(before, now_verified):
        return "the level of assurance is lower than before, or does not compare"
    return ""


def _match(
    recovery: Recovery, new: Wallet, evidence: Evidence, *, now: datetime
) -> tuple[Wallet | None, str]:
    """The wallet that moves, or None and why not."""
    same = duplicates.with_the_same_proof(new, evidence)
    named = [wallet for wallet in same if _is_named(recovery, new, wallet, now=now)]
    if not named:
        return None, "no wallet has this address and this document or subject"
    if len(named) > 1:
        return None, "several wallets fit"
    old = named[0]
    stopped = Recovery.objects.filter(old=old, state=State.STOPPED, ended_at__gt=now - STOPPED_FOR)
    if stopped.exclude(decided_by="new wallet").exists():
        return None, "a move of this wallet was stopped lately"
    why = why_not(old, Credential.objects.filter(wallet=old).first(), evidence.assurance)
    return (None, why) if why else (old, "")


def _is_named(recovery: Recovery, new: Wallet, old: Wallet, *, now: datetime) -> bool:
    former = undoable(now=now).filter(wallet=old).values_list("email", flat=True)
    addresses: Sequence[str] = [old.email, *former]
    return any(constant_time_compare(recovery.named, _digest(new, address)) for address in addresses)


def _wait(recovery: Recovery, old: Wallet, verification: IdentityVerification, *, now: datetime) -> bool:
    facts = {
        "state": State.WAITING,
        "old": old,
        "named": "",
        "verification": verification,
        "matched_at": now,
        "due_at": now + WAITING_TIME,
    }
    try:
        with transaction.atomic():
            return Recovery.objects.filter(id=recovery.id, state=State.ASKED).update(**facts) == 1
    except IntegrityError:  # another recovery of the same wallet waits already
        return False


def _digest(new: Wallet, address: str) -> str:
    """Keyed, because addresses can be guessed; of this wallet, so that two digests do not compare."""
    text = f"{new.id}:{address}"
    # The salt is fixed: with another one, the addresses that were named would not be found.
    return salted_hmac("wallet.account.recovery", text, algorithm="sha256").hexdigest()
