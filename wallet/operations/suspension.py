"""Suspending and reinstating a wallet. A suspended wallet can neither be signed in to nor present.

Its presented credentials are suspended for the same time.
"""

from datetime import datetime

from django.db import transaction

from infra.operations import WrongStateError
from wallet.models import HolderSession, Wallet
from wallet.status_lists import changes
from wallet.status_lists.changes import Action, Subject


def suspend(wallet: Wallet, *, actor: str, reason: str, now: datetime) -> None:
    """Suspend an active wallet and sign it out everywhere; raises `WrongStateError`."""
    with transaction.atomic():
        _move(wallet, Wallet.State.ACTIVE, Wallet.State.SUSPENDED, reason)
        HolderSession.objects.filter(wallet=wallet).delete()
        _record(wallet, Action.SUSPENDED, actor=actor, reason=reason, now=now)


def reinstate(wallet: Wallet, *, actor: str, reason: str, now: datetime) -> None:
    """Reinstate a suspended wallet; raises `WrongStateError`."""
    with transaction.atomic():
        _move(wallet, Wallet.State.SUSPENDED, Wallet.State.ACTIVE, "")
        _record(wallet, Action.REINSTATED, actor=actor, reason=reason, now=now)


def _move(wallet: Wallet, before: Wallet.State, after: Wallet.State, reason: str) -> None:
    rows = Wallet.objects.filter(id=wallet.id, state=before)
    if rows.update(state=after, suspension_reason=reason) != 1:
        raise WrongStateError(f"the wallet is not {before}")
    wallet.state, wallet.suspension_reason = after, reason


def _record(wallet: Wallet, action: Action, *, actor: str, reason: str, now: datetime) -> None:
    count = changes.of_wallet(wallet, now=now).count()
    changes.record(action, Subject.WALLET, str(wallet.id), count, actor=actor, reason=reason, now=now)
