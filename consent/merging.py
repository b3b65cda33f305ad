"""Moves the receipts of a wallet that is merged into another one of the same person."""

from consent.models import Consent
from wallet.models import Wallet


def bring_receipts(source: Wallet, into: Wallet) -> None:
    """Give all consent records of `source` to `into`; nothing else of them changes."""
    Consent.objects.filter(wallet=source).update(wallet=into)
