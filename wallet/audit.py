"""Which operator looked at whose claims or pictures, or closed whose wallet, and when: append-only rows."""

from datetime import datetime

from django.contrib.auth.models import AbstractUser
from django.db.models import Model

from wallet.models import AuditEntry

Action = AuditEntry.Action


def record(operator: AbstractUser, action: AuditEntry.Action, subject: Model, *, now: datetime) -> None:
    """Write the entry. Call it before anything is shown: what cannot be recorded is not shown."""
    AuditEntry.objects.create(
        at=now,
        operator_id=operator.pk,
        action=action,
        subject=str(subject._meta.model_name),
        subject_id=subject.pk,
    )
