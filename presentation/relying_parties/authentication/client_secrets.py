"""The secrets of relying applications: made, shown once, replaced with an overlap, ended."""

import hmac
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256

import structlog
from django.db import IntegrityError, transaction

from presentation.models import ClientSecret, RelyingParty

log = structlog.get_logger(__name__)

LIFETIME = timedelta(days=365)
OVERLAP = timedelta(days=7)  # the one before stays good for so long
_SLOTS = (0, 1)


class TwoSecretsError(Exception):
    """Two secrets are live, and one of them has to be ended before there can be a third."""


@dataclass(frozen=True)
class NewSecret:
    """A secret at the only moment when it can be read."""

    text: str = field(repr=False)
    row: ClientSecret


def digest(text: str) -> str:
    """What is kept of a secret."""
    return sha256(text.encode()).hexdigest()


def matching(text: str, rows: list[ClientSecret]) -> ClientSecret | None:
    """The row of this secret, found in the same time whichever it is, if any."""
    received, found = digest(text), None
    for row in rows:
        if hmac.compare_digest(row.digest, received):
            found = row
    return found


def live(relying_party: RelyingParty, *, now: datetime) -> list[ClientSecret]:
    """What works now, the newest first."""
    return list(relying_party.client_secrets.filter(ended_at=None, expires_at__gt=now))


def rotate(
    relying_party: RelyingParty,
    *,
    now: datetime,
    overlap: timedelta = OVERLAP,
    lifetime: timedelta = LIFETIME,
) -> NewSecret:
    """A new secret; the one before works on for `overlap`, or ends at once when that is nothing.

    Raises TwoSecretsError when two are live and none is to end at once, and then nothing is changed.
    """
    text = secrets.token_urlsafe(32)
    try:
        with transaction.atomic():
            _make_room(relying_party, now=now, overlap=overlap)
            live_rows = relying_party.client_secrets.filter(ended_at=None)
            taken = set(live_rows.values_list("slot", flat=True))
            free = [slot for slot in _SLOTS if slot not in taken]
            if not free:
                raise TwoSecretsError
            row = ClientSecret.objects.create(
                relying_party=relying_party,
                slot=free[0],
                digest=digest(text),
                created_at=now,
                expires_at=now + lifetime,
            )
    except IntegrityError:  # somebody else took the slot just now
        raise TwoSecretsError from None
    log.info("client_secret_made", client_id=relying_party.client_id, secret=row.pk)
    return NewSecret(text, row)


def end(secret: ClientSecret, *, now: datetime) -> bool:
    """From now on it does not work any more; False when it was ended before."""
    ended = ClientSecret.objects.filter(pk=secret.pk, ended_at=None).update(ended_at=now) == 1
    if ended:
        log.info("client_secret_ended", client_id=secret.relying_party.client_id, secret=secret.pk)
    return ended


def _make_room(relying_party: RelyingParty, *, now: datetime, overlap: timedelta) -> None:
    """What was made before goes on for `overlap` at most; what is over leaves its slot."""
    rows = relying_party.client_secrets.filter(ended_at=None)
    if overlap:
        rows.filter(expires_at__gt=now + overlap).update(expires_at=now + overlap)
        rows = rows.filter(expires_at__lte=now)
    rows.update(ended_at=now)
