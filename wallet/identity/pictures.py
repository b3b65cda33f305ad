"""The pictures of an attempt: sealed rows of their own, erased some time after the decision."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q

from infra.retention import LOOKED_AT, Due, delete
from infra.sealing import seal_column, unseal_column
from wallet.identity.state_machine import OPEN
from wallet.models import IdentityVerification, Picture

KEPT = timedelta(days=7)  # after the decision, for complaints; or after the provider failed


def store(verification: IdentityVerification, files: Mapping[str, bytes], *, now: datetime) -> None:
    """Replace the attempt's pictures by these JPEGs, by their kind (`Picture.Kind`)."""
    with transaction.atomic():
        Picture.objects.filter(verification=verification).delete()
        for kind, jpeg in files.items():
            picture = Picture(verification=verification, kind=kind, uploaded_at=now)
            picture.sealed_jpeg = seal_column(picture, "sealed_jpeg", jpeg)
            picture.save()


def opened(picture: Picture) -> bytes:
    """The JPEG. Raises `SealError`."""
    return unseal_column(picture, "sealed_jpeg")


def clear(*, now: datetime, batch: int) -> int:
    """Erase the pictures of attempts that ended KEPT ago or earlier; how many."""
    return delete(Picture.objects.all(), by="id", batch=batch, where=_ended(now))


def decided(now: datetime) -> list[Due]:
    """What `clear` erases."""
    rows = IdentityVerification.objects.filter(id__in=_of_the_oldest(), changed_at__lte=now - KEPT)
    return [Due(rows.exclude(state__in=OPEN), "changed_at", now - KEPT)]


def _of_the_oldest() -> list[Any]:
    oldest = Picture.objects.order_by("id").values_list("verification_id", flat=True)
    return list(set(oldest[:LOOKED_AT]))


def _ended(now: datetime) -> Q:
    return ~Q(verification__state__in=OPEN) & Q(verification__changed_at__lte=now - KEPT)
