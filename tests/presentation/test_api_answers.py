"""Every successful answer in the API description occurs in real calls, with exactly its members.

schemathesis (`test_api_description`) has no valid client, secret or presentation, so it sees errors only.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from config.urls import PUBLISHED_DOCUMENTS, PUBLISHED_FAMILIES
from keys.models import StatementKey
from keys.rotation import due_steps
from presentation.models import Delivery, Interaction, RelyingParty
from presentation.relying_parties.authentication import client_secrets
from presentation.requests import revocations
from presentation.webhooks import signing_secrets
from presentation.webhooks.models import WebhookEvent
from sandbox.api import description as api
from tests.forgery import Key, new_key, public_jwk
from tests.people import ALICE, DETAILS, enroll
from tests.presentation.api_schemas import demand_exactly
from tests.presentation.clients import FORM, access_token, ask, assertion, basic, by_assertion, registered
from tests.presentation.openid_connect.shop import USERINFO, Shop, user_info
from tests.presentation.requests.authorization_requests import PATH, asked
from tests.presentation.requests.deciding import pass_through
from tests.presentation.webhooks import opted_in
from tests.wallet.statuses import SAID, present
from wallet.credential import revocation
from wallet.credential.claims import NAMES
from wallet.models import Wallet

pytestmark = pytest.mark.slow  # the checks of formats build a parser for each rule of RFC 3987
JSON = "application/json"
VERIFY = "/verifiable-credentials/v1/presentation/verify"
PAR = "/verifiable-credentials/v1/presentation/par"
OUTCOME = "/verifiable-credentials/v1/presentation/outcome"
NONCE = "n-0S6_WzA2Mj~of-the-good-call"


@dataclass
class World:
    """Acme Bank with a secret and a key, Alice at her browser, and signing keys."""

    client: Client
    bank: RelyingParty
    secret: str
    key: Key
    alice: Wallet

    @property
    def by_secret(self) -> dict[str, str]:
        return basic(self.bank.client_id, self.secret)

    @property
    def by_token(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {access_token(self.bank)}"}

    @property
    def by_key(self) -> dict[str, str]:
        return by_assertion(assertion(self.bank.client_id, self.key, issuer=settings.BASE_URL))

    def push(self, form: Mapping[str, str], **headers: str) -> Any:
        return self.client.post(PAR, urlencode(form), content_type=FORM, headers=headers)

    def verify(self, vp_token: str, nonce: str = NONCE, *, evidence: bool = False) -> Any:
        body = {"vp_token": vp_token, "nonce": nonce, "evidence": evidence}
        return self.client.post(VERIFY, json.dumps(body), content_type=JSON, headers=self.by_token)

    def holder(self, decision: str = "share", **changes: str | None) -> Any:
        url = f"{settings.BASE_URL}{PATH}?{urlencode(asked(self.bank, **changes))}"
        body = {"authorize_url": url, "decision": decision}
        return self.client.post("/sandbox/holder", json.dumps(body), content_type=JSON)


@pytest.fixture
def alice(db: None) -> Wallet:
    born = date(1990, 4, 1)
    return enroll(ALICE, given_name="Alice", family_name="Archer", birth_date=born, details=DETAILS)


@pytest.fixture
def world(client: Client, signing_key: Any, alice: Wallet, sign_in: Any) -> World:
    due_steps.rotate(now=timezone.now(), kind=StatementKey)
    key = new_key()
    jwks = {"keys": [{"kid": "one", **public_jwk(key)}]}
    bank = registered(jwks=jwks, allowed_claims=list(NAMES), may_recognise=True)
    secret = client_secrets.rotate(bank, now=timezone.now()).text
    for published in (*PUBLISHED_DOCUMENTS.values(), *PUBLISHED_FAMILIES.values()):
        published.refresh()
    sign_in(alice)
    return World(client, bank, secret, key, alice)


TWO = ("c", "e")  # the ids of two credential queries


# --- Successful calls for every operation -----------------------------------------------------------------


def authorized(world: World) -> list[Any]:
    return [world.client.get(PATH, asked(world.bank)), world.client.get(PATH, asked(world.bank, nonce="0"))]


def given_tokens(world: World) -> list[Any]:
    in_body = {"client_id": world.bank.client_id, "client_secret": world.secret}
    return [
        ask(world.client, **world.by_secret),
        ask(world.client, in_body),
        ask(world.client, world.by_key),
        ask(world.client, {"scope": "presentation:verify"}, **world.by_secret),
        of_openid_connect(world)[0],
    ]


def of_openid_connect(world: World) -> list[Any]:
    """The exchange of a code, and UserInfo with the access token by GET and by POST."""
    shop = Shop.registered()
    exchanged = shop.redeems(Client(), shop.code(world.client, scope="openid profile email"))
    token = exchanged.json()["access_token"]
    body = urlencode({"access_token": token})
    return [exchanged, user_info(Client(), token), Client().post(USERINFO, body, content_type=FORM)]


def pushed(world: World) -> list[Any]:
    form = asked(world.bank)
    return [
        world.push(form, **world.by_secret),
        world.push(form, **world.by_token),
        world.push(form | world.by_key),
    ]


def verified(world: World) -> list[Any]:
    claims = [{"path": path} for path in NAMES.values()]
    meta = {"vct_values": [f"{settings.BASE_URL}/credential-types/identity/v1"]}
    query = {"credentials": [{"id": "basic", "format": "dc+sd-jwt", "meta": meta, "claims": claims}]}
    everything = {"scope": None, "dcql_query": json.dumps(query), "nonce": NONCE}
    token = pass_through(world.client, world.bank, **everything)["vp_token"]
    RelyingParty.objects.update(wire_format=RelyingParty.WireFormat.OPENID4VP_1_0)
    two = {"credentials": [{**query["credentials"][0], "id": id} for id in TWO]}
    nonce = "the-nonce-of-an-answer-to-two-queries"
    tokens = pass_through(world.client, world.bank, scope=None, dcql_query=json.dumps(two), nonce=nonce)[
        "vp_token"
    ]
    return [
        world.verify(token),
        world.verify(token, evidence=True),
        world.verify(token, "another-nonce-altogether"),
        world.verify("no token"),
        world.verify(tokens, nonce),
    ]


def outcomes(world: World) -> list[Any]:
    nonces = {decision: f"the-nonce-of-one-to-{decision}" for decision in ("share", "decline")}
    for decision, nonce in nonces.items():
        pass_through(world.client, world.bank, decision, nonce=nonce)
    denied = Interaction.objects.get(outcome=Interaction.Outcome.ERROR)
    Delivery.objects.create(interaction=denied, expires_at=timezone.now())  # as if it had been posted
    return [world.client.get(OUTCOME, {"nonce": each}, headers=world.by_token) for each in nonces.values()]


def held(world: World) -> list[Any]:
    return [
        world.holder(),
        world.holder("decline", nonce=NONCE),
        world.holder(nonce="short"),
        world.holder(redirect_uri="https://elsewhere.example/"),
    ]


def document(address: str) -> Callable[[World], list[Any]]:
    return lambda world: [world.client.get(address)]


def status_list(world: World) -> list[Any]:
    present(world.alice)
    (address, *_) = world.client.get("/status-lists").json()["status_lists"]
    return [world.client.get(address.removeprefix(settings.BASE_URL))]


GOOD_CALLS: dict[str, Callable[[World], list[Any]]] = {
    "authorize": authorized,
    "token": given_tokens,
    "push": pushed,
    "userinfo": lambda world: of_openid_connect(world)[1:2],
    "userinfo_posted": lambda world: of_openid_connect(world)[2:],
    "verify": verified,
    "outcome": outcomes,
    "discovery": document("/.well-known/openid-configuration"),
    "authorization_server": document("/.well-known/oauth-authorization-server"),
    "credential_issuer": document("/.well-known/jwt-vc-issuer"),
    "jwks": document("/openid-connect/jwks"),
    "statement_jwks": document("/statements/jwks"),
    "credential_type": document("/credential-types/identity/v1"),
    "status_list_aggregation": document("/status-lists"),
    "status_list": status_list,
    "root_pem": document("/trust/root.pem"),
    "root_der": document("/trust/root.der"),
    "act_as_holder": held,
}
DESCRIPTION = api.resolved(settings.BASE_URL)
OPERATIONS: dict[str, Any] = {
    operation["operationId"]: operation
    for methods in DESCRIPTION["paths"].values()
    for operation in methods.values()
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_good_answers_have_what_is_described_and_nothing_else(world: World, name: str) -> None:
    """A new endpoint needs a successful call in `GOOD_CALLS`."""
    described = OPERATIONS[name]["responses"]
    answers = GOOD_CALLS[name](world)

    for answer in answers:
        compare(answer, described[str(answer.status_code)])
    assert {str(answer.status_code) for answer in answers} == {s for s in described if s < "400"}
    for status in {answer.status_code for answer in answers}:
        bodies = [body_of(answer) for answer in answers if answer.status_code == status]
        for content in described[str(status)].get("content", {}).values():
            assert members_in(content["schema"]) == {path for body in bodies for path in paths_in(body)}


def test_every_webhook_has_what_is_described_and_nothing_else(world: World) -> None:
    described = DESCRIPTION["webhooks"]
    opted_in(world.bank)
    for decision in ("share", "decline"):
        pass_through(world.client, world.bank, decision, nonce=f"the-nonce-of-one-to-{decision}")
    revocation.revoke(world.alice.credential, **SAID, now=timezone.now())
    revocations.collect(now=timezone.now())

    told = {event.type: json.loads(event.body) for event in WebhookEvent.objects.all()}
    assert set(told) == set(described) == set(WebhookEvent.Type.values)
    for kind, body in told.items():
        schema = described[kind]["post"]["requestBody"]["content"][JSON]["schema"]
        demand_exactly(schema, body)
        assert members_in(schema) == set(paths_in(body))
        headers = {parameter["name"] for parameter in described[kind]["post"]["parameters"]}
        assert headers == set(signing_secrets.signature_headers("", "", secrets=[], now=timezone.now()))


# --- The comparison -----------------------------------------------------------------------------------------


def compare(answer: Any, described: Mapping[str, Any]) -> None:
    """Compares status, media type, headers and body of an answer with the description."""
    contents = described.get("content", {})
    for name, header in described.get("headers", {}).items():
        demand_exactly(header["schema"], answer.headers[name])
    if not contents:
        assert not answer.content
        return
    demand_exactly(contents[answer.headers["Content-Type"]]["schema"], body_of(answer))


def body_of(answer: Any) -> Any:
    """The parsed JSON; the text of other media types."""
    is_json = answer.headers.get("Content-Type") == JSON
    return json.loads(answer.content) if is_json else answer.content.decode("latin-1")


def members_in(schema: Mapping[str, Any], prefix: str = "") -> set[str]:
    """The paths of all described members."""
    found: set[str] = set()
    any_name = schema.get(
        "additionalProperties"
    )  # those of the members of `presentations` are chosen by clients
    chosen = dict.fromkeys(TWO, any_name) if isinstance(any_name, dict) else {}
    for name, member in (schema.get("properties", {}) | chosen).items():
        found |= {prefix + name} | members_in(member, f"{prefix}{name}.")
    return found | (members_in(schema["items"], prefix) if "items" in schema else set())


def paths_in(value: Any, prefix: str = "") -> Iterator[str]:
    """The paths of all members in the value."""
    if isinstance(value, list):
        for each in value:
            yield from paths_in(each, prefix)
    elif isinstance(value, dict):
        for name, each in value.items():
            yield prefix + name
            yield from paths_in(each, f"{prefix}{name}.")
