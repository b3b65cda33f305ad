"""Calls to an OpenID provider: `infra.outbound` carries them, jwcrypto signs the assertions.

So each has a time limit, a size limit, no redirects, no proxy, and no cookies.
"""

import base64
import json
import re
import secrets
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote_plus, urlencode

from jwcrypto.jws import JWS

from infra import strict_json
from infra.outbound.calls import Outbound, OutboundError, Response
from infra.strict_json import StrictJsonError
from infra.waiting import waiting_for
from wallet.providers.contract import ProviderError
from wallet.providers.openid_connect.client import ClientRegistration

ASSERTION_LIFETIME = 60  # seconds; some providers refuse more than two minutes
_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_CODE = re.compile(r"[a-z_]{1,60}")


class RefusedError(Exception):
    """The provider refused a request of this service; `code` is its error code."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Calls:
    """Makes the calls to one provider. party: what threads that wait for it are counted under."""

    def __init__(self, party: str, client: ClientRegistration, outbound: Outbound) -> None:
        self._party, self._client, self._outbound = party, client, outbound

    def document(self, url: str) -> Any:
        """The JSON at a public address. Raises ProviderError."""
        answer = self._send(lambda: self._outbound.get(url, accept="application/json"))
        if answer.status != 200:
            raise ProviderError(f"A document has the status {answer.status}.")
        return _json(answer.body)

    def form(self, url: str, parameters: dict[str, str], *, audience: str) -> dict[str, Any]:
        """The JSON object that answers a form; this service authenticates itself.

        audience: whom a client assertion is for. Raises ProviderError, or RefusedError.
        """
        more, headers = self._authentication(audience)
        body = urlencode(parameters | more).encode()
        headers["Accept"] = "application/json"
        form = "application/x-www-form-urlencoded"
        got = self._send(lambda: self._outbound.post(url, body, content_type=form, headers=headers))
        if got.status >= 500 or got.status == 429:
            raise ProviderError(f"The provider answers with the status {got.status}.")
        answer = _json(got.body)
        if not isinstance(answer, dict):
            raise ProviderError("The answer is not an object.")
        if got.status >= 400 or "error" in answer:
            code = answer.get("error")
            is_readable = isinstance(code, str) and _CODE.fullmatch(code)
            raise RefusedError(str(code) if is_readable else "unreadable")
        return answer

    def userinfo(self, url: str, access_token: str) -> tuple[str, bytes]:
        """Media type and body of the UserInfo response. Raises ProviderError."""
        headers = {"Authorization": f"Bearer {access_token}"}
        accept = "application/json, application/jwt"
        answer = self._send(lambda: self._outbound.get(url, accept=accept, headers=headers))
        if answer.status != 200:
            raise ProviderError(f"UserInfo has the status {answer.status}.")
        return answer.content_type, answer.body

    def _send(self, call: Callable[[], Response]) -> Response:
        try:
            with waiting_for(self._party):
                return call()
        except OutboundError as error:
            raise ProviderError(str(error)) from error
        except (OSError, ValueError) as error:  # no thread may wait, or a header is malformed
            raise ProviderError(f"A call could not be made: {type(error).__name__}.") from error

    def _authentication(self, audience: str) -> tuple[dict[str, str], dict[str, str]]:
        """Parameters of the form and headers that authenticate this service (RFC 6749 §2.3.1, RFC 7523)."""
        client = self._client
        if client.key is not None:
            return {
                "client_id": client.id,
                "client_assertion_type": _ASSERTION,
                "client_assertion": _assertion(client, audience),
            }, {}
        if client.method == "client_secret_post":
            return {"client_id": client.id, "client_secret": client.secret}, {}
        text = f"{quote_plus(client.id)}:{quote_plus(client.secret)}"
        return {}, {"Authorization": f"Basic {base64.b64encode(text.encode()).decode()}"}


def _assertion(client: ClientRegistration, audience: str) -> str:
    now, key = int(time.time()), client.key
    assert key is not None
    claims = {
        "iss": client.id,
        "sub": client.id,
        "aud": audience,
        "iat": now,
        "exp": now + ASSERTION_LIFETIME,
        "jti": secrets.token_urlsafe(16),
    }
    token = JWS(json.dumps(claims))
    token.add_signature(
        key.key, key.algorithm, json.dumps({"alg": key.algorithm, "kid": key.kid, "typ": "JWT"})
    )
    signed: str = token.serialize(compact=True)
    return signed


def _json(body: bytes) -> Any:
    try:
        return strict_json.read(body)
    except StrictJsonError as error:
        raise ProviderError("The answer is not JSON.") from error
