"""Secrets that sign webhooks: made, shown once, stored sealed, replaced with an overlap."""

import base64
import hmac
import secrets
import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta

import structlog
from django.db import transaction
from django.db.models import Q, QuerySet

from infra.sealing import SealError, seal_column, unseal_column
from presentation.models import RelyingParty
from presentation.webhooks.models import WebhookEndpoint, WebhookSecret

log = structlog.get_logger(__name__)

OVERLAP = timedelta(days=7)  # how long the previous secret signs as well


@transaction.atomic
def rotate(relying_party: RelyingParty, *, now: datetime, overlap: timedelta = OVERLAP) -> str:
    """A new secret, to be shown once.

    Previous ones keep signing for at most `overlap`; an overlap of zero ends them now.
    """
    WebhookEndpoint.objects.bulk_create(
        [WebhookEndpoint(relying_party=relying_party, next_call_at=now)], ignore_conflicts=True
    )
    # Lock the row: two concurrent rotations must not leave a secret without an expiry.
    WebhookEndpoint.objects.select_for_update().get(pk=relying_party.pk)
    in_use(relying_party, now=now).filter(Q(ends_at=None) | Q(ends_at__gt=now + overlap)).update(
        ends_at=now + overlap
    )
    WebhookSecret.objects.filter(relying_party=relying_party, ends_at__lte=now).delete()
    plain = secrets.token_bytes(32)  # the specification requires 24 to 64
    row = WebhookSecret(id=uuid.uuid4(), relying_party=relying_party, created_at=now)
    row.sealed_secret = seal_column(row, "sealed_secret", plain)
    row.save(force_insert=True)
    return as_text(plain)


def signing(relying_party: RelyingParty, *, now: datetime) -> list[bytes]:
    """The secrets that sign now, the newest first. One that does not unseal is logged and left out."""
    opened = []
    for row in in_use(relying_party, now=now):
        try:
            opened.append(unseal_column(row, "sealed_secret"))
        except SealError:
            log.exception("webhook_secret_does_not_open", client_id=relying_party.client_id)
    return opened


def in_use(relying_party: RelyingParty, *, now: datetime) -> QuerySet[WebhookSecret]:
    """The secrets that have not ended and were not erased with a lost sealing key, the newest first."""
    kept = WebhookSecret.objects.filter(relying_party=relying_party).exclude(sealed_secret=b"")
    return kept.filter(Q(ends_at=None) | Q(ends_at__gt=now))


def as_text(secret: bytes) -> str:
    """A secret in the encoding that libraries of relying parties accept."""
    return "whsec_" + base64.b64encode(secret).decode()


def signature_headers(
    message_id: str, body: str, *, secrets: Sequence[bytes], now: datetime
) -> dict[str, str]:
    """The headers for `body`: its id, the time of this try, and a signature with each secret."""
    timestamp = str(int(now.timestamp()))
    signed = f"{message_id}.{timestamp}.{body}".encode()
    signatures = (base64.b64encode(hmac.digest(secret, signed, "sha256")).decode() for secret in secrets)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }
