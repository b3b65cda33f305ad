"""The provider: sends the browser to an OpenID provider, and redeems the code that it brings back."""

import hashlib
import re
import secrets
from datetime import datetime

import structlog
from django.utils.translation import gettext_lazy as _

from infra import strict_json
from infra.outbound.calls import Outbound
from infra.outbound.targets import is_public, is_unicast
from infra.strict_json import StrictJsonError
from wallet.providers.contract import (
    Check,
    Find,
    Message,
    MessageRefusedError,
    Provider,
    ProviderError,
    Received,
    Reply,
    Started,
)
from wallet.providers.findings import Failed, Finding, Pending
from wallet.providers.openid_connect import authorization, findings, settings, signed_tokens
from wallet.providers.openid_connect.calls import Calls, RefusedError
from wallet.providers.openid_connect.discovery import Discovery
from wallet.providers.openid_connect.findings import Told
from wallet.providers.openid_connect.metadata import Metadata
from wallet.providers.openid_connect.signed_tokens import TokenError
from wallet.providers.options import Options

log = structlog.get_logger(__name__)

LONGEST_CODE = 4096
_STATE = re.compile(r"[A-Za-z0-9_-]{43}")
_ERROR = re.compile(r"[a-z_]{1,60}")


class OpenIDConnect(Provider):
    """A bank, a national scheme, or a broker of several, by OpenID Connect.

    reference: a digest of `state`. memory: `issuer`, `nonce`, `verifier`, `names_issuer`; after the return
    `code` or `error` as well.
    """

    method = "electronic"

    def __init__(self, name: str, options: Options) -> None:
        super().__init__(name, options)
        self.label = options.text("label", "") or _("Sign in with your bank or national identity")
        self.needs = options.text("needs", "") or _("Your bank login, or that of your national identity.")
        self.takes = options.text("takes", "") or _("About two minutes.")
        self._settings = settings.read(options)
        self.assurances = self._settings.accepted
        anywhere = self._settings.private_network
        outbound = Outbound(allowed=is_unicast if anywhere else is_public, loopback=self._settings.loopback)
        self._calls = Calls(f"identity provider {name}", self._settings.client, outbound)
        self._discovery = Discovery(self._calls, self._settings.issuer, loopback=self._settings.loopback)

    def start(self, check: Check, *, now: datetime) -> Started:
        """A new request each time: what the person did with an earlier one does not count any more."""
        metadata = self._discovery.metadata()
        state, nonce, verifier = (secrets.token_urlsafe(32) for _each in range(3))
        asked = authorization.parameters(
            self._settings,
            metadata,
            state=state,
            nonce=nonce,
            verifier=verifier,
            redirect_uri=_redirect_uri(check),
        )
        if metadata.pushed_endpoint and self._settings.pushed:
            asked = self._pushed(metadata, asked)
        memory = {
            "issuer": metadata.issuer,
            "nonce": nonce,
            "verifier": verifier,
            "names_issuer": metadata.names_issuer,
        }
        address = authorization.address(metadata.authorization_endpoint, asked)
        return Started(address, reference=_digest(state), memory=memory)

    def receive(self, message: Message, find: Find, *, now: datetime) -> Received:
        """The browser's return, or somebody who reads the public keys of this service."""
        if not message.from_browser:
            return self._keys(message)
        state = message.query.get("state", "")
        check = find(_digest(state)) if _STATE.fullmatch(state) else None
        if check is None:
            raise MessageRefusedError("The state is unknown.")
        issuer = message.query.get("iss")
        if issuer != self._settings.issuer and (issuer is not None or check.memory.get("names_issuer")):
            raise MessageRefusedError("The response names another issuer, or none.")
        brought = _brought(message)
        if "code" in check.memory or "error" in check.memory:
            if any(check.memory.get(name) != value for name, value in brought.items()):
                raise MessageRefusedError("Another response was here before.", status=409)
            return Received((check.reference,))  # the same once more, as when a page is reloaded
        return Received((check.reference,), memory={**check.memory, **brought})

    def result(self, check: Check, *, now: datetime) -> Finding:
        """Redeems the code, once the browser has brought one."""
        memory = check.memory
        if "error" in memory:
            log.info(
                "openid_sign_in_ended", provider=self.name, verification=str(check.id), code=memory["error"]
            )
            return findings.of_error(memory["error"])
        if "code" not in memory:
            return Pending()
        if memory["issuer"] != self._settings.issuer:
            return Failed("provider_changed")
        try:
            told = self._redeemed(check, now=now)
        except (TokenError, RefusedError) as error:
            log.warning(
                "openid_code_not_redeemed", provider=self.name, verification=str(check.id), why=str(error)
            )
            return Failed()
        return findings.of_claims(told, self._settings, now=now)

    def _pushed(self, metadata: Metadata, asked: dict[str, str]) -> dict[str, str]:
        """What the browser brings along instead, after the request was pushed (RFC 9126)."""
        try:
            answer = self._calls.form(metadata.pushed_endpoint, asked, audience=self._audience(metadata))
        except RefusedError as error:
            raise ProviderError(f"The pushed request was refused: {error}.") from error
        request_uri = answer.get("request_uri")
        if not isinstance(request_uri, str) or not 1 <= len(request_uri) <= 500:
            raise ProviderError("The pushed request has no request_uri.")
        return {"client_id": self._settings.client.id, "request_uri": request_uri}

    def _redeemed(self, check: Check, *, now: datetime) -> Told:
        """What the provider tells for the code. Raises ProviderError only while the code may still be good.

        Raises `TokenError` or `RefusedError` otherwise.
        """
        metadata = self._discovery.metadata()
        self._discovery.keys()  # before the code is used up
        tokens = self._calls.form(
            metadata.token_endpoint,
            {
                "grant_type": "authorization_code",
                "code": check.memory["code"],
                "redirect_uri": _redirect_uri(check),
                "code_verifier": check.memory["verifier"],
            },
            audience=self._audience(metadata),
        )
        try:
            return self._told(tokens, metadata, nonce=check.memory["nonce"], now=now)
        except ProviderError as error:
            raise TokenError(str(error)) from error

    def _told(self, tokens: dict[str, object], metadata: Metadata, *, nonce: str, now: datetime) -> Told:
        id_token = signed_tokens.opened(
            tokens.get("id_token"), self._discovery.find_key, self._settings.algorithms
        )
        access_token = tokens.get("access_token")
        access_token = access_token if isinstance(access_token, str) else ""
        signed_tokens.check_id_token(
            id_token,
            issuer=metadata.issuer,
            client_id=self._settings.client.id,
            nonce=nonce,
            access_token=access_token,
            now=now,
        )
        if not metadata.userinfo_endpoint:
            return Told(id_token.claims)
        userinfo = self._userinfo(metadata, access_token)
        if userinfo.get("sub") != id_token.claims["sub"]:
            raise TokenError("UserInfo is about somebody else.")
        return Told(id_token.claims, userinfo)

    def _userinfo(self, metadata: Metadata, access_token: str) -> dict[str, object]:
        media_type, body = self._calls.userinfo(metadata.userinfo_endpoint, access_token)
        if media_type == "application/jwt":
            token = body.decode("ascii", "replace").strip()
            signed = signed_tokens.opened(token, self._discovery.find_key, self._settings.algorithms)
            signed_tokens.check_userinfo(signed, issuer=metadata.issuer, client_id=self._settings.client.id)
            return signed.claims
        try:
            claims = strict_json.read(body)
        except StrictJsonError:
            claims = None
        if not isinstance(claims, dict):
            raise TokenError("UserInfo is not a JSON object.")
        return claims

    def _audience(self, metadata: Metadata) -> str:
        by_name = {"issuer": metadata.issuer, "token_endpoint": metadata.token_endpoint}
        return by_name[self._settings.client.audience]

    def _keys(self, message: Message) -> Received:
        """The public keys of this service as a client, for the provider's `jwks_uri`."""
        if message.path != "keys" or message.method != "GET" or self._settings.client.key is None:
            raise MessageRefusedError("This provider takes no messages.", status=404)
        jwks = self._settings.client.jwks()
        return Received(reply=Reply(content_type="application/jwk-set+json", body=jwks))


def _brought(message: Message) -> dict[str, str]:
    """The code or the error of a response, as it is remembered."""
    code, error = message.query.get("code", ""), message.query.get("error", "")
    if error and not code:
        return {"error": error if _ERROR.fullmatch(error) else "unreadable"}
    if error or not 1 <= len(code) <= LONGEST_CODE or not code.isprintable():
        raise MessageRefusedError("The response has neither a code nor an error.")
    return {"code": code}


def _redirect_uri(check: Check) -> str:
    return f"{check.messages_url}return/"


def _digest(state: str) -> str:
    return hashlib.sha256(state.encode()).hexdigest()
