"""Signing a webhook: Standard Webhooks 1.0 (symmetric, `v1`). Pure."""

import base64
import hmac
from collections.abc import Sequence
from datetime import datetime

PREFIX = "whsec_"
BYTES = 32  # of a secret; the specification wants 24 to 64


def as_text(secret: bytes) -> str:
    """A secret as relying applications' libraries take it."""
    return PREFIX + base64.b64encode(secret).decode()


def headers(message_id: str, body: str, *, secrets: Sequence[bytes], now: datetime) -> dict[str, str]:
    """What goes with `body`: its id, the time of this try, and a signature with each of the secrets."""
    timestamp = str(int(now.timestamp()))
    signed = f"{message_id}.{timestamp}.{body}".encode()
    signatures = (base64.b64encode(hmac.digest(secret, signed, "sha256")).decode() for secret in secrets)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }
