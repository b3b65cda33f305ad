"""System checks of the wallet, run by `manage.py check` and at the start."""

from typing import Any

from django.core.checks import CheckMessage, Error, Info, Tags, register
from django.core.exceptions import ImproperlyConfigured
from django.db import Error as DatabaseError
from django.db import transaction

from infra import email_addresses
from wallet.models import Wallet
from wallet.providers import registry
from wallet.providers.options import OptionError

SHOWN = 20
_ORDINARY = r"^[a-z0-9._+-]+@[a-z0-9.-]+$"  # nearly all; the query leaves them out


@register()
def identity_providers(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Loads every provider, because a mistake in its settings would show at somebody's verification."""
    try:
        registry.offered()
    except OptionError as error:
        return [Error(str(error), id="wallet.E001")]
    return []


@register(Tags.security, deploy=True)
def addresses_of_wallets(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Finds wallets that earlier releases opened for addresses that are no longer accepted.

    Reads the database. Nobody can sign in to such a wallet. It is an Info, so that the service still starts.
    """
    active = Wallet.objects.filter(state=Wallet.State.ACTIVE, closed_at=None).order_by("created_at")
    try:
        with transaction.atomic():
            rows = active.exclude(email__regex=_ORDINARY).values_list("id", "email").iterator(chunk_size=5000)
            found = [str(pk) for pk, email in rows if not email_addresses.is_accepted(email)]
    except (DatabaseError, ImproperlyConfigured):
        return []  # the checks of `keys` report it
    if not found:
        return []
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return [
        Info(
            f"Wallets whose e-mail address may belong to somebody else: {', '.join(found[:SHOWN])}{more}.",
            hint="Nobody can sign in to them. Suspend each in the admin, so that what was presented from it "
            "is no longer valid.",
            id="wallet.I001",
        )
    ]
