"""`Wallet`: sends requests for verified claims and verifies the answers."""

import base64
import hmac
import json
import logging
import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from credential_presentation import documents, jose
from credential_presentation.authorization import (
    MODES,
    SCOPE,
    Claims,
    Objects,
    as_json,
    as_list,
    expected_claims,
    read_query,
    scope_names,
)
from credential_presentation.certificates import PEM, Roots
from credential_presentation.client_key import ClientKey
from credential_presentation.errors import Denied, demand
from credential_presentation.transport import Fetch, Request, Transport
from credential_presentation.verification import TOLERANCE, Pending, Presentation, verify

CALLBACK = str(Path(__file__).parent / "callback")  # the folder of callback.html and callback.js
PRESENTATION = "/verifiable-credentials/v1/presentation"
ADDRESS = re.compile(r"https?://[^\s/?#@]+[^\s?#]*")
log = logging.getLogger("credential_presentation")


@dataclass(frozen=True)
class Result:
    """A verified presentation. `evidence` has all that was needed to verify it."""

    claims: dict[str, Any] = field(repr=False)
    vp_token: str = field(repr=False)
    evidence: dict[str, list[str]] = field(repr=False)
    transaction_data_hashes: list[str] = field(default_factory=list)

    def archive(self, transaction_data: Sequence[str] = ()) -> str:
        """The evidence as a JSON document that `verify_archive` checks years later, without a network.

        It is the `evidence` of the service's verification, but without the service's signed statement. After
        a cookie give the `transaction_data` of the first `Pending`, because the cookie had hashes alone.
        Raises `ValueError` if they are not those.
        """
        data = list(transaction_data) or self.evidence["transaction_data"]
        if list(map(jose.digest, data)) != self.transaction_data_hashes:
            raise ValueError("give the transaction_data of the request: its cookie had hashes alone")
        return json.dumps(self.evidence | {"transaction_data": data})


@dataclass(repr=False, eq=False)
class Wallet:
    """One relying party at one service. Threads may share it.

    `redirect_uri` is your registered callback or, for `direct_post`, your response URI. `root` is the root
    certificate (PEM) that the operator gave you; never fetch it from the service. While the service changes
    its root, it is a text with both certificates, or a list: each counts. With `secret`, your client secret,
    requests are pushed, so that no address bar holds them. With `private_key` in its place, a PEM whose
    public half is registered, perhaps under `key_id`, they are also signed, as FAPI demands. `lifetime` is
    how many seconds a person may take.
    `fetch` makes all calls of the service: see `Transport`.

    Raises `ValueError` if one of them cannot be right.
    """

    base_url: str
    client_id: str
    redirect_uri: str
    _: KW_ONLY
    root: PEM | Sequence[PEM]
    secret: str | None = field(default=None, repr=False)
    private_key: PEM | None = field(default=None, repr=False)
    key_id: str = ""
    lifetime: float = 7200
    fetch: Fetch = field(default_factory=Transport)
    clock: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        if not self.client_id or self.secret == "":
            raise ValueError("client_id or secret is empty")
        if self.secret and self.private_key is not None:
            raise ValueError("secret and private_key are two ways to prove who you are: give one")
        self._key = None if self.private_key is None else ClientKey(self.private_key, self.key_id)
        self.base_url = self.base_url.rstrip("/")
        if not ADDRESS.fullmatch(self.base_url):
            raise ValueError("base_url is no address such as https://wallet.example")
        if not self.redirect_uri or "#" in self.redirect_uri:
            raise ValueError("redirect_uri is empty, or has a fragment")
        if not self.lifetime > 0:
            raise ValueError("lifetime is no time, so that every answer would be too old")
        self._roots = Roots(self.root)
        self._documents = documents.Documents(self.fetch)

    def request(
        self,
        scope: str = "basic",
        claims: Claims = None,
        transaction_data: Objects = (),
        *,
        login_hint: str | None = None,
        response_mode: str | None = None,
        dcql_query: str | Mapping[str, Any] | None = None,
        ui_locales: str | None = None,
    ) -> tuple[str, Pending]:
        """The address to which you redirect the browser, and what `finish` needs.

        `scope` is one of `SCOPES`, or several with spaces between them. For others, or with a `dcql_query`,
        name the `claims` that you expect, such as `age_equal_or_over.21`, or `nationalities?` if it may be
        missing. `transaction_data` is a list of what is to be approved, or one such object.

        Raises `TypeError` or `ValueError` if `finish` would reject every answer. If the request is pushed,
        raises `Denied` or `Unavailable` too.
        """
        query, names = read_query(dcql_query), scope_names(scope)
        expected = expected_claims(names, claims, query)
        if response_mode not in MODES:
            raise ValueError(f"response_mode is none of {', '.join(map(str, MODES[1:]))}")
        data = [jose.encode(as_json(one, "transaction_data").encode()) for one in as_list(transaction_data)]
        nonce, state = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        posted = str(response_mode).startswith("direct_post")
        key = jose.new_key(kid=state) if response_mode == "direct_post.jwt" else None
        full_scope = " ".join(name if ":" in name else SCOPE + name for name in names)
        sent = {
            "response_type": "vp_token",
            "response_mode": response_mode,
            "client_id": self.client_id,
            "response_uri" if posted else "redirect_uri": self.redirect_uri,
            "nonce": nonce,
            "state": state,
            "scope": full_scope if query is None else None,
            "dcql_query": as_json(query, "dcql_query") if query is not None else None,
            "transaction_data": " ".join(data),
            "client_metadata": as_json(_offered(key), "client_metadata") if key else None,
            "login_hint": login_hint,
            "ui_locales": ui_locales,
        }
        parameters = {name: value for name, value in sent.items() if value}
        if self._key:
            parameters = self._push(self._key.pushed(parameters, self.base_url, self.clock()))
        elif self.secret:
            parameters = self._push(parameters | {"client_secret": self.secret})
        pending = Pending(self.base_url, self.client_id, nonce, expected, data, state, self.clock(), key)
        return f"{self.base_url}{PRESENTATION}/authorize?{urlencode(parameters, quote_via=quote)}", pending

    def finish(self, pending: Pending, fields: Mapping[str, str]) -> Result:
        """Verifies the fields that were posted to you. Raises `Denied`, `Rejected` or `Unavailable`.

        Remove `pending` from the session first, so that it is used once.
        """
        encrypted, key = fields.get("response") is not None, pending.decryption_key
        demand(key or not encrypted, "encryption", "no encrypted answer was requested")
        answer: Any = jose.decrypt(fields["response"], key) if encrypted and key else fields
        state = str(answer.get("state")).encode(errors="replace")
        demand(hmac.compare_digest(state, pending.state.encode()), "state", "it is for another session")
        demand(-TOLERANCE <= self.clock() - pending.begun <= self.lifetime, "state", "the request is too old")
        ours = pending.issuer == self.base_url == answer.get("iss", self.base_url)
        demand(ours, "iss", f"it is not from {self.base_url}")
        if answer.get("error") is not None:
            raise Denied(answer["error"], answer.get("error_description"))
        demand(encrypted or not key, "encryption", "the answer is not encrypted")
        # The answer has to be for this client, also where several share one session or sealing key.
        return self._verified(answer.get("vp_token"), replace(pending, client_id=self.client_id))

    def verify(
        self, vp_token: object, *, nonce: str, claims: Claims = None, transaction_data: Sequence[str] = ()
    ) -> Result:
        """Verifies a presentation alone, such as the evidence in a token response of OpenID Connect.

        Call it within five minutes. `nonce` is the `vp_nonce` of that response. `transaction_data` are the
        strings that you sent. Without `claims` any are accepted.
        """
        return self._verified(
            vp_token, Pending(self.base_url, self.client_id, nonce, claims, transaction_data)
        )

    def _verified(self, vp_token: object, request: Pending) -> Result:
        given, now = Presentation(vp_token), self.clock()
        disclosed, status_list = verify(given, request, self._key_of, now, self._documents.text)
        evidence = {
            "presentations": [given.token],
            "transaction_data": list(request.transaction_data),
            "certificates": list(given.jwt.header["x5c"]),
            "status_lists": [status_list],
        }
        return Result(disclosed, given.token, evidence, request.hashes)

    def _key_of(self, jwt: jose.Jwt) -> jose.PublicKey:
        """The issuer's key for a token: published under its `kid`, and certified up to the root."""
        address, kid = f"{self.base_url}/openid-connect/jwks", jwt.header.get("kid")

        def find(anew: bool) -> object:
            text = self._documents.text(address, anew)
            keys = documents.parsed(address, text).get("keys") if text else None
            listed = keys if isinstance(keys, list) else []
            return next((key for key in listed if jose.at(key, "kid") == kid), None)

        published = find(anew=False) or find(anew=True)  # it may be newer than the cached key set
        certified = self._roots.key_of(jwt, self.base_url, self.clock())
        demand(certified == jose.public_key(published, "kid"), "certificate-key", "it is for another key")
        return certified

    def _push(self, parameters: Mapping[str, str]) -> dict[str, str]:
        """Pushes a request (RFC 9126) and returns the parameters that refer to it."""
        address = f"{self.base_url}{PRESENTATION}/par"
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        response = documents.call(self.fetch, Request(address, urlencode(parameters).encode(), form))
        answer = documents.parsed(address, response.text)
        if response.status != 201:
            request_id = response.header("x-request-id")
            denied = Denied(answer.get("error"), answer.get("error_description"), request_id)
            log.warning("the pushed request was refused: %s, reference %s", denied, denied.reference)
            raise denied
        return {"client_id": self.client_id, "request_uri": str(answer.get("request_uri"))}


def state_of(fields: Mapping[str, str]) -> str:
    """The `state` of an answer at your response URI (`direct_post`), by which you find its `Pending`."""
    response = fields.get("response")
    state = fields.get("state") if response is None else jose.jwe_header(response).get("kid")
    demand(isinstance(state, str) and len(state) <= 100, "state", "the posted fields have no state")
    return str(state)


def read_webhook(headers: Mapping[str, str], body: bytes, *secrets: str) -> dict[str, Any]:
    """The content of a webhook: `type`, `timestamp` and `data`. Raises `Rejected` if it is forged or old.

    `secrets` is your secret (`whsec_…`), or the old and the new one while you change them. A webhook may
    arrive twice, with the same `webhook-id`. Raises `ValueError` if a secret is missing or too short.
    """
    sent = {name.lower(): value for name, value in headers.items()}
    parts = ("id", "timestamp", "signature")
    own_id, moment, signatures = (sent.get(f"webhook-{part}", "") for part in parts)
    signed, matches = f"{own_id}.{moment}.".encode(errors="replace") + body, []
    for secret in secrets:
        if not re.fullmatch("whsec_[A-Za-z0-9+/]{43}=", secret or ""):
            raise ValueError("a webhook secret is missing or incomplete: it is whsec_ and 44 characters")
        key = base64.b64decode(secret.removeprefix("whsec_"))
        own = b"v1," + base64.b64encode(hmac.digest(key, signed, "sha256"))
        matches += [
            hmac.compare_digest(own, signature.encode(errors="replace"))
            for signature in signatures.split(" ")
        ]
    demand(any(matches), "webhook", "no signature is by one of the secrets")
    demand(abs(time.time() - int(moment)) <= TOLERANCE, "webhook", "it was not sent just now")
    return jose.read_json(body, dict)


def _offered(key: Mapping[str, str]) -> dict[str, Any]:
    """The `client_metadata` of a request whose answer is encrypted to this key (OpenID4VP 1.0 §8.3)."""
    public = {name: value for name, value in key.items() if name != "d"}
    return {"jwks": {"keys": [public]}, "encrypted_response_enc_values_supported": ["A256GCM"]}
