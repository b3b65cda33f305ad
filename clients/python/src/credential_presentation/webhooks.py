"""Webhooks of the service, which it signs as Standard Webhooks specifies (https://www.standardwebhooks.com)."""

import base64
import hmac
import re
import time
from collections.abc import Mapping
from typing import Any

from credential_presentation.errors import demand
from credential_presentation.jose import read_object

TOLERANCE = 300  # seconds
LONGEST = 65_536  # bytes


def read_webhook(headers: Mapping[str, str], body: bytes, *secrets: str) -> dict[str, Any]:
    """The content of a webhook: `type`, `timestamp` and `data`. Raises `Rejected` if it is forged or old.

    `secrets` is your secret (`whsec_…`), or the old and the new one while you change them. A webhook may
    arrive twice, with the same `webhook-id`.
    """
    sent = {name.lower(): value for name, value in headers.items()}
    own_id, moment, signatures = (
        sent.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature")
    )
    short = len(body) <= LONGEST and len(own_id + signatures) <= 2048 and re.fullmatch("[0-9]{1,12}", moment)
    demand(short, "webhook", "the headers or the body are not those of a webhook")
    signed, matches = f"{own_id}.{moment}.".encode(errors="replace") + body, []
    for secret in secrets:
        key = base64.b64decode(secret.removeprefix("whsec_"))
        own = b"v1," + base64.b64encode(hmac.digest(key, signed, "sha256"))
        matches += [hmac.compare_digest(own, each.encode(errors="replace")) for each in signatures.split(" ")]
    demand(any(matches), "webhook", "no signature is by one of the secrets")
    demand(abs(time.time() - int(moment)) <= TOLERANCE, "webhook", "it was not sent just now")
    return read_object(body)
