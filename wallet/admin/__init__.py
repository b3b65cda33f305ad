"""The admin of wallets, identity checks and credentials; importing it registers them."""

from wallet.admin import credentials, verifications, wallets

__all__ = ["credentials", "verifications", "wallets"]
