"""Which operator looked at whose claims or pictures, or closed whose wallet: lines of the audit record.

`AuditEntry` has such entries of releases before the audit record. Nothing is added to it any more.
"""

from datetime import datetime

from django.contrib.auth.models import AbstractUser
from django.db.models import Model

from infra import audit
from wallet.models import AuditEntry

Action = AuditEntry.Action


def record(operator: AbstractUser, action: AuditEntry.Action, subject: Model, *, now: datetime) -> None:
    """Write the line. Call it before anything is shown: what cannot be recorded is not shown."""
    audit.record(operator, action.value, subject, now=now)
