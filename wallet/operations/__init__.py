"""The operations of the admin on wallets, identity checks and credentials."""
