"""The code flow with one OpenID provider, for people who are identified and for operators who sign in.

OpenID Connect Core §3.1, with PKCE (RFC 7636), pushed requests (RFC 9126), and the issuer in the response
(RFC 9207). The caller keeps what a flow remembers, and compares `state` when the browser comes back.
"""

import re
import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from infra.outbound.calls import Outbound
from infra.outbound.targets import is_public, is_unicast
from wallet.providers.contract import ProviderError
from wallet.providers.openid_connect import signed_tokens
from wallet.providers.openid_connect.calls import Calls, RefusedError
from wallet.providers.openid_connect.client import Registration
from wallet.providers.openid_connect.discovery import Discovery
from wallet.providers.openid_connect.metadata import Metadata
from wallet.providers.openid_connect.signed_tokens import Opened
from wallet.sd_jwt.issuance import digest

LONGEST_CODE = 4096
_ERROR = re.compile(r"[a-z_]{1,60}")


class ResponseError(ValueError):
    """The browser did not bring a response of this provider; the text says why."""


class CodeFlow:
    """Begins sign-ins at one provider, and redeems the codes that browsers bring back.

    party: what threads that wait for the provider are counted under.
    """

    def __init__(self, party: str, registration: Registration) -> None:
        allowed = is_unicast if registration.private_network else is_public
        outbound = Outbound(allowed=allowed, loopback=registration.loopback)
        self._registration = registration
        self.calls = Calls(party, registration.client, outbound)
        self.discovery = Discovery(self.calls, registration.issuer, loopback=registration.loopback)

    def begin(
        self, redirect_uri: str, *, claims: str = "", pushed: bool = False
    ) -> tuple[str, dict[str, str]]:
        """Where the browser goes, and the `state`, `nonce`, and `verifier` to remember until it is back.

        claims: the `claims` parameter. pushed: whether the request is pushed if the provider takes that.
        Raises ProviderError.
        """
        metadata = self.discovery.metadata()
        memory = {name: secrets.token_urlsafe(32) for name in ("state", "nonce", "verifier")}
        parameters = {
            "response_type": "code",
            "client_id": self._registration.client.id,
            "redirect_uri": redirect_uri,
            "scope": self._registration.scope,
            "state": memory["state"],
            "nonce": memory["nonce"],
            "code_challenge": digest(memory["verifier"]),  # by S256 (RFC 7636 §4.2)
            "code_challenge_method": "S256",
        }
        if self._registration.acr_values:
            parameters["acr_values"] = self._registration.acr_values
        if claims:
            parameters["claims"] = claims
        if pushed and metadata.pushed_endpoint:
            parameters = self._pushed(metadata, parameters)
        endpoint = metadata.authorization_endpoint  # it may have a query of its own (RFC 6749 §3.1)
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(parameters)}", memory

    def brought(self, query: Mapping[str, str], *, names_issuer: bool) -> dict[str, str]:
        """The `code` or the `error` of a response. Raises ResponseError.

        names_issuer: whether every response of the provider names the issuer.
        """
        issuer = query.get("iss")
        if issuer != self._registration.issuer and (issuer is not None or names_issuer):
            raise ResponseError("The response names another issuer, or none.")
        code, error = query.get("code", ""), query.get("error", "")
        if error and not code:
            return {"error": error if _ERROR.fullmatch(error) else "unreadable"}
        if error or not 1 <= len(code) <= LONGEST_CODE or not code.isprintable():
            raise ResponseError("The response has neither a code nor an error.")
        return {"code": code}

    def redeemed(self, code: str, verifier: str, redirect_uri: str) -> dict[str, Any]:
        """The token response for a code, not checked yet.

        Raises ProviderError while the code may still be good, and RefusedError.
        """
        metadata = self.discovery.metadata()
        self.discovery.keys()  # before the code is used up
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
        }
        return self.calls.form(metadata.token_endpoint, form, audience=self._audience(metadata))

    def id_token(self, tokens: Mapping[str, Any], nonce: str, *, now: datetime) -> dict[str, Any]:
        """The claims of the ID token in a token response, checked. Raises `TokenError`, and ProviderError."""
        token = self.opened(tokens.get("id_token"))
        signed_tokens.check_id_token(
            token,
            issuer=self._registration.issuer,
            client_id=self._registration.client.id,
            nonce=nonce,
            access_token=access_token(tokens),
            now=now,
        )
        return token.claims

    def opened(self, token: Any) -> Opened:
        """A token that the provider signed. Raises `TokenError`, and ProviderError."""
        return signed_tokens.opened(token, self.discovery.find_key, self._registration.algorithms)

    def _pushed(self, metadata: Metadata, parameters: dict[str, str]) -> dict[str, str]:
        """What the browser brings along instead, after the request was pushed (RFC 9126)."""
        try:
            answer = self.calls.form(metadata.pushed_endpoint, parameters, audience=self._audience(metadata))
        except RefusedError as error:
            raise ProviderError(f"The pushed request was refused: {error}.") from error
        request_uri = answer.get("request_uri")
        if not isinstance(request_uri, str) or not 1 <= len(request_uri) <= 500:
            raise ProviderError("The pushed request has no request_uri.")
        return {"client_id": self._registration.client.id, "request_uri": request_uri}

    def _audience(self, metadata: Metadata) -> str:
        """Whom a client assertion is for."""
        by_name = {"issuer": metadata.issuer, "token_endpoint": metadata.token_endpoint}
        return by_name[self._registration.client.audience]


def access_token(tokens: Mapping[str, Any]) -> str:
    """The access token of a token response; empty if there is none."""
    token = tokens.get("access_token")
    return token if isinstance(token, str) else ""
