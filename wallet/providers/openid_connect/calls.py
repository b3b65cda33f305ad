"""Calls to an OpenID provider: Authlib makes and signs them, `infra.outbound` carries them.

So each has a time limit, a size limit, no redirects, no proxy, and no cookies.
"""

import base64
import re
import time
from typing import Any
from urllib.parse import quote_plus

from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc7523 import PrivateKeyJWT
from requests import PreparedRequest, Response
from requests.adapters import BaseAdapter

from infra import strict_json
from infra.outbound.calls import Answer, Outbound, OutboundError
from infra.strict_json import StrictJsonError
from infra.waiting import waiting_for
from wallet.providers.contract import ProviderError
from wallet.providers.openid_connect.client import Client

ASSERTION_LIFETIME = 60  # seconds; some providers refuse more than two minutes
_CODE = re.compile(r"[a-z_]{1,60}")


class RefusedError(Exception):
    """The provider refused a request of this service; `code` is its error code."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Carrier(BaseAdapter):
    """Carries what a `requests` session sends by `infra.outbound`."""

    def __init__(self, outbound: Outbound) -> None:
        super().__init__()
        self._outbound = outbound

    def send(self, request: PreparedRequest, *_settings: Any, **_more: Any) -> Response:
        """Raises OutboundError. Time limits and the like are those of `infra.outbound`."""
        headers = {
            name: text
            for name in ("Accept", "Authorization")
            if isinstance(text := request.headers.get(name), str)
        }
        if request.method == "GET":
            accept = headers.pop("Accept", "*/*")
            return _response(request, self._outbound.get(request.url or "", accept=accept, headers=headers))
        body = request.body if isinstance(request.body, bytes) else str(request.body or "").encode()
        form = "application/x-www-form-urlencoded"
        answer = self._outbound.post(request.url or "", body, content_type=form, headers=headers)
        return _response(request, answer)

    def close(self) -> None:
        """Nothing stays open."""


class Calls:
    """Makes the calls to one provider. party: what threads that wait for it are counted under."""

    def __init__(self, party: str, client: Client, outbound: Outbound) -> None:
        self._party, self._client, self._carrier = party, client, Carrier(outbound)

    def document(self, url: str) -> Any:
        """The JSON at a public address. Raises ProviderError."""
        response = self._send("GET", url, headers={"Accept": "application/json"})
        if response.status_code != 200:
            raise ProviderError(f"A document has the status {response.status_code}.")
        return _json(response.content)

    def form(self, url: str, parameters: dict[str, str], *, audience: str) -> dict[str, Any]:
        """The JSON object that answers a form; this service authenticates itself.

        audience: whom a client assertion is for. Raises ProviderError, or RefusedError.
        """
        session = self._session(audience)
        auth = session.client_auth(self._client.method)
        if self._client.method == "client_secret_post":  # brings it along, and it may occur only once
            parameters = {name: value for name, value in parameters.items() if name != "client_id"}
        headers = {"Accept": "application/json"}
        response = self._send("POST", url, session=session, data=parameters, auth=auth, headers=headers)
        if response.status_code >= 500 or response.status_code == 429:
            raise ProviderError(f"The provider answers with the status {response.status_code}.")
        answer = _json(response.content)
        if not isinstance(answer, dict):
            raise ProviderError("The answer is not an object.")
        if response.status_code >= 400 or "error" in answer:
            code = answer.get("error")
            known = isinstance(code, str) and _CODE.fullmatch(code)
            raise RefusedError(str(code) if known else "unreadable")
        return answer

    def userinfo(self, url: str, access_token: str) -> tuple[str, bytes]:
        """Media type and body of the UserInfo response. Raises ProviderError."""
        headers = {"Authorization": f"Bearer {access_token}", "Accept": "application/json, application/jwt"}
        response = self._send("GET", url, headers=headers)
        if response.status_code != 200:
            raise ProviderError(f"UserInfo has the status {response.status_code}.")
        return response.headers["Content-Type"], response.content

    def _send(self, method: str, url: str, *, session: OAuth2Session | None = None, **more: Any) -> Response:
        session = session or self._session("")
        try:
            with waiting_for(self._party):
                response: Response = session.request(method, url, withhold_token=True, **more)
                return response
        except OutboundError as error:
            raise ProviderError(str(error)) from error
        except (OSError, ValueError) as error:  # no thread may wait, or `requests` refuses a header
            raise ProviderError(f"A call could not be made: {type(error).__name__}.") from error

    def _session(self, audience: str) -> OAuth2Session:
        client, key = self._client, self._client.key
        session = OAuth2Session(
            client.id,
            client_secret=key.key if key else client.secret,
            token_endpoint_auth_method=client.method,
        )
        session.trust_env = False
        session.mount("https://", self._carrier)
        session.mount("http://", self._carrier)
        session.register_client_auth_method(("client_secret_basic", _basic))
        if key is not None:
            until = int(time.time()) + ASSERTION_LIFETIME
            assertion = PrivateKeyJWT(
                audience, claims={"exp": until}, headers={"kid": key.kid}, alg=key.algorithm
            )
            session.register_client_auth_method(assertion)
        return session


def _basic(client: Any, method: str, uri: str, headers: Any, body: Any) -> tuple[str, Any, Any]:
    """ID and secret are form-encoded first (RFC 6749 §2.3.1), which Authlib leaves out."""
    text = f"{quote_plus(client.client_id)}:{quote_plus(client.client_secret)}"
    headers["Authorization"] = f"Basic {base64.b64encode(text.encode()).decode()}"
    return uri, headers, body


def _response(request: PreparedRequest, answer: Answer) -> Response:
    response = Response()
    response.request, response.url = request, request.url or ""
    response.status_code = answer.status
    response.headers["Content-Type"] = answer.content_type
    response._content = answer.body
    return response


def _json(body: bytes) -> Any:
    try:
        return strict_json.read(body)
    except StrictJsonError as error:
        raise ProviderError("The answer is not JSON.") from error
