"""What must be right before holders come: found by `manage.py check` and at the start."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.utils.module_loading import import_string


@register()
def identity_provider(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """IDENTITY_PROVIDER is the dotted path of a class; a wrong one would show at the first verification."""
    try:
        if isinstance(import_string(settings.IDENTITY_PROVIDER), type):
            return []
    except ImportError:
        pass
    return [
        Error("IDENTITY_PROVIDER is not the dotted path of a class that can be imported.", id="wallet.E001")
    ]
