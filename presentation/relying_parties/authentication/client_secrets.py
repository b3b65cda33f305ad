"""Client secrets: made, shown once, replaced with an overlap, ended; and the metric of when they end."""

import hmac
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog
from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils import timezone
from prometheus_client.core import GaugeMetricFamily

from infra.gauges import gauges
from infra.sealing import sha256_hex
from presentation.models import ClientSecret, RelyingParty

log = structlog.get_logger(__name__)

LIFETIME = timedelta(days=365)
OVERLAP = timedelta(days=7)  # how long the previous secret keeps working
_SLOTS = (0, 1)
_MOST, _REPORTED = 100, timedelta(days=30)  # relying parties in the metric; how long it has an ended secret


class TwoSecretsError(Exception):
    """Two secrets are live. One of them must end before there can be a third."""


@dataclass(frozen=True)
class NewSecret:
    """A secret in clear, which can be shown only now, and its row."""

    text: str = field(repr=False)
    row: ClientSecret


def matching(text: str, rows: list[ClientSecret]) -> ClientSecret | None:
    """The row of this secret, or None; the comparison takes the same time in all cases."""
    received, match = sha256_hex(text), None
    for row in rows:
        if hmac.compare_digest(row.digest, received):
            match = row
    return match


def live(relying_party: RelyingParty, *, now: datetime) -> list[ClientSecret]:
    """The secrets that work now, the newest first."""
    return list(relying_party.client_secrets.filter(ended_at=None, expires_at__gt=now))


def rotate(relying_party: RelyingParty, *, now: datetime, overlap: timedelta = OVERLAP) -> NewSecret:
    """A new secret. The previous one keeps working for `overlap`; if that is zero, all previous ones end now.

    Raises TwoSecretsError if two are live and the overlap is not zero; nothing is changed then.
    """
    text = secrets.token_urlsafe(32)
    try:
        with transaction.atomic():
            _end_previous(relying_party, now=now, overlap=overlap)
            live_rows = relying_party.client_secrets.filter(ended_at=None)
            taken = set(live_rows.values_list("slot", flat=True))
            free = [slot for slot in _SLOTS if slot not in taken]
            if not free:
                raise TwoSecretsError
            row = ClientSecret.objects.create(
                relying_party=relying_party,
                slot=free[0],
                digest=sha256_hex(text),
                created_at=now,
                expires_at=now + LIFETIME,
            )
    except IntegrityError:  # another request took the slot
        raise TwoSecretsError from None
    log.info("client_secret_made", client_id=relying_party.client_id, secret=row.pk)
    return NewSecret(text, row)


def end(secret: ClientSecret, *, now: datetime) -> bool:
    """Ends the secret now; returns False if it was ended before."""
    ended = ClientSecret.objects.filter(pk=secret.pk, ended_at=None).update(ended_at=now) == 1
    if ended:
        log.info("client_secret_ended", client_id=secret.relying_party.client_id, secret=secret.pk)
    return ended


def secret_metrics() -> Iterator[GaugeMetricFamily]:
    """docs/reference.md lists the metric and its alert."""
    text = "Seconds until the last secret of an active relying party ends; negative for 30 days afterwards."
    yield gauges("client_secret_ends_seconds", text, "relying_party", seconds_left(timezone.now()))


def seconds_left(now: datetime) -> dict[str, float]:
    """When the last secret of each relying party ends, for those where it ends first."""
    live = ClientSecret.objects.filter(ended_at=None, relying_party__state=RelyingParty.State.ACTIVE)
    last = live.order_by().values_list("relying_party__client_id").annotate(ends=Max("expires_at"))
    soonest = last.filter(ends__gt=now - _REPORTED).order_by("ends", "relying_party_id")[:_MOST]
    return {client_id: (ends - now).total_seconds() for client_id, ends in soonest}


def _end_previous(relying_party: RelyingParty, *, now: datetime, overlap: timedelta) -> None:
    """Limits the live secrets to `overlap`, and frees the slots of those that have ended by then."""
    rows = relying_party.client_secrets.filter(ended_at=None)
    if overlap:
        rows.filter(expires_at__gt=now + overlap).update(expires_at=now + overlap)
        rows = rows.filter(expires_at__lte=now)
    rows.update(ended_at=now)
