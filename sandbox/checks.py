"""System checks of a sandbox that others can reach."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Tags, Warning, register


@register(Tags.security)
def developers_prove_their_address(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Without e-mail, pages show the sign-in link, which is safe only on the developer's own machine."""
    if settings.DEVELOPER_EMAIL_BACKEND or settings.LOOPBACK_CALLS:
        return []
    message = "EMAIL_URL is empty, so every visitor of this sandbox can change all developers' applications."
    hint = "Set EMAIL_URL (docs/settings.md), or make the sandbox reachable for its developer only."
    return [Warning(message, hint=hint, id="presentation.W001")]
