"""`Wallet`: sends requests for verified claims and verifies the answers."""

import base64
import hmac
import json
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote, urlencode

from cryptography.hazmat.primitives.asymmetric import ec

from credential_presentation import documents, jose
from credential_presentation.certificates import certified_key, read_root
from credential_presentation.errors import Denied, Unavailable, demand
from credential_presentation.verification import LONGEST, Pending, Presentation, check_status, verify

Texts: TypeAlias = Sequence[str]
Objects: TypeAlias = Sequence[Mapping[str, Any]]
CALLBACK = str(Path(__file__).parent / "callback")  # the folder of callback.html and callback.js
PRESENTATION = "/verifiable-credentials/v1/presentation"
SCOPE = "urn:service:params:scope:verifiable-credentials:"
# The claims of the scopes with which every service begins. A person may leave off one with a question mark.
SCOPES = {
    "basic": ["given_name", "family_name", "age_equal_or_over.18"],
    "age-over-18": ["age_equal_or_over.18"],
    "identity": ["birth_date", "nationalities?"],
    "contact": ["email"],
}


@dataclass(frozen=True)
class Result:
    """A verified presentation. `evidence` has all that was needed to verify it."""

    claims: dict[str, Any] = field(repr=False)
    vp_token: str = field(repr=False)
    evidence: dict[str, list[str]] = field(repr=False)

    def archive(self) -> str:
        """The evidence as a JSON document that `verify_archive` checks years later, without a network."""
        return json.dumps(self.evidence)


@dataclass(repr=False, eq=False)
class Wallet:
    """One relying party at one service. Threads may share it.

    `redirect_uri` is your registered callback or, for `direct_post`, your response URI. `root` is the root
    certificate (PEM) that the operator gave you; never fetch it from the service. With `secret` (your client
    secret) or `key` (your private key as a JWK with a `kid`, for `private_key_jwt`), requests are pushed, so
    that no address bar holds them. `lifetime` is how many seconds a person may take.
    """

    base_url: str
    client_id: str
    redirect_uri: str
    _: KW_ONLY
    root: str | bytes
    secret: str | None = None
    key: Mapping[str, Any] | None = None
    lifetime: float = 7200
    fetch: documents.Fetch = documents.fetch
    clock: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        self.base_url, self._root = self.base_url.rstrip("/"), read_root(self.root)
        self._documents = documents.Documents(self.fetch)

    def request(
        self,
        scope: str = "basic",
        claims: Texts | None = None,
        transaction_data: Objects = (),
        **parameters: str,
    ) -> tuple[str, Pending]:
        """The address to which you redirect the browser, and what `finish` needs.

        `scope` is one of `SCOPES`, or several with spaces between them. For others, or with a `dcql_query`,
        name the `claims` that you expect, such as `age_equal_or_over.21`, or `nationalities?` if it may be
        missing. Further parameters are sent as they are, such as `login_hint`.
        Raises `Denied` or `Unavailable` if the request is pushed.
        """
        if claims is None:
            claims = [claim for name in scope.split() for claim in SCOPES[name]]
        data = [jose.encode(json.dumps(each, ensure_ascii=False).encode()) for each in transaction_data]
        nonce, state = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        mode = parameters.get("response_mode", "")
        key = jose.new_key(kid=state) if mode == "direct_post.jwt" else None
        sent = {
            "response_type": "vp_token",
            "client_id": self.client_id,
            "response_uri" if mode.startswith("direct_post") else "redirect_uri": self.redirect_uri,
            "nonce": nonce,
            "state": state,
            "transaction_data": " ".join(data),
            "client_metadata": json.dumps(_offered(key)) if key else "",
            **parameters,
        }
        if "dcql_query" not in parameters:
            sent["scope"] = " ".join(each if ":" in each else SCOPE + each for each in scope.split())
        sent = {name: value for name, value in sent.items() if value}
        if self.secret or self.key:
            sent = {"client_id": self.client_id, "request_uri": self._push(sent)}
        facts = (self.base_url, self.client_id, nonce, list(claims), data)
        pending = Pending(*facts, state, self.clock(), key)
        return f"{self.base_url}{PRESENTATION}/authorize?{urlencode(sent, quote_via=quote)}", pending

    def finish(self, pending: Pending, fields: Mapping[str, str]) -> Result:
        """Verifies the fields that were posted to you. Raises `Denied`, `Rejected` or `Unavailable`.

        Remove `pending` from the session first, so that it is used once.
        """
        answer: Any = fields
        if fields.get("response") is not None:
            demand(pending.decryption_key, "encryption", "no encrypted answer was requested")
            answer = jose.decrypt(fields["response"], pending.decryption_key or {})
        state = str(answer.get("state")).encode(errors="replace")
        demand(hmac.compare_digest(state, pending.state.encode()), "state", "it is for another session")
        demand(answer.get("iss") in (None, self.base_url), "iss", "the answer is from another issuer")
        demand(-60 <= self.clock() - pending.begun <= self.lifetime, "state", "the request is too old")
        if answer.get("error") is not None:
            raise Denied(answer["error"], answer.get("error_description"))
        in_the_open = answer is fields and pending.decryption_key
        demand(not in_the_open, "encryption", "the answer is not encrypted")
        return self._verified(answer.get("vp_token"), pending)

    def verify(
        self, vp_token: object, *, nonce: str, claims: Texts | None = None, transaction_data: Texts = ()
    ) -> Result:
        """Verifies a presentation alone, such as the evidence in a token response of OpenID Connect.

        Call it within five minutes. `nonce` is the `vp_nonce` of that response. `transaction_data` are the
        strings that you sent. Without `claims` any are accepted.
        """
        request = Pending(self.base_url, self.client_id, nonce, claims, transaction_data)
        return self._verified(vp_token, request)

    def _verified(self, vp_token: object, request: Pending) -> Result:
        given, now = Presentation(_single(vp_token)), self.clock()
        demand(request.issuer == self.base_url, "iss", "the request was sent to another issuer")
        claims = verify(given, request, self._key_of, now)
        status_list = check_status(given, request, self._key_of, now, self._documents.text)
        evidence = {
            "presentations": [given.token],
            "transaction_data": list(request.transaction_data),
            "certificates": list(given.jwt.header["x5c"]),
            "status_lists": [status_list],
        }
        return Result(claims, given.token, evidence)

    def _key_of(self, jwt: jose.Jwt) -> ec.EllipticCurvePublicKey:
        """The issuer's key for a token: published under its `kid`, and certified up to the root."""
        discovery, kid = f"{self.base_url}/.well-known/openid-configuration", jwt.header.get("kid")
        said = documents.parsed(discovery, self._documents.text(discovery))
        address = str(said.get("jwks_uri"))
        ours = said.get("issuer") == self.base_url and address.startswith(f"{self.base_url}/")
        demand(ours, "discovery", "the discovery document is another issuer's")
        for anew in (False, True):  # the key may be newer than the cached key set
            keys = documents.parsed(address, self._documents.text(address, anew)).get("keys")
            found = [key for key in keys or [] if isinstance(key, dict) and key.get("kid") == kid]
            if found:
                break
        demand(kid and len(found) == 1, "kid", "the key is not in the key set")
        certified = certified_key(jwt, self.base_url, self._root, self.clock())
        demand(certified == jose.public_key(found[0], "kid"), "certificate-key", "it is for another key")
        return certified

    def _push(self, parameters: Mapping[str, str]) -> str:
        """Pushes a request (RFC 9126) and returns its `request_uri`."""
        form, headers, address = dict(parameters), {}, f"{self.base_url}{PRESENTATION}/par"
        if self.key:  # RFC 7523 §3
            now, client = int(self.clock()), self.client_id
            facts = {"iss": client, "sub": client, "aud": self.base_url, "jti": secrets.token_urlsafe(16)}
            form["client_assertion_type"] = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
            form["client_assertion"] = jose.sign({**facts, "iat": now, "exp": now + 60}, self.key)
        else:  # RFC 6749 §2.3.1
            basic = ":".join(quote(text, safe="") for text in (self.client_id, str(self.secret)))
            headers["Authorization"] = f"Basic {base64.b64encode(basic.encode()).decode()}"
        status, text, _ = documents.send(address, urlencode(form).encode(), **headers)
        if status == 429 or status >= 500:
            raise Unavailable(f"{address} answered with status {status}")
        answer = documents.parsed(address, text)
        if status != 201:
            raise Denied(answer.get("error"), answer.get("error_description"))
        return str(answer.get("request_uri"))


def state_of(fields: Mapping[str, str]) -> str:
    """The `state` of an answer at your response URI (`direct_post`), by which you find its `Pending`."""
    response = fields.get("response")
    state = fields.get("state") if response is None else jose.jwe_header(response).get("kid")
    demand(isinstance(state, str) and len(state) <= 100, "state", "the answer names no request")
    return str(state)


def _offered(key: Mapping[str, str]) -> dict[str, Any]:
    """The `client_metadata` of a request whose answer is encrypted to this key (OpenID4VP 1.0 §8.3)."""
    public = {name: value for name, value in key.items() if name != "d"}
    return {"jwks": {"keys": [public]}, "encrypted_response_enc_values_supported": list(jose.CONTENT_KEYS)}


def _single(vp_token: object) -> object:
    """The only presentation: the text itself, or in an object by the ID of its query (OpenID4VP 1.0 §8.1)."""
    if isinstance(vp_token, str) and vp_token.startswith("{"):
        vp_token = jose.read_json(vp_token[:LONGEST])
    if not isinstance(vp_token, dict):
        return vp_token
    lists = list(vp_token.values())
    one = len(lists) == 1 and isinstance(lists[0], list) and len(lists[0]) == 1
    demand(one, "structure", "there is not exactly one presentation")
    return lists[0][0]
