"""Suspending a wallet: nobody signs in to it and nothing is presented from it until it is reinstated."""

from django.db import transaction

from wallet.models import HolderSession, Wallet


class WalletMoveError(Exception):
    """The wallet is so already; perhaps somebody else was faster."""


def suspend(wallet: Wallet, *, reason: str) -> None:
    """Suspend an active wallet and sign it out everywhere; raises `WalletMoveError`."""
    with transaction.atomic():
        _move(wallet, Wallet.State.ACTIVE, Wallet.State.SUSPENDED, reason)
        HolderSession.objects.filter(wallet=wallet).delete()


def reinstate(wallet: Wallet) -> None:
    """Let a suspended wallet be used again; raises `WalletMoveError`."""
    _move(wallet, Wallet.State.SUSPENDED, Wallet.State.ACTIVE, "")


def _move(wallet: Wallet, before: Wallet.State, after: Wallet.State, reason: str) -> None:
    rows = Wallet.objects.filter(id=wallet.id, state=before)
    if rows.update(state=after, suspension_reason=reason) != 1:
        raise WalletMoveError(f"the wallet is not {before}")
    wallet.state, wallet.suspension_reason = after, reason
