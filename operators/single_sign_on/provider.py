"""The operators' OpenID provider: its settings, their system check, and the claims of who signs in there."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.utils.translation import gettext_lazy as _

from infra.words import Words
from wallet.providers.openid_connect import client as clients
from wallet.providers.openid_connect.calls import RefusedError
from wallet.providers.openid_connect.client import Registration
from wallet.providers.openid_connect.code_flow import CodeFlow, ResponseError
from wallet.providers.openid_connect.signed_tokens import TokenError
from wallet.providers.options import OptionError, Options

ALGORITHMS = ("ES256", "PS256", "RS256")
PREFIX = "SINGLE_SIGN_ON_FILE: "


class NotSignedInError(Exception):
    """Nobody is signed in; the text says why, for the log.

    words: for the person, with `%(name)s` where the name of the provider is to stand.
    """

    def __init__(self, reason: str, words: Words) -> None:
        super().__init__(reason)
        self.words = words


@dataclass(frozen=True)
class Settings(Registration):
    """What is set for the provider; docs/operators.md lists it.

    name: of the provider, on the sign-in page. groups_claim: the claim of the ID token that lists somebody's
    groups. roles: the roles here of each group there. second_factor: values of `acr`, or members of `amr`,
    that prove a second factor; without one of them the operator proves the second factor of this service.
    """

    name: Words
    groups_claim: str
    roles: Mapping[str, frozenset[str]]
    second_factor: frozenset[str]


class Provider(CodeFlow):
    """The operators' OpenID provider."""

    def __init__(self, configured: Settings) -> None:
        super().__init__("single sign-on", configured)
        self.settings = configured

    def end(
        self, query: Mapping[str, str], memory: Mapping[str, str], redirect_uri: str, *, now: datetime
    ) -> dict[str, Any]:
        """The claims of the ID token. query: of the browser's return, whose `state` was compared already.

        Raises NotSignedInError, and ProviderError if the provider does not answer.
        """
        words = _("You were not signed in at %(name)s.")
        try:
            brought = self.brought(query, names_issuer=self.discovery.metadata().names_issuer)
            if "error" in brought:
                raise NotSignedInError(brought["error"], words)
            tokens = self.redeemed(brought["code"], memory["verifier"], redirect_uri)
            return self.id_token(tokens, memory["nonce"], now=now)
        except (ResponseError, RefusedError, TokenError) as refused:
            raise NotSignedInError(str(refused), words) from refused


def configured() -> Provider | None:
    """The provider, if one is configured. Raises `OptionError`; `manage.py check` finds that first."""
    values = settings.SINGLE_SIGN_ON
    return _loaded(tuple(values.items()), settings.LOOPBACK_CALLS) if values else None


@register()
def single_sign_on(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Reads the settings, because a mistake in them would show when the first operator signs in."""
    try:
        configured()
    except OptionError as error:
        return [Error(str(error), id="config.E001")]
    return []


def read(values: Mapping[str, str], *, loopback: bool) -> Settings:
    """The settings; raises `OptionError`. loopback: whether the provider may be at http on this machine."""
    options = Options(PREFIX, values, own_framework="", loopback=loopback)
    options.address("issuer")
    scope = options.words("scope", "openid profile")
    if "openid" not in scope:
        raise options.error("scope", "must contain openid")
    provider_settings = Settings(
        issuer=options.text("issuer"),  # exactly as the provider writes it
        client=clients.read(options),
        name=options.text("name", "") or _("single sign-on"),
        scope=" ".join(scope),
        acr_values=" ".join(options.words("acr_values", "")),
        algorithms=ALGORITHMS,
        groups_claim=options.text("groups_claim", "groups"),
        roles=_roles(options),
        second_factor=frozenset(options.words("second_factor", "")),
        private_network=options.switch("private_network", default=False),
        loopback=options.loopback,
    )
    options.finish()
    return provider_settings


@lru_cache(maxsize=8)
def _loaded(values: tuple[tuple[str, str], ...], loopback: bool) -> Provider:
    return Provider(read(dict(values), loopback=loopback))


def _roles(options: Options) -> Mapping[str, frozenset[str]]:
    roles: dict[str, frozenset[str]] = {}
    for pair in options.text("roles").split(","):
        group, _equals, role = (part.strip() for part in pair.rpartition("="))
        if not group or not role:
            raise options.error("roles", "must be pairs such as staff=Support, with commas between")
        roles[group] = roles.get(group, frozenset()) | {role}
    return roles
