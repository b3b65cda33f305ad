"""Challenges: random numbers that a passkey signs, each once (WebAuthn Level 3 §13.4.3).

A challenge is good for one purpose, in the session or browser that requested it, for a few minutes.
"""

import secrets
from datetime import datetime, timedelta
from enum import StrEnum

from infra import base64url
from infra.sealing import sha256_hex
from wallet.models import PasskeyChallenge

LIFETIME = timedelta(minutes=5)


class Purpose(StrEnum):
    """What the signature is for; one made for another purpose is refused."""

    ADD = "add"
    SIGN_IN = "sign_in"
    CONFIRM = "confirm"


class ChallengeGoneError(LookupError):
    """The challenge was used, has expired, or was made for another purpose, browser or subject."""


def make(purpose: Purpose, *, bound_to: str, subject: str = "", now: datetime) -> bytes:
    """A new challenge.

    bound_to: the digest of the session's cookie, or of the browser's where nobody is signed in. subject: the
    ID of the errand or question that it is for.
    """
    challenge = secrets.token_bytes(32)
    PasskeyChallenge.objects.create(
        digest=_digest(challenge),
        purpose=purpose,
        bound_to=bound_to,
        subject=subject,
        expires_at=now + LIFETIME,
    )
    return challenge


def use(challenge: bytes, purpose: Purpose, *, bound_to: str, subject: str = "", now: datetime) -> None:
    """Use the challenge up by one conditional delete; raises `ChallengeGoneError`."""
    good = PasskeyChallenge.objects.filter(
        digest=_digest(challenge), purpose=purpose, bound_to=bound_to, subject=subject, expires_at__gt=now
    )
    if good.delete()[0] != 1:
        raise ChallengeGoneError


def _digest(challenge: bytes) -> str:
    return sha256_hex(base64url.encode(challenge))
