"""Signing in to a wallet: codes and links by e-mail, their limits, sessions and known browsers."""
