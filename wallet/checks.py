"""System checks of the wallet, run by `manage.py check` and at the start."""

from datetime import timedelta
from typing import Any

from django.core.checks import CheckMessage, Error, Info, Tags, register
from django.core.exceptions import ImproperlyConfigured
from django.db import Error as DatabaseError
from django.db import transaction
from django.utils import timezone

from infra.moments import moment
from keys.jwk import public_der
from keys.models import SigningKey
from wallet.providers import registry
from wallet.providers.options import OptionError
from wallet.providers.other_wallet.provider import OtherWallet

SOON = timedelta(days=30)


@register()
def identity_providers(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Loads every provider, because a mistake in its settings would show at somebody's verification."""
    try:
        registry.offered()
    except OptionError as error:
        return [Error(str(error), id="wallet.E001")]
    return []


@register(Tags.security, deploy=True)
def access_certificates(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """The key of requests signs no credentials, and its certificate lasts. Reads the database.

    An end is an Info, because the service has to start all the same.
    """
    try:
        providers = [
            candidate for candidate in registry.offered().values() if isinstance(candidate, OtherWallet)
        ]
    except OptionError:
        return []  # the check above says so
    messages: list[CheckMessage] = []
    for provider in providers:
        prefix = f"IDENTITY_PROVIDERS_FILE: {provider.name}."
        if _signs_credentials(provider):
            message = f"{prefix}request_key is a key that signs credentials. Make another one for requests."
            messages.append(Error(message, id="wallet.E002"))
        ends = min(certificate.not_valid_after_utc for certificate in provider.access.chain)
        if ends < timezone.now() + SOON:
            message = f"{prefix}access_certificate ends on {moment(ends)}. Nobody can begin a check then."
            messages.append(Info(message, id="wallet.I002"))
    return messages


def _signs_credentials(provider: OtherWallet) -> bool:
    public_key = public_der(provider.access.signer.public_key)
    try:
        with transaction.atomic():
            return SigningKey.objects.filter(public_key=public_key).exists()
    except (DatabaseError, ImproperlyConfigured):
        return False  # the checks of `keys` say so
