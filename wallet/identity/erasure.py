"""Erasing what a verified identity leaves behind: its claims after its end, and old attempts."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from infra.retention import Due, delete, pages
from wallet.identity.state_machine import OPEN
from wallet.models import Credential, IdentityEvidence, IdentityMark, IdentityVerification

State = IdentityVerification.State

ATTEMPTS_KEPT = timedelta(days=730)  # after they ended, with their logs
DOCUMENT = {"document_kind": "", "issuing_country": "", "document_expires_on": None}


def erase_identities(*, now: datetime, batch: int) -> int:
    """Erase the claims and marks of identities that ended or were revoked long enough ago; how many.

    The row of the credential stays: it says until when there was an identity, and status lists refer to it.
    """
    return sum(
        _erase(page, now=now) for due in ended(now) for page in pages(due.rows, by=due.by, batch=batch)
    )


def ended(now: datetime) -> list[Due]:
    """What `erase_identities` erases."""
    before = now - settings.IDENTITY_KEPT
    kept = Credential.objects.filter(erased_at=None)
    revoked = kept.filter(state=Credential.State.REVOKED, revoked_at__lte=before)
    return [
        Due(kept.filter(expires_at__lte=before), "expires_at", before),
        Due(revoked, "revoked_at", before),
    ]


@transaction.atomic
def _erase(due: QuerySet[Credential], *, now: datetime) -> int:
    """Locks the rows first: an identity that is renewed at the same time is not due any more."""
    ids = list(due.select_for_update().order_by("id").values_list("id", flat=True))
    IdentityMark.objects.filter(credential__in=ids).delete()
    return due.filter(id__in=ids).update(sealed_identity=b"", erased_at=now)


def erase_documents(*, now: datetime, batch: int) -> int:
    """Erase which document was shown for identities that are erased, or were replaced as long ago."""
    cleared = sum(
        _erase_documents(page.values_list("id", flat=True))
        for due in replaced(now)
        for page in pages(due.rows, by=due.by, batch=batch)
    )
    erased = Credential.objects.filter(erased_at__isnull=False)
    for page in pages(erased, by="erased_at", batch=batch):
        cleared += _erase_documents(page.values_list("verification_id", flat=True))
    return cleared


def replaced(now: datetime) -> list[Due]:
    """The attempts whose documents `erase_documents` erases because the identity was replaced.

    Those of erased identities are left out: `ended` has them until then, and no index finds them later.
    """
    before = now - settings.IDENTITY_KEPT
    rows = IdentityVerification.objects.filter(state=State.EXPIRED, changed_at__lte=before)
    shown = Exists(IdentityEvidence.objects.exclude(**DOCUMENT).filter(verification=OuterRef("pk")))
    return [Due(rows, "changed_at", before, where=Q(shown))]


def _erase_documents(verifications: Iterable[UUID]) -> int:
    shown = IdentityEvidence.objects.exclude(**DOCUMENT)
    return shown.filter(verification__in=list(verifications)).update(**DOCUMENT)


def clear_attempts(*, now: datetime, batch: int) -> int:
    """Delete attempts that ended ATTEMPTS_KEPT ago, with their logs, except that of the wallet's identity."""
    return sum(delete(due.rows, by=due.by, batch=batch, where=due.where) for due in old_attempts(now))


def old_attempts(now: datetime) -> list[Due]:
    """What `clear_attempts` deletes."""
    before = now - ATTEMPTS_KEPT
    rows = IdentityVerification.objects.filter(changed_at__lte=before)
    verifies = Exists(Credential.objects.filter(verification=OuterRef("pk")))
    return [Due(rows, "changed_at", before, where=~Q(verifies) & ~Q(state__in=OPEN))]
