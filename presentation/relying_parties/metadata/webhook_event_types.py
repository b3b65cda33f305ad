"""The webhook events that a relying party may want. Pure."""

from django.db.models import TextChoices


class WebhookEventType(TextChoices):
    """As on the wire."""

    COMPLETED = "presentation.completed", "presentation.completed"
    DENIED = "presentation.denied", "presentation.denied"
    REVOKED = "credential.revoked", "credential.revoked"
