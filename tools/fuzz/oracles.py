"""What must be true of every reply to any request."""

import json
import re
from collections.abc import Callable, Collection, Iterator
from urllib.parse import parse_qsl, quote, urljoin

from tools.fuzz.gateway import BASE_URL, HOST, Reply

PRESENTATION = "/verifiable-credentials/v1/presentation/"
JSON = (
    *("/oauth/v2/token", *(PRESENTATION + name for name in ("par", "verify", "outcome")), "/sandbox/holder"),
    "/openid-connect/userinfo",
    *("/playground/answers/", "/playground/answers/read/", "/sandbox/api/openapi.json"),
    *("/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"),
    *("/.well-known/jwt-vc-issuer", "/openid-connect/jwks", "/credential-types/identity/v1", "/status-lists"),
)
# Answers at these addresses are for one person or client only.
PERSONAL = (
    *("/wallet/", "/consent/", "/admin/", "/sandbox/identity/", "/sandbox/mailbox/", "/sandbox/holder"),
    *("/sandbox/relying-parties/", "/oauth/", "/metrics", "/playground/"),
    *("/receipt-check/", "/openid-connect/userinfo"),
    *(PRESENTATION + name for name in ("interactions/", "par", "verify", "outcome")),
)

RegisteredFor = Callable[[Collection[str]], Collection[str]]  # the URIs of these clients


class Oracles:
    """Finds what is wrong with a reply."""

    def __init__(self, redirect_uris: RegisteredFor, client_of: Callable[[str], str]) -> None:
        """client_of: the client ID of the interaction that a path names."""
        self._redirect_uris, self._client_of = redirect_uris, client_of
        self.onward = ""  # the address to which a relying party's server last sent the browser
        self.asking: Collection[str] = ()  # the clients in the last call of the simulated holder

    def wrong(self, reply: Reply) -> Iterator[str]:
        """Each violation in a few words without values, so that equal ones are counted together."""
        if reply.escaped is not None:
            yield f"{type(reply.escaped).__name__} escaped"
            return
        if reply.status >= 500:  # also 503: with one request at a time everything is available
            yield f"status {reply.status}"
            return
        yield from self._headers(reply)
        yield from self._redirect(reply)
        yield from self._json(reply)

    def _headers(self, reply: Reply) -> Iterator[str]:
        for name in ("Content-Security-Policy", "X-Content-Type-Options"):
            if not reply.header(name):
                yield f"no {name}"
        personal = reply.at_its_own_address().path.startswith(PERSONAL) and reply.status == 200 and reply.body
        stored = "no-store" not in (reply.header("Cache-Control") or "")
        if stored and (personal or "#" in reply.location) and not reply.path.startswith("/admin/jsi18n/"):
            yield "no no-store"
        if any("\r" in value or "\n" in value or "\0" in value for _, value in reply.headers):
            yield "a line break in a header"

    def _redirect(self, reply: Reply) -> Iterator[str]:
        if not (300 <= reply.status < 400) or not reply.location:
            return
        address = as_browsers_read(reply.location, reply.path)
        if address.startswith(f"{BASE_URL}/"):
            return
        if self._is_elsewhere(address, self._allowed(reply)):
            yield "a redirect to an address that the party asked for has not registered"

    def _is_elsewhere(self, address: str, allowed: Collection[str]) -> bool:
        uri, _, fragment = address.partition("#")
        allowed = {*allowed, *map(without_loopback_port, allowed)}
        if not fragment:  # in OpenID Connect the answer is in the query
            uri = re.sub(r"[?&](code|error)=[^#]*$", "", uri)
        return not {uri, without_loopback_port(uri)} & allowed and not (
            self.onward and uri == self.onward.partition("#")[0]
        )

    def _allowed(self, reply: Reply) -> Collection[str]:
        """Addresses of the relying parties that this request may belong to."""
        if reply.path.startswith(PRESENTATION + "interactions/"):
            return self._redirect_uris([self._client_of(reply.path)])
        if reply.path == PRESENTATION + "authorize":
            named = [value for name, value in parse_qsl(reply.query) if name == "client_id"]
            return self._redirect_uris(named)
        return ()

    def _json(self, reply: Reply) -> Iterator[str]:
        if reply.path not in JSON or reply.method == "HEAD" or not reply.body:
            return
        if reply.status in (304, 405) or (reply.status == 400 and reply.host != HOST):
            return  # a request for another host reaches no endpoint
        if not (reply.header("Content-Type") or "").startswith(("application/json", "application/vnd.oai")):
            yield f"no JSON with status {reply.status}"
            return
        try:
            said = json.loads(reply.body)
        except ValueError:
            yield "JSON that is none"
            return
        if reply.path == "/sandbox/holder" and said.get("redirect_to"):
            address = as_browsers_read(said["redirect_to"], reply.path)
            if self._is_elsewhere(address, self._redirect_uris(self.asking)):
                yield "a redirect_to that the party asked for has not registered"


def without_loopback_port(uri: str) -> str:
    """The URI; without its port if that is free to choose, as native applications do (RFC 8252 §7.3)."""
    return re.sub(r"^(http://(?:127\.0\.0\.1|\[::1\])):[1-9][0-9]{0,4}(?=[/?]|$)", r"\1", uri)


def as_browsers_read(location: str, path: str) -> str:
    """The address that a browser goes to (WHATWG URL §4.4): no white space, and a backslash is a slash."""
    plain = re.sub("[\\t\\r\\n]", "", location).strip("".join(map(chr, range(33))))
    scheme = plain.partition(":")[0].lower()
    if scheme not in ("http", "https") and re.fullmatch("[a-z][a-z0-9+.-]*", scheme) and ":" in plain:
        return plain  # a native application's scheme
    front, mark, fragment = plain.partition("#")
    return urljoin(f"{BASE_URL}{quote(path)}", front.replace("\\", "/")) + mark + fragment
