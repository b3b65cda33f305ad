"""Signatures of webhooks: Standard Webhooks 1.0 (symmetric, `v1`). Pure."""

import base64
import hmac
from collections.abc import Sequence
from datetime import datetime

PREFIX = "whsec_"
BYTES = 32  # of a secret; the specification requires 24 to 64


def as_text(secret: bytes) -> str:
    """A secret in the encoding that libraries of relying parties accept."""
    return PREFIX + base64.b64encode(secret).decode()


def headers(message_id: str, body: str, *, secrets: Sequence[bytes], now: datetime) -> dict[str, str]:
    """The headers for `body`: its id, the time of this try, and a signature with each secret."""
    timestamp = str(int(now.timestamp()))
    signed = f"{message_id}.{timestamp}.{body}".encode()
    signatures = (base64.b64encode(hmac.digest(secret, signed, "sha256")).decode() for secret in secrets)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }
