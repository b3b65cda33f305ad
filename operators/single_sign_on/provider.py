"""The two halves of a sign-in at the provider: the request, and the code that the browser brings back."""

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.conf import settings as django_settings

from operators.single_sign_on import settings
from operators.single_sign_on.settings import Settings
from wallet.providers.openid_connect.calls import RefusedError
from wallet.providers.openid_connect.code_flow import CodeFlow, ResponseError
from wallet.providers.openid_connect.signed_tokens import TokenError


class NotSignedInError(Exception):
    """The provider's response does not authenticate anybody; the text says why, for the log."""


class Provider:
    """The operators' OpenID provider."""

    def __init__(self, configured: Settings) -> None:
        self.settings = configured
        self._flow = CodeFlow("single sign-on", configured)

    def begin(self, redirect_uri: str) -> tuple[str, dict[str, str]]:
        """Where the browser goes, and what its session remembers until it is back. Raises ProviderError."""
        return self._flow.begin(redirect_uri)

    def end(
        self, query: Mapping[str, str], memory: Mapping[str, str], redirect_uri: str, *, now: datetime
    ) -> dict[str, Any]:
        """The claims of the ID token. query: of the browser's return, whose `state` was compared already.

        Raises NotSignedInError, and ProviderError if the provider does not answer.
        """
        try:
            names_issuer = self._flow.discovery.metadata().names_issuer
            brought = self._flow.brought(query, names_issuer=names_issuer)
            if "error" in brought:
                raise NotSignedInError(brought["error"])
            tokens = self._flow.redeemed(brought["code"], memory["verifier"], redirect_uri)
            return self._flow.id_token(tokens, memory["nonce"], now=now)
        except (ResponseError, RefusedError, TokenError) as refused:
            raise NotSignedInError(str(refused)) from refused


def configured() -> Provider | None:
    """The provider, if one is configured. Raises `OptionError`; `manage.py check` finds that first."""
    values = django_settings.SINGLE_SIGN_ON
    return _loaded(tuple(values.items()), django_settings.LOOPBACK_CALLS) if values else None


@lru_cache(maxsize=8)
def _loaded(values: tuple[tuple[str, str], ...], loopback: bool) -> Provider:
    return Provider(settings.read(dict(values), loopback=loopback))
