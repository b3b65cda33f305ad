"""Valid authorization requests of every kind, by value, signed or pushed."""

import json
import random
import time
from base64 import b64encode, urlsafe_b64encode
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from django.utils import timezone

from tests.forgery import public_jwk
from tests.presentation.payloads import FULL
from tools.fuzz.dataset import Party, answer
from tools.fuzz.gateway import BASE_URL

if TYPE_CHECKING:
    from tools.fuzz.browser import Browser

PRESENTATION = "/verifiable-credentials/v1/presentation/"
AUTHORIZE, PAR, TOKEN = PRESENTATION + "authorize", PRESENTATION + "par", "/oauth/v2/token"
VCT = f"{BASE_URL}/credential-types/identity/v1"
BASIC = "urn:service:params:scope:verifiable-credentials:basic"
JSON_TYPE = "application/json"
ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
PATHS = (
    *(["given_name"], ["family_name"], ["birth_date"], ["age_equal_or_over", "18"], ["nationalities", None]),
    *(
        ["nationalities", 0],
        ["age_equal_or_over"],
        ["nothing", "there"],
        ["iss"],
        ["age_equal_or_over", "65"],
    ),
)
Pairs = list[tuple[str, str]]


def parameters(browser: "Browser", party: Party, email: str) -> tuple[dict[str, str], list[str]]:
    """The parameters of a request, and its transaction data."""
    rng = browser.mutator.rng
    asked = {
        "response_type": "vp_token",
        "client_id": party.client_id,
        "login_hint": email,
        "nonce": f"n-{rng.getrandbits(128):032x}",
        "state": rng.choice(("af0ifjsldkj", "", "a b&c=d#e", "é" * 20)),
    }
    if rng.random() < 0.35:
        asked |= {"response_mode": "direct_post", "response_uri": party.response_uri}
        if rng.random() < 0.5:
            asked |= {"response_mode": "direct_post.jwt", "client_metadata": metadata(browser, party)}
    else:
        asked["redirect_uri"] = rng.choice(party.redirect_uris)
        if browser.mutator.turns(0.3):
            asked["redirect_uri"] = beside(rng, asked["redirect_uri"])
    query_id = "basic"
    if rng.random() < 0.5:
        asked["scope"] = BASIC
    else:
        query_id = "identity"
        asked["dcql_query"] = browser.mutator.json(query(browser))
    data = [transaction(browser, query_id) for _ in range(rng.choice((0, 0, 1, 1, 2)))]
    if data:
        asked["transaction_data"] = " ".join(data) if rng.random() < 0.6 else browser.mutator.json(data)
    return asked, data


def beside(rng: random.Random, uri: str) -> str:
    """An address that is similar to a registered one: of another relying party, or slightly changed."""
    scheme, _, rest = uri.partition("://")
    neighbours = (
        *("https://evil.example/callback", f"{uri}/", f"{uri}?a=b", f"{uri}#a", f"{uri}/../x", uri.upper()),
        *(f"{scheme}://{rest.partition('/')[0]}@evil.example/callback", f"{scheme}://evil.example\\@{rest}"),
        *(f"{scheme}://{rest.replace('/', '.evil.example/', 1)}", f"{uri}%2f", uri.replace("/", "\\")),
    )
    return rng.choice(neighbours)


def query(browser: "Browser") -> dict[str, Any]:
    """A DCQL query for some claims, with a random part of the grammar."""
    rng = browser.mutator.rng
    names = "abcdefghij"
    paths = rng.sample(PATHS, rng.randint(1, 4))
    claims = [{"id": names[place], "path": list(path)} for place, path in enumerate(paths)]
    if rng.random() < 0.3:
        claims[0]["values"] = rng.choice((["Zoë"], [True], ["IE", "ES"], [18], ["x", 1, False]))
    one: dict[str, Any] = {
        "id": "identity",
        "format": "dc+sd-jwt",
        "meta": {"vct_values": [VCT]},
        "claims": claims,
    }
    if rng.random() < 0.3:
        one["claim_sets"] = [[claim["id"] for claim in claims], [claims[0]["id"]]]
    if rng.random() < 0.15:
        one["trusted_authorities"] = [{"type": "aki", "values": ["AAAA"]}]
    said: dict[str, Any] = {"credentials": [one]}
    if rng.random() < 0.2:
        said["credential_sets"] = [{"options": [["identity"]], "required": rng.random() < 0.5}]
    return said


def transaction(browser: "Browser", query_id: str) -> str:
    """One value of transaction data, mutated before or after encoding."""
    rng = browser.mutator.rng
    urn = rng.choice(list(FULL))
    said = {"type": urn, "credential_ids": [query_id], "payload": FULL[urn]}
    text = browser.mutator.json(said).encode("utf-8", "surrogatepass")
    value = urlsafe_b64encode(text).rstrip(b"=").decode()
    return browser.mutator.text(value) if browser.mutator.turns(0.1) else value


def metadata(browser: "Browser", party: Party) -> str:
    """Client metadata with a key for encryption."""
    key = {"kid": "e", "alg": "ECDH-ES", "use": "enc", **public_jwk(party.key)}
    values = ["A256GCM", "A128GCM"]
    return browser.mutator.json({"jwks": {"keys": [key]}, "encrypted_response_enc_values_supported": values})


def request_object(browser: "Browser", party: Party, asked: dict[str, str], **more: str) -> str:
    """The request as the claims of a signed token."""
    now = int(time.time())
    objects = ("dcql_query", "client_metadata")
    said: dict[str, Any] = {name: value for name, value in asked.items() if value}
    for name in objects:
        with suppress(ValueError, RecursionError):
            said |= {name: json.loads(said[name])} if name in said else {}
    said |= {"iss": party.client_id, "aud": BASE_URL, "iat": now, "exp": now + 60, **more}
    return browser.mutator.token(
        {"alg": "ES256", "typ": "oauth-authz-req+jwt", "kid": "one"}, said, party.key
    )


def carried(browser: "Browser", party: Party, asked: dict[str, str]) -> Pairs:
    """The query of the authorization endpoint: the request itself, or a reference to it."""
    pairs = [(name, value) for name, value in asked.items() if value]
    how = browser.mutator.rng.choice(("value", "value", "value", "object", "published", "pushed"))
    how = {7: "object", 8: "pushed"}.get(party.number % 9, how) if browser.mutator.rng.random() < 0.8 else how
    match how:
        case "object":
            return [("client_id", party.client_id), ("request", request_object(browser, party, asked))]
        case "published":
            path = f"/requests/{party.number}/{browser.mutator.rng.getrandbits(40)}"
            text = request_object(browser, party, asked).encode("utf-8", "surrogatepass")
            media_type = "application/oauth-authz-req+jwt"
            browser.runner.dataset.party_server.documents[path] = answer(text, media_type)
            where = browser.runner.dataset.party_server.origin + path
            return [("client_id", party.client_id), ("request_uri", where)]
        case "pushed":
            reply = browser.send("POST", PAR, browser.mutator.form(pairs), **basic(party))
            if reply.status == 201:
                browser.runner.account.reached["requests pushed"] += 1
                handle = json.loads(reply.body)["request_uri"]
                return [("client_id", party.client_id), ("request_uri", handle)]
    return pairs


def basic(party: Party) -> dict[str, str]:
    """The Authorization header with the client's secret."""
    pair = f"{quote(party.client_id, safe='')}:{quote(party.secret, safe='')}"
    return {"Authorization": "Basic " + b64encode(pair.encode()).decode()}


def client_assertion(browser: "Browser", party: Party) -> Pairs:
    """The form fields of a client assertion."""
    now = int(time.time())
    said = {"iss": party.client_id, "sub": party.client_id, "aud": BASE_URL, "iat": now, "exp": now + 60}
    said["jti"] = f"{browser.mutator.rng.getrandbits(128):x}"
    token = browser.mutator.token({"alg": "ES256", "kid": "one"}, said, party.key)
    return [("client_assertion_type", ASSERTION), ("client_assertion", token)]


def bearer(browser: "Browser", party: Party) -> dict[str, str]:
    """The Authorization header with an access token, mutated or not. A valid token is requested once."""
    now = timezone.now()
    if not party.token or party.token_until is None or party.token_until < now:
        reply = browser.send("POST", TOKEN, "grant_type=client_credentials", **basic(party))
        if reply.status == 200:
            browser.runner.account.reached["access tokens given"] += 1
            party.token = json.loads(reply.body)["access_token"]
            party.token_until = now + timezone.timedelta(minutes=5)
    token = browser.mutator.segments(party.token) if browser.mutator.turns(0.4) else party.token
    return {"Authorization": f"Bearer {token}"}
