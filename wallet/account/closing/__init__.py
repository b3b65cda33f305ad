"""Closing a wallet: asking for it, keeping the wallet after all, and erasing what was kept."""
