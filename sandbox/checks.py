"""What must be right in a sandbox that others can reach: told by `manage.py check` and at the start."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Tags, Warning, register


@register(Tags.security)
def developers_prove_their_address(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Without letters the link is shown to whoever asks: fine only where nobody else can ask."""
    if settings.DEVELOPER_EMAIL_BACKEND or settings.LOOPBACK_CALLS:
        return []
    message = "EMAIL_URL is empty, so anybody who opens this sandbox can look after anybody's applications."
    hint = "Set EMAIL_URL (docs/operate.md), or let nobody but its developer reach the sandbox."
    return [Warning(message, hint=hint, id="presentation.W001")]
