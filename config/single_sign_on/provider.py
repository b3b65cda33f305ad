"""The two halves of a sign-in at the provider: the request, and the code that the browser brings back."""

import re
import secrets
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from authlib.oauth2.rfc7636 import create_s256_code_challenge
from django.conf import settings as django_settings

from config.single_sign_on import settings
from config.single_sign_on.settings import Settings
from infra.outbound.calls import Outbound
from infra.outbound.targets import is_public, is_unicast
from wallet.providers.openid_connect import authorization, signed_tokens
from wallet.providers.openid_connect.calls import Calls, RefusedError
from wallet.providers.openid_connect.discovery import Discovery
from wallet.providers.openid_connect.signed_tokens import TokenError

ALGORITHMS = ("ES256", "PS256", "RS256")
LONGEST_CODE = 4096
_ERROR = re.compile(r"[a-z_]{1,60}")


class NotSignedInError(Exception):
    """The provider does not vouch for anybody; the text says why, for the log."""


class Provider:
    """The operators' OpenID provider."""

    def __init__(self, configured: Settings) -> None:
        self.settings = configured
        allowed = is_unicast if configured.private_network else is_public
        outbound = Outbound(allowed=allowed, loopback=configured.loopback)
        self._calls = Calls("single sign-on", configured.client, outbound)
        self._discovery = Discovery(self._calls, configured.issuer, loopback=configured.loopback)

    def begin(self, redirect_uri: str) -> tuple[str, dict[str, str]]:
        """Where the browser goes, and what its session remembers until it is back. Raises ProviderError."""
        metadata = self._discovery.metadata()
        memory = {name: secrets.token_urlsafe(32) for name in ("state", "nonce", "verifier")}
        asked = {
            "response_type": "code",
            "client_id": self.settings.client.id,
            "redirect_uri": redirect_uri,
            "scope": self.settings.scope,
            "state": memory["state"],
            "nonce": memory["nonce"],
            "code_challenge": create_s256_code_challenge(memory["verifier"]),
            "code_challenge_method": "S256",
        }
        if self.settings.acr_values:
            asked["acr_values"] = self.settings.acr_values
        return authorization.address(metadata.authorization_endpoint, asked), memory

    def end(
        self, query: Mapping[str, str], memory: Mapping[str, str], redirect_uri: str, *, now: datetime
    ) -> dict[str, Any]:
        """The claims of the ID token. query: of the browser's return, whose `state` was compared already.

        Raises NotSignedInError, and ProviderError if the provider does not answer.
        """
        metadata = self._discovery.metadata()
        issuer = query.get("iss")  # RFC 9207
        if issuer != metadata.issuer and (issuer is not None or metadata.names_issuer):
            raise NotSignedInError("The response names another issuer, or none.")
        code, error = query.get("code", ""), query.get("error", "")
        if error or not 1 <= len(code) <= LONGEST_CODE or not code.isprintable():
            raise NotSignedInError(error if _ERROR.fullmatch(error) else "The response has no code.")
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": memory["verifier"],
        }
        try:
            by_name = {"issuer": metadata.issuer, "token_endpoint": metadata.token_endpoint}
            audience = by_name[self.settings.client.audience]
            tokens = self._calls.form(metadata.token_endpoint, form, audience=audience)
            return self._claims(tokens, memory["nonce"], now=now)
        except (RefusedError, TokenError) as refused:
            raise NotSignedInError(str(refused)) from refused

    def _claims(self, tokens: Mapping[str, Any], nonce: str, *, now: datetime) -> dict[str, Any]:
        token = signed_tokens.opened(tokens.get("id_token"), self._discovery.find_key, ALGORITHMS)
        signed_tokens.check_id_token(
            token,
            issuer=self.settings.issuer,
            client_id=self.settings.client.id,
            nonce=nonce,
            access_token=str(tokens.get("access_token", "")),
            now=now,
        )
        return token.claims


def configured() -> Provider | None:
    """The provider, if one is configured. Raises `OptionError`; `manage.py check` finds that first."""
    values = django_settings.SINGLE_SIGN_ON
    return _loaded(tuple(values.items()), django_settings.LOOPBACK_CALLS) if values else None


@lru_cache(maxsize=8)
def _loaded(values: tuple[tuple[str, str], ...], loopback: bool) -> Provider:
    return Provider(settings.read(dict(values), loopback=loopback))
