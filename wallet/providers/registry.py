"""The identity providers that are configured, by name and in the order in which people are offered them."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from wallet.credential.evidence import Assurance
from wallet.providers.contract import Provider
from wallet.providers.options import OptionError, Options

SHIPPED = {
    "in_person": "wallet.providers.in_person.InPerson",
    "from_afar": "wallet.providers.from_afar.FromAfar",
    "openid_connect": "wallet.providers.openid_connect.provider.OpenIDConnect",
    "other_wallet": "wallet.providers.other_wallet.provider.OtherWallet",
    "stripe": "wallet.providers.stripe_identity.provider.StripeIdentity",
}


def offered() -> dict[str, Provider]:
    """Every configured provider. Raises `OptionError`; `manage.py check` finds that before people do."""
    frozen = tuple((name, tuple(values.items())) for name, values in settings.IDENTITY_PROVIDERS.items())
    return _loaded(frozen, settings.BASE_URL, settings.LOOPBACK_CALLS, settings.IDENTITY_TEST_MODE)


def by_name(name: str) -> Provider | None:
    """The provider of this name; None if it is not configured any more."""
    return offered().get(name)


def reaching(demand: tuple[Assurance, ...], details: Iterable[str] = ()) -> dict[str, Provider]:
    """The providers that can reach one of the demanded assurances; all of them if none is demanded.

    details: groups of details that they must verify.
    """
    return {
        name: provider
        for name, provider in offered().items()
        if provider.details.issuperset(details)
        and (not demand or set(demand).intersection(provider.assurances))
    }


@lru_cache(maxsize=8)
def _loaded(
    configured: tuple[Any, ...], base_url: str, loopback: bool, test_mode: bool
) -> dict[str, Provider]:
    place = {"own_framework": f"{base_url}/assurance", "loopback": loopback, "test_mode": test_mode}
    return {name: load(name, dict(values), **place) for name, values in configured}


def load(name: str, values: Mapping[str, str], **place: Any) -> Provider:
    """The provider `name` with these settings; `place` is what else `Options` needs. Raises `OptionError`."""
    values = dict(values)
    path = values.pop("type", name)
    prefix = f"IDENTITY_PROVIDERS_FILE: {name}."
    try:
        made = import_string(SHIPPED.get(path, path))
    except ImportError as error:
        shipped = ", ".join(SHIPPED)
        why = f"is neither one of {shipped} nor the path of a class that can be imported: {error}."
        raise OptionError(f"{prefix}type {why}") from error
    if not (isinstance(made, type) and issubclass(made, Provider)):
        raise OptionError(f"{prefix}type is not a class derived from wallet.providers.contract.Provider.")
    options = Options(prefix, values, **place)
    provider = made(name, options)
    options.finish()
    return provider
