"""Who claimed an attempt in review, and who looked at it, by the audit record."""

from infra.models import AuditLine


def seen():
    """The claims and releases, and the looks at claims and pictures."""
    wanted = ("claim", "release", "claims_seen", "picture_seen")
    return list(
        AuditLine.objects.filter(action__in=wanted).order_by("seq").values_list("action", "operator_id")
    )
