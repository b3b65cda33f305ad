"""How the entries of a list stand. What follows from a wallet, credential or key is not written down again.

Invalid: said of the entry (revoking a credential says it of all its entries), or signed by a withdrawn key.
Suspended: said of the entry, or its credential or wallet is suspended. Expired is no status (§7).
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q, QuerySet

from keys.models import SigningKey
from keys.rotation.schedule import TOKEN_LIFETIME
from wallet.models import Credential, StatusEntry, Wallet

Status = StatusEntry.Status

_SET_ASIDE = (
    Q(credential__state=Credential.State.SUSPENDED),
    Q(credential__wallet__state=Wallet.State.SUSPENDED),
)


# Relying parties' clocks may be behind: a status is published a little longer than its credential lasts.
_PUBLISHED_BEYOND = timedelta(minutes=10)


def unexpired(now: datetime) -> QuerySet[StatusEntry]:
    """What was presented and has not ended."""
    return StatusEntry.objects.filter(expires_at__gt=now)


def signed_by(kid: UUID, now: datetime) -> int:
    """How many unexpired presented credentials a key signed; `keys.rotation.stakes` asks it."""
    return unexpired(now).filter(signing_key=kid).count()


def standing(entry: StatusEntry) -> Status:
    """How an unexpired entry stands; costs nothing when its credential, wallet and key are loaded."""
    if entry.credential is None or entry.signing_key is None:
        raise ValueError("a swept entry stands for nothing")
    if entry.status == Status.INVALID or entry.signing_key.state == SigningKey.State.WITHDRAWN:
        return Status.INVALID
    if entry.status == Status.SUSPENDED or entry.credential.state == Credential.State.SUSPENDED:
        return Status.SUSPENDED
    set_aside = entry.credential.wallet.state == Wallet.State.SUSPENDED
    return Status.SUSPENDED if set_aside else Status.VALID


def standings(wallet: Wallet, references: Collection[UUID], *, now: datetime) -> dict[UUID, Status]:
    """How what was presented from a wallet for these references stands, as far as it has not ended."""
    entries = unexpired(now).filter(credential__wallet=wallet, reference__in=references)
    with_reasons = entries.select_related("credential__wallet", "signing_key")
    return {entry.reference: standing(entry) for entry in with_reasons if entry.reference}


def invalid(*, now: datetime) -> QuerySet[StatusEntry]:
    """What has not ended and is invalid for good: said of it, or signed by a withdrawn key."""
    reason = Q(status=Status.INVALID)
    if keys := _withdrawn_too_early(now):
        reason |= Q(signing_key__in=keys)
    return unexpired(now).filter(reason)


def not_valid(list_id: int, *, now: datetime) -> dict[int, int]:
    """The statuses in a list that are not 0, by index, as `standing` has them. Reads these entries only."""
    entries = unexpired(now - _PUBLISHED_BEYOND).filter(status_list=list_id).order_by()
    statuses: dict[int, int] = {}
    for reason in _SET_ASIDE:
        statuses |= dict.fromkeys(entries.filter(reason).values_list("idx", flat=True), Status.SUSPENDED)
    statuses |= dict(entries.exclude(status=Status.VALID).values_list("idx", "status"))
    if keys := _withdrawn_too_early(now):
        signed = entries.filter(signing_key__in=keys)
        statuses |= dict.fromkeys(signed.values_list("idx", flat=True), Status.INVALID)
    return statuses


def _withdrawn_too_early(now: datetime) -> list[UUID]:
    """Keys that were withdrawn while what they signed goes on; those that had their time are none of them."""
    begun = now - TOKEN_LIFETIME - timedelta(hours=1)
    keys = SigningKey.objects.filter(state=SigningKey.State.WITHDRAWN, withdrawn_at__gt=begun)
    return list(keys.filter(Q(retired_at=None) | Q(retired_at__gt=begun)).values_list("id", flat=True))
