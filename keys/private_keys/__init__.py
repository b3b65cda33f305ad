"""Private keys: signers, the stores that keep the keys, and backups."""
