"""The pictures of an attempt: sealed rows of their own, erased some time after the decision."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.db import transaction

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
    ended = Picture.objects.exclude(verification__state__in=OPEN)
    due = ended.filter(verification__changed_at__lte=now - KEPT)
    cleared = 0
    while found := list(due.order_by("id").values_list("id", flat=True)[:batch]):
        cleared += Picture.objects.filter(id__in=found).delete()[0]
    return cleared
