"""The system check of single sign-on, run by every command and at the start."""

from typing import Any

from django.core.checks import CheckMessage, Error, register

from operators.single_sign_on import provider
from wallet.providers.options import OptionError


@register()
def single_sign_on(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Reads the settings, because a mistake in them would show when the first operator signs in."""
    try:
        provider.configured()
    except OptionError as error:
        return [Error(str(error), id="config.E001")]
    return []
