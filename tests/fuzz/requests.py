"""Good authorization requests of every kind, as pairs, and the ways in which they are carried."""

import json
import random
import time
from base64 import b64encode, urlsafe_b64encode
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from django.utils import timezone

from tests.forgery import public_jwk
from tests.fuzz.gateway import BASE_URL
from tests.fuzz.world import Party, answer
from tests.presentation.payloads import FULL

if TYPE_CHECKING:
    from tests.fuzz.player import Browser

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
    """What is asked, and the transaction data in it."""
    chance = browser.spoiler.chance
    asked = {
        "response_type": "vp_token",
        "client_id": party.client_id,
        "login_hint": email,
        "nonce": f"n-{chance.getrandbits(128):032x}",
        "state": chance.choice(("af0ifjsldkj", "", "a b&c=d#e", "é" * 20)),
    }
    if chance.random() < 0.35:
        asked |= {"response_mode": "direct_post", "response_uri": party.response_uri}
        if chance.random() < 0.5:
            asked |= {"response_mode": "direct_post.jwt", "client_metadata": metadata(browser, party)}
    else:
        asked["redirect_uri"] = chance.choice(party.redirect_uris)
        if browser.spoiler.turns(0.3):
            asked["redirect_uri"] = beside(chance, asked["redirect_uri"])
    query_id = "basic"
    if chance.random() < 0.5:
        asked["scope"] = BASIC
    else:
        query_id = "identity"
        asked["dcql_query"] = browser.spoiler.json(query(browser))
    data = [transaction(browser, query_id) for _ in range(chance.choice((0, 0, 1, 1, 2)))]
    if data:
        asked["transaction_data"] = " ".join(data) if chance.random() < 0.6 else browser.spoiler.json(data)
    return asked, data


def beside(chance: random.Random, uri: str) -> str:
    """An address that is not registered, but nearly: of somebody else, or one step away."""
    scheme, _, rest = uri.partition("://")
    neighbours = (
        *("https://evil.example/callback", f"{uri}/", f"{uri}?a=b", f"{uri}#a", f"{uri}/../x", uri.upper()),
        *(f"{scheme}://{rest.partition('/')[0]}@evil.example/callback", f"{scheme}://evil.example\\@{rest}"),
        *(f"{scheme}://{rest.replace('/', '.evil.example/', 1)}", f"{uri}%2f", uri.replace("/", "\\")),
    )
    return chance.choice(neighbours)


def query(browser: "Browser") -> dict[str, Any]:
    """A DCQL query for some claims, with as much of the grammar as chance has it."""
    chance = browser.spoiler.chance
    names = "abcdefghij"
    paths = chance.sample(PATHS, chance.randint(1, 4))
    claims = [{"id": names[place], "path": list(path)} for place, path in enumerate(paths)]
    if chance.random() < 0.3:
        claims[0]["values"] = chance.choice((["Zoë"], [True], ["IE", "ES"], [18], ["x", 1, False]))
    one: dict[str, Any] = {
        "id": "identity",
        "format": "dc+sd-jwt",
        "meta": {"vct_values": [VCT]},
        "claims": claims,
    }
    if chance.random() < 0.3:
        one["claim_sets"] = [[claim["id"] for claim in claims], [claims[0]["id"]]]
    if chance.random() < 0.15:
        one["trusted_authorities"] = [{"type": "aki", "values": ["AAAA"]}]
    said: dict[str, Any] = {"credentials": [one]}
    if chance.random() < 0.2:
        said["credential_sets"] = [{"options": [["identity"]], "required": chance.random() < 0.5}]
    return said


def transaction(browser: "Browser", query_id: str) -> str:
    """One value of transaction data, spoilt inside or outside."""
    chance = browser.spoiler.chance
    urn = chance.choice(list(FULL))
    said = {"type": urn, "credential_ids": [query_id], "payload": FULL[urn]}
    text = browser.spoiler.json(said).encode("utf-8", "surrogatepass")
    value = urlsafe_b64encode(text).rstrip(b"=").decode()
    return browser.spoiler.text(value) if browser.spoiler.turns(0.1) else value


def metadata(browser: "Browser", party: Party) -> str:
    """Client metadata with a key to encrypt to."""
    key = {"kid": "e", "alg": "ECDH-ES", "use": "enc", **public_jwk(party.key)}
    values = ["A256GCM", "A128GCM"]
    return browser.spoiler.json({"jwks": {"keys": [key]}, "encrypted_response_enc_values_supported": values})


def request_object(browser: "Browser", party: Party, asked: dict[str, str], **more: str) -> str:
    """The request as the claims of a signed token."""
    now = int(time.time())
    objects = ("dcql_query", "client_metadata")
    said: dict[str, Any] = {name: value for name, value in asked.items() if value}
    for name in objects:
        with suppress(ValueError, RecursionError):
            said |= {name: json.loads(said[name])} if name in said else {}
    said |= {"iss": party.client_id, "aud": BASE_URL, "iat": now, "exp": now + 60, **more}
    return browser.spoiler.token(
        {"alg": "ES256", "typ": "oauth-authz-req+jwt", "kid": "one"}, said, party.key
    )


def carried(browser: "Browser", party: Party, asked: dict[str, str]) -> Pairs:
    """The pairs of the authorization endpoint's address: the request itself, or where it is."""
    pairs = [(name, value) for name, value in asked.items() if value]
    how = browser.spoiler.chance.choice(("value", "value", "value", "object", "published", "pushed"))
    how = (
        {7: "object", 8: "pushed"}.get(party.number % 9, how)
        if browser.spoiler.chance.random() < 0.8
        else how
    )
    match how:
        case "object":
            return [("client_id", party.client_id), ("request", request_object(browser, party, asked))]
        case "published":
            path = f"/requests/{party.number}/{browser.spoiler.chance.getrandbits(40)}"
            text = request_object(browser, party, asked).encode("utf-8", "surrogatepass")
            media_type = "application/oauth-authz-req+jwt"
            browser.player.world.far_end.documents[path] = answer(text, media_type)
            where = browser.player.world.far_end.origin + path
            return [("client_id", party.client_id), ("request_uri", where)]
        case "pushed":
            reply = browser.send("POST", PAR, browser.spoiler.form(pairs), **basic(party))
            if reply.status == 201:
                browser.player.account.reached["requests pushed"] += 1
                handle = json.loads(reply.body)["request_uri"]
                return [("client_id", party.client_id), ("request_uri", handle)]
    return pairs


def basic(party: Party) -> dict[str, str]:
    """The header by which a party proves who it is."""
    pair = f"{quote(party.client_id, safe='')}:{quote(party.secret, safe='')}"
    return {"Authorization": "Basic " + b64encode(pair.encode()).decode()}


def client_assertion(browser: "Browser", party: Party) -> Pairs:
    """A proof in the body instead."""
    now = int(time.time())
    said = {"iss": party.client_id, "sub": party.client_id, "aud": BASE_URL, "iat": now, "exp": now + 60}
    said["jti"] = f"{browser.spoiler.chance.getrandbits(128):x}"
    token = browser.spoiler.token({"alg": "ES256", "kid": "one"}, said, party.key)
    return [("client_assertion_type", ASSERTION), ("client_assertion", token)]


def bearer(browser: "Browser", party: Party) -> dict[str, str]:
    """The header with an access token, spoilt or not; a good one is asked for once."""
    now = timezone.now()
    if not party.token or party.token_until is None or party.token_until < now:
        reply = browser.send("POST", TOKEN, "grant_type=client_credentials", **basic(party))
        if reply.status == 200:
            browser.player.account.reached["access tokens given"] += 1
            party.token = json.loads(reply.body)["access_token"]
            party.token_until = now + timezone.timedelta(minutes=5)
    token = browser.spoiler.segments(party.token) if browser.spoiler.turns(0.4) else party.token
    return {"Authorization": f"Bearer {token}"}
