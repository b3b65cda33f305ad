"""Codes of an authenticator app, and wrong ones."""

from datetime import timedelta
from typing import Any

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from django.utils import timezone

SECRET = bytes(range(20))


def code(at: Any = None, secret: bytes = SECRET) -> str:
    """The code at this time; the present one without a time."""
    return TOTP(secret, 6, SHA1(), 30).generate(int((at or timezone.now()).timestamp())).decode()


def wrong() -> str:
    """Six digits that are no code of now, before or after."""
    now = timezone.now()
    near = {code(now + timedelta(seconds=30 * steps)) for steps in range(-4, 5)}
    return next(f"{number:06}" for number in range(20) if f"{number:06}" not in near)
