"""The published status of entries, computed from the entry and from its wallet, credential and key.

Invalid: the entry is (revoking a credential sets it on all its entries), or a withdrawn key signed it.
Suspended: the entry is, or its credential or wallet. Expired is not a status (§7).
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q, QuerySet

from keys.models import SigningKey
from keys.rotation.states import TOKEN_LIFETIME
from wallet.models import Credential, StatusEntry, Wallet

Status = StatusEntry.Status
_GRAVITY = (Status.VALID, Status.SUSPENDED, Status.INVALID)

_SUSPENDED_BY = (
    Q(credential__state=Credential.State.SUSPENDED),
    Q(credential__wallet__state=Wallet.State.SUSPENDED),
)


# Relying parties' clocks may be slow, so a status is published for a while after the expiry.
_PUBLISHED_BEYOND = timedelta(minutes=10)


def unexpired(now: datetime) -> QuerySet[StatusEntry]:
    """The presented credentials that have not expired."""
    return StatusEntry.objects.filter(expires_at__gt=now)


def signed_by(kid: UUID, now: datetime) -> int:
    """The number of unexpired presented credentials that a key signed; called by `keys.rotation.states`."""
    return unexpired(now).filter(signing_key=kid).count()


def status_of(entry: StatusEntry) -> Status:
    """The status of an unexpired entry; makes no query if its credential, wallet and key are loaded."""
    if entry.credential is None or entry.signing_key is None:
        raise ValueError("a blank entry has no status")
    if entry.status == Status.INVALID or entry.signing_key.state == SigningKey.State.WITHDRAWN:
        return Status.INVALID
    if entry.status == Status.SUSPENDED or entry.credential.state == Credential.State.SUSPENDED:
        return Status.SUSPENDED
    wallet_suspended = entry.credential.wallet.state == Wallet.State.SUSPENDED
    return Status.SUSPENDED if wallet_suspended else Status.VALID


def all_valid(wallet_id: UUID, reference: UUID, *, now: datetime, lock: bool = False) -> bool:
    """Whether all that a wallet presented for this reference is valid now, and the wallet still shares.

    lock: whether a revocation waits until the transaction has ended.
    """
    entries = unexpired(now).filter(credential__wallet=wallet_id, reference=reference)
    entries = entries.select_related("credential__wallet", "signing_key").order_by("pk")
    if lock:
        entries = entries.select_for_update(of=["self"])
    presented = list(entries)
    return bool(presented) and all(
        status_of(entry) == Status.VALID
        and entry.credential is not None
        and entry.credential.wallet.can_share
        for entry in presented
    )


def statuses_of(
    wallet: Wallet, references: Collection[UUID], *, now: datetime, gravest: bool = False
) -> dict[UUID, Status]:
    """The status, by reference, of what a wallet presented for these references and has not expired.

    If several presentations have one reference, it is invalid only when all of them are, so that the holder
    can take back the others. gravest: the status that is worst for a relying party instead.
    """
    entries = unexpired(now).filter(credential__wallet=wallet, reference__in=references)
    with_reasons = entries.select_related("credential__wallet", "signing_key")
    pairs = [(status_of(entry), entry.reference) for entry in with_reasons if entry.reference]
    pairs.sort(key=lambda pair: _GRAVITY.index(pair[0]), reverse=not gravest)
    return {reference: status for status, reference in pairs}  # the last counts


def invalid(*, now: datetime) -> QuerySet[StatusEntry]:
    """The unexpired presented credentials that are invalid by themselves or by a withdrawn key."""
    reason = Q(status=Status.INVALID)
    if keys := _withdrawn_too_early(now):
        reason |= Q(signing_key__in=keys)
    return unexpired(now).filter(reason)


def not_valid(list_id: int, *, now: datetime) -> dict[int, int]:
    """Statuses other than valid of a list, by index, as `status_of` has them. Reads only these entries."""
    entries = unexpired(now - _PUBLISHED_BEYOND).filter(status_list=list_id).order_by()
    statuses: dict[int, int] = {}
    for reason in _SUSPENDED_BY:
        statuses |= dict.fromkeys(entries.filter(reason).values_list("idx", flat=True), Status.SUSPENDED)
    statuses |= dict(entries.exclude(status=Status.VALID).values_list("idx", "status"))
    if keys := _withdrawn_too_early(now):
        signed = entries.filter(signing_key__in=keys)
        statuses |= dict.fromkeys(signed.values_list("idx", flat=True), Status.INVALID)
    return statuses


def _withdrawn_too_early(now: datetime) -> list[UUID]:
    """The keys that were withdrawn while tokens that they signed may still be valid."""
    begun = now - TOKEN_LIFETIME - timedelta(hours=1)
    keys = SigningKey.objects.filter(state=SigningKey.State.WITHDRAWN, withdrawn_at__gt=begun)
    return list(keys.filter(Q(retired_at=None) | Q(retired_at__gt=begun)).values_list("id", flat=True))
