"""Attempts whose provider is asked for news."""

from wallet.identity import progress


def refreshed(verification, now):
    """The attempt, after its provider was asked how it stands."""
    progress.refresh(verification, now=now)
    verification.refresh_from_db()
    return verification
