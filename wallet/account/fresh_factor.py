"""Whether the holder has proved a factor within the last minutes: a code, a link or a passkey.

A session that was stolen does not suffice for what changes who can sign in.
"""

from datetime import datetime, timedelta

from wallet.models import HolderSession

FRESH_FOR = timedelta(minutes=5)


def is_fresh(session: HolderSession, *, now: datetime) -> bool:
    """Whether the factor was proved so recently that it counts as proof of the present mailbox or passkey."""
    return session.signed_in_at > now - FRESH_FOR
