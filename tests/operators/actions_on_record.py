"""The actions in the audit record."""

from infra.models import AuditLine


def actions() -> list[str]:
    """All actions, the oldest first."""
    return list(AuditLine.objects.order_by("seq").values_list("action", flat=True))
