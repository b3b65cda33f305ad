"""The ways into a wallet besides a code to its mailbox: signed-in browsers and passkeys."""

from datetime import datetime
from typing import Any

from wallet.models import HolderSession, Wallet


def remove_all(wallet: Wallet) -> None:
    """Sign out every browser and remove every passkey."""
    HolderSession.objects.filter(wallet=wallet).delete()
    for passkeys in _passkeys(wallet):
        passkeys.all().delete()


def remove_since(wallet: Wallet, moment: datetime) -> None:
    """Sign out every browser, and remove the passkeys that were added since then."""
    HolderSession.objects.filter(wallet=wallet).delete()
    for passkeys in _passkeys(wallet):
        passkeys.filter(created_at__gte=moment).delete()


def _passkeys(wallet: Wallet) -> list[Any]:
    """The relation to the passkeys of this wallet, where this service has any."""
    return [getattr(wallet, "passkeys")] if hasattr(wallet, "passkeys") else []  # noqa: B009
