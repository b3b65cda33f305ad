"""Functions that present credentials, find their status entries, and read published status lists."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone

from keys.jws import decode_segment
from tests.relying_party import status_at, status_reference
from wallet.credential import credentials
from wallet.credential.credentials import Binding
from wallet.models import StatusEntry, StatusList, Wallet
from wallet.status_lists import publication, upkeep

VALID, INVALID, SUSPENDED = 0, 1, 2
SAID: dict[str, Any] = {"actor": "olga", "reason": "Reported stolen"}


def present(wallet: Wallet, *, reference: UUID | None = None, now: datetime | None = None) -> str:
    """A presentation to Acme Bank."""
    moment = now or timezone.now()
    binding = Binding(
        audience="acme-bank",
        nonce="n-0S6_WzA2MjAzNDU2Nzg5MA",
        transaction_data=[],
        reference=reference,
        today=timezone.localdate(moment),
    )
    (token,) = credentials.present(wallet.credential, [([("given_name",)], binding)], now=moment)
    return token


def place_in(token: str) -> tuple[int, int]:
    """List and index in a token."""
    idx, uri = status_reference(decode_segment(token.split(".")[1]))
    return int(uri.rpartition("/")[2]), idx


def entry_of(token: str) -> StatusEntry:
    """The `StatusEntry` of a token."""
    list_id, idx = place_in(token)
    return StatusEntry.objects.get(status_list=list_id, idx=idx)


def presented(wallet: Wallet, **facts: Any) -> StatusEntry:
    """The entry of a new presentation."""
    return entry_of(present(wallet, **facts))


def published(list_id: int) -> dict[str, Any]:
    """The payload of a published list, after its next check."""
    StatusList.objects.filter(pk=list_id).update(checked_at=None)
    return decode_segment(publication.current(list_id).decode().split(".")[1])


def status_of(entry: StatusEntry) -> int:
    """Its status in the published list."""
    content = published(entry.status_list_id)["status_list"]
    return status_at(content["lst"], content["bits"], entry.idx)


def small_lists(size: int) -> list[StatusList]:
    """Open two lists with this size."""
    upkeep.keep_open(now=timezone.now())
    StatusList.objects.filter(closed_at=None).update(size=size)
    return list(StatusList.objects.filter(closed_at=None).order_by("slot"))
