"""Erasing what a verified identity leaves behind: its claims after its end, and old attempts."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from infra.retention import delete, pages
from wallet.identity.state_machine import OPEN
from wallet.models import Credential, Evidence, IdentityMark, IdentityVerification

State = IdentityVerification.State

ATTEMPTS_KEPT = timedelta(days=730)  # after they ended, with their logs
DOCUMENT = {"document_kind": "", "issuing_country": "", "document_expires_on": None}


def clear_identities(*, now: datetime, batch: int) -> int:
    """Erase the claims and marks of identities that ended or were revoked long enough ago; how many.

    The row of the credential stays: it says until when there was an identity, and status lists refer to it.
    """
    kept = Credential.objects.filter(erased_at=None)
    revoked = kept.filter(state=Credential.State.REVOKED)
    revoked.filter(revoked_at=None).update(revoked_at=now)  # by an earlier release, which did not write when
    before = now - settings.IDENTITY_KEPT
    return sum(
        _erase(page, now=now)
        for due, by in (
            (kept.filter(expires_at__lte=before), "expires_at"),
            (revoked.filter(revoked_at__lte=before), "revoked_at"),
        )
        for page in pages(due, by=by, batch=batch)
    )


@transaction.atomic
def _erase(due: QuerySet[Credential], *, now: datetime) -> int:
    """Locks the rows first: an identity that is renewed at the same time is not due any more."""
    found = list(due.select_for_update().order_by("id").values_list("id", flat=True))
    IdentityMark.objects.filter(credential__in=found).delete()
    return due.filter(id__in=found).update(sealed_identity=b"", erased_at=now)


def clear_documents(*, now: datetime, batch: int) -> int:
    """Erase which document was shown for identities that are erased, or were replaced as long ago."""
    replaced = IdentityVerification.objects.filter(
        state=State.EXPIRED, changed_at__lte=now - settings.IDENTITY_KEPT
    )
    cleared = sum(
        _erase_documents(page.values_list("id", flat=True))
        for page in pages(replaced, by="changed_at", batch=batch)
    )
    erased = Credential.objects.filter(erased_at__isnull=False)
    for page in pages(erased, by="erased_at", batch=batch):
        cleared += _erase_documents(page.values_list("verification_id", flat=True))
    return cleared


def _erase_documents(verifications: Iterable[UUID]) -> int:
    shown = Evidence.objects.exclude(**DOCUMENT)
    return shown.filter(verification__in=list(verifications)).update(**DOCUMENT)


def clear_attempts(*, now: datetime, batch: int) -> int:
    """Delete attempts that ended ATTEMPTS_KEPT ago, with their logs, except that of the wallet's identity."""
    old = IdentityVerification.objects.filter(changed_at__lte=now - ATTEMPTS_KEPT)
    verifies = Exists(Credential.objects.filter(verification=OuterRef("pk")))
    return delete(old, by="changed_at", batch=batch, where=~Q(verifies) & ~Q(state__in=OPEN))
