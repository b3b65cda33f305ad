"""The pictures of an attempt: sealed rows of their own, erased some time after the decision."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from infra.retention import LOOKED_AT, Due, delete
from infra.sealing import seal_column, unseal_column
from wallet.identity.state_machine import OPEN
from wallet.models import IdentityVerification, Picture

STOPPED = (IdentityVerification.State.CANCELLED, IdentityVerification.State.ABANDONED)
KEPT = timedelta(days=7)  # after the decision, for complaints; or after the provider failed


def store(verification: IdentityVerification, files: Mapping[str, bytes], *, now: datetime) -> None:
    """Keep these JPEGs, by their kind (`Picture.Kind`), instead of those that they replace.

    Those of an earlier submission are erased: an operator could not use them.
    """
    with transaction.atomic():
        earlier = Q(uploaded_at__lt=verification.changed_at)
        Picture.objects.filter(earlier | Q(kind__in=files), verification=verification).delete()
        for kind, jpeg in files.items():
            picture = Picture(verification=verification, kind=kind, uploaded_at=now)
            picture.sealed_jpeg = seal_column(picture, "sealed_jpeg", jpeg)
            picture.save()


def kept(verification: IdentityVerification) -> set[str]:
    """The kinds of the pictures that were stored since the person last began."""
    rows = Picture.objects.filter(verification=verification, uploaded_at__gte=verification.changed_at)
    return set(rows.values_list("kind", flat=True))


def opened(picture: Picture) -> bytes:
    """The JPEG. Raises `SealError`."""
    return unseal_column(picture, "sealed_jpeg")


def clear(*, now: datetime, batch: int) -> int:
    """Erase the pictures of attempts that ended KEPT ago or earlier, or without a submission; how many."""
    return delete(Picture.objects.all(), by="id", batch=batch, where=_ended(now))


def decided(now: datetime) -> list[Due]:
    """What `clear` erases."""
    oldest = Picture.objects.order_by("id").values_list("verification_id", flat=True)[:LOOKED_AT]
    rows = IdentityVerification.objects.filter(id__in=set(oldest), changed_at__lte=now - KEPT)
    return [Due(rows.exclude(state__in=OPEN), "changed_at", now - KEPT)]


def _ended(now: datetime) -> Q:
    never_sent = Q(verification__state__in=STOPPED, verification__submissions=0)
    return never_sent | ~Q(verification__state__in=OPEN) & Q(verification__changed_at__lte=now - KEPT)
