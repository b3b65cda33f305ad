"""The pictures of an attempt: sealed rows of their own, erased some time after the decision."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from infra.retention import delete
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
    ended = ~Q(verification__state__in=OPEN) & Q(verification__changed_at__lte=now - KEPT)
    return delete(Picture.objects.all(), by="id", batch=batch, where=ended)
