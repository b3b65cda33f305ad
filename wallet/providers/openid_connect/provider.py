"""The provider: sends the browser to an OpenID provider, and redeems the code that it brings back."""

import json
import re
from datetime import datetime
from typing import Any

import structlog
from django.utils.translation import gettext_lazy as _

from infra import strict_json
from infra.sealing import sha256_hex
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
from wallet.providers.openid_connect import findings, settings, signed_tokens
from wallet.providers.openid_connect.calls import RefusedError
from wallet.providers.openid_connect.code_flow import CodeFlow, ResponseError, access_token
from wallet.providers.openid_connect.findings import Told
from wallet.providers.openid_connect.metadata import Metadata
from wallet.providers.openid_connect.settings import Settings
from wallet.providers.openid_connect.signed_tokens import TokenError
from wallet.providers.options import Options

log = structlog.get_logger(__name__)

_STATE = re.compile(r"[A-Za-z0-9_-]{43}")


class OpenIDConnect(Provider):
    """A bank, a national scheme, or a broker of several, by OpenID Connect.

    reference: a digest of `state`. memory: `issuer`, `nonce`, `verifier`, `names_issuer`; after the return
    `code` or `error` as well.
    """

    method = "electronic"
    verifies_details = True

    def __init__(self, name: str, options: Options) -> None:
        super().__init__(name, options)
        self.label = options.text("label", "") or _("Sign in with your bank or national identity")
        self.needs = options.text("needs", "") or _("Your bank login, or that of your national identity.")
        self.takes = options.text("takes", "") or _("About two minutes.")
        self._settings = settings.read(options, self.details)
        self.assurances = self._settings.accepted
        self._flow = CodeFlow(f"identity provider {name}", self._settings)

    def start(self, check: Check, *, now: datetime) -> Started:
        """A new request each time: what the person did with an earlier one does not count any more."""
        metadata = self._flow.discovery.metadata()
        claims = ""
        if self._settings.identity_assurance or metadata.takes_claims:
            claims = json.dumps(claims_request(self._settings, metadata), separators=(",", ":"))
        address, begun = self._flow.begin(_redirect_uri(check), claims=claims, pushed=self._settings.pushed)
        state = begun.pop("state")
        memory = {**begun, "issuer": metadata.issuer, "names_issuer": metadata.names_issuer}
        return Started(address, reference=sha256_hex(state), memory=memory)

    def receive(self, message: Message, find: Find, *, now: datetime) -> Received:
        """Handles the browser's return, and requests for the public keys of this service."""
        if not message.from_browser:
            return self._keys(message)
        state = message.query.get("state", "")
        check = find(sha256_hex(state)) if _STATE.fullmatch(state) else None
        if check is None:
            raise MessageRefusedError("The state is unknown.")
        try:
            brought = self._flow.brought(message.query, names_issuer=bool(check.memory.get("names_issuer")))
        except ResponseError as error:
            raise MessageRefusedError(str(error)) from error
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

    def _redeemed(self, check: Check, *, now: datetime) -> Told:
        """Redeems the code; returns the claims. Raises ProviderError only while the code may still be valid.

        Raises `TokenError` or `RefusedError` otherwise.
        """
        memory = check.memory
        tokens = self._flow.redeemed(memory["code"], memory["verifier"], _redirect_uri(check))
        try:
            claims = self._flow.id_token(tokens, memory["nonce"], now=now)
            endpoint = self._flow.discovery.metadata().userinfo_endpoint
            if not endpoint:
                return Told(claims)
            userinfo = self._userinfo(endpoint, access_token(tokens))
        except ProviderError as error:
            raise TokenError(str(error)) from error
        if userinfo.get("sub") != claims["sub"]:
            raise TokenError("UserInfo is about somebody else.")
        return Told(claims, userinfo)

    def _userinfo(self, endpoint: str, token: str) -> dict[str, Any]:
        media_type, body = self._flow.calls.userinfo(endpoint, token)
        if media_type == "application/jwt":
            signed = self._flow.opened(body.decode("ascii", "replace").strip())
            signed_tokens.check_userinfo(
                signed, issuer=self._settings.issuer, client_id=self._settings.client.id
            )
            return signed.claims
        try:
            claims = strict_json.read(body)
        except StrictJsonError:
            claims = None
        if not isinstance(claims, dict):
            raise TokenError("UserInfo is not a JSON object.")
        return claims

    def _keys(self, message: Message) -> Received:
        """The public keys of this service as a client, for the provider's `jwks_uri`."""
        if message.path != "keys" or message.method != "GET" or self._settings.client.key is None:
            raise MessageRefusedError("This provider takes no messages.", status=404)
        jwks = self._settings.client.jwks()
        return Received(reply=Reply(content_type="application/jwk-set+json", body=jwks))


def _redirect_uri(check: Check) -> str:
    return f"{check.messages_url}return/"


_DETAILS: dict[str, dict[str, Any]] = {
    "document": {
        "document_details": {
            "type": None,
            "document_number": None,
            "issuer": {"country_code": None},
            "date_of_expiry": None,
        }
    },
    "electronic_record": {"record": {"type": None, "date_of_expiry": None}},
}


def claims_request(settings: Settings, metadata: Metadata) -> dict[str, Any]:
    """Where the claims are asked for, and under which conditions they count."""
    wanted: dict[str, Any] = {}
    for path in settings.claims.values():
        wanted[path[0]] = None
    if settings.identity_assurance:
        frameworks = dict.fromkeys(assurance.trust_framework for assurance in settings.accepted)
        groups = [
            {"verification": _verification(settings, metadata, framework), "claims": wanted}
            for framework in frameworks
        ]
        wanted = {"verified_claims": groups[0] if len(groups) == 1 else groups}
    return {"userinfo" if metadata.userinfo_endpoint else "id_token": wanted}


def _verification(settings: Settings, metadata: Metadata, framework: str) -> dict[str, Any]:
    """What is asked of `verification`; what is not named there is not given (Identity Assurance §5.4)."""
    verification: dict[str, Any] = {"trust_framework": {"value": framework}, "time": None}
    levels = [assurance.level for assurance in settings.accepted if assurance.trust_framework == framework]
    # The levels are named if not every level will do.
    verification["assurance_level"] = {"values": levels} if all(levels) else None
    kinds = [kind for kind in settings.evidence if metadata.evidence is None or kind in metadata.evidence]
    if kinds:
        verification["evidence"] = [{"type": {"value": kind}, **_DETAILS[kind]} for kind in kinds]
    return verification
