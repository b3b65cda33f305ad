"""The ways into a wallet besides a code to its mailbox: signed-in browsers and passkeys.

Numbers that a removed session or passkey was to sign need no removal: they are bound to the session, or good
for a passkey only.
"""

from datetime import datetime

from wallet.models import HolderSession, Passkey, Wallet


def remove_all(wallet: Wallet) -> None:
    """Sign out every browser and remove every passkey."""
    HolderSession.objects.filter(wallet=wallet).delete()
    Passkey.objects.filter(wallet=wallet).delete()


def remove_since(wallet: Wallet, moment: datetime) -> None:
    """Sign out every browser, and remove the passkeys that were added since then."""
    HolderSession.objects.filter(wallet=wallet).delete()
    Passkey.objects.filter(wallet=wallet, created_at__gte=moment).delete()
