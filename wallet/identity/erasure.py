"""Erasing what a verified identity leaves behind: its claims after its end, and old attempts."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet

from infra.retention import delete
from wallet.identity.state_machine import OPEN
from wallet.models import Credential, Evidence, IdentityMark, IdentityVerification

State = IdentityVerification.State

ATTEMPTS_KEPT = timedelta(days=730)  # after they ended, with their logs
DOCUMENT = {"document_kind": "", "issuing_country": "", "document_expires_on": None}


def clear_identities(*, now: datetime, batch: int) -> int:
    """Erase the claims and marks of identities that ended or were revoked long enough ago; how many.

    The row of the credential stays: it says until when there was an identity, and status lists refer to it.
    """
    revoked = Credential.objects.filter(state=Credential.State.REVOKED)
    revoked.filter(revoked_at=None).update(revoked_at=now)  # by an earlier release, which did not write when
    before = now - settings.IDENTITY_KEPT
    due = Credential.objects.filter(Q(expires_at__lte=before) | Q(revoked_at__lte=before), erased_at=None)
    cleared = 0
    while count := _erase(due, now=now, batch=batch):
        cleared += count
    return cleared


@transaction.atomic
def _erase(due: QuerySet[Credential], *, now: datetime, batch: int) -> int:
    """Locks the rows first: an identity that is renewed at the same time is not due any more."""
    found = list(due.select_for_update().order_by("id").values_list("id", flat=True)[:batch])
    IdentityMark.objects.filter(credential__in=found).delete()
    return due.filter(id__in=found).update(sealed_identity=b"", erased_at=now)


def clear_documents(*, now: datetime, batch: int) -> int:
    """Erase which document was shown for identities that are erased, or were replaced as long ago."""
    erased = Credential.objects.exclude(erased_at=None).values("verification_id")
    replaced = Q(
        verification__state=State.EXPIRED, verification__changed_at__lte=now - settings.IDENTITY_KEPT
    )
    due = Evidence.objects.exclude(**DOCUMENT).filter(replaced | Q(verification__in=erased))
    cleared = 0
    while found := list(due.order_by("id").values_list("id", flat=True)[:batch]):
        cleared += Evidence.objects.filter(id__in=found).update(**DOCUMENT)
    return cleared


def clear_attempts(*, now: datetime, batch: int) -> int:
    """Delete attempts that ended ATTEMPTS_KEPT ago, with their logs, except that of the wallet's identity."""
    ended = IdentityVerification.objects.exclude(state__in=OPEN).filter(changed_at__lte=now - ATTEMPTS_KEPT)
    verified_by = Credential.objects.values("verification_id")
    return delete(ended.exclude(id__in=verified_by), by="changed_at", batch=batch)
