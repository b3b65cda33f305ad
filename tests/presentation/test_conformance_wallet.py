"""The OpenID Foundation's modules for wallets (`oid4vp-1final-wallet-…`) as far as they concern answers.

Each runs in the response modes of that plan and in its twin, the fragment, which the plan lacks. Those
about the ways of a request are in `test_wallet_modules`.
"""

import json
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client
from joserfc.jwk import ECKey

import tests.relying_party
from presentation.models import RelyingParty, ResponseURI
from tests.people import register
from tests.presentation.test_dcql_flow import path, query, with_query
from tests.presentation.test_flow import hub_of
from tests.receiver import Receiver, listening
from tests.relying_party import Answer
from wallet.models import Wallet

pytestmark = [pytest.mark.usefixtures("signing_key"), pytest.mark.django_db(transaction=True)]
CALLBACK = "https://verifier.example/callback"
MODES = ("fragment", "direct_post", "direct_post.jwt")


@dataclass
class Verifier:
    """The suite's side: asks as its plan does (OpenID4VP 1.0 wire format), and reads what comes back."""

    mode: str
    client: Client
    party: tests.relying_party.RelyingParty
    receiver: Receiver
    key: Any

    def asks(self, **changes: Any) -> Any:
        """The response of the authorization endpoint to a request in this mode."""
        mine: dict[str, Any] = {"response_mode": self.mode}
        if self.mode != "fragment":
            mine |= {"response_uri": self.receiver.uri, "redirect_uri": None}
        if self.mode == "direct_post.jwt":
            mine["client_metadata"] = json.dumps({"jwks": {"keys": [self.key.as_dict(private=False)]}})
        url = self.party.authorize_url(**{**mine, **changes})
        return self.client.get(url.removeprefix(self.party.base_url))

    def gets(self, decision: str = "share", **changes: Any) -> Answer:
        """The answer once the holder, who is signed in, has decided."""
        shown = self.asks(**changes)
        if shown.headers.get("Location", "").startswith("/consent/"):
            shown = self.client.post(hub_of(), {"decision": decision})
        return self.read(shown)

    def read(self, response: Any) -> Answer:
        """The answer of this mode, from where it must be."""
        if self.mode == "fragment":
            return self.party.read(response.headers["Location"])
        assert "#" not in response.headers.get("Location", "")
        (posted,) = self.receiver.posted
        assert posted.headers["content-type"] == "application/x-www-form-urlencoded"
        assert "?" not in posted.path
        key = self.key.as_dict(private=True) if self.mode == "direct_post.jwt" else None
        return self.party.read_posted(posted.body, key=key)

    def claims(self, answer: Answer) -> dict[str, Any]:
        """What was disclosed, once every check of the suite on a positive response was passed."""
        assert list(json.loads(str(answer.vp_token))) == ["identity"]
        return self.party.verify(answer)


@pytest.fixture(autouse=True)
def _fresh_documents() -> None:
    from config.urls import PUBLISHED_DOCUMENTS, PUBLISHED_FAMILIES

    for document in (*PUBLISHED_DOCUMENTS.values(), *PUBLISHED_FAMILIES.values()):
        document.refresh()


@pytest.fixture(params=MODES)
def verifier(
    request: pytest.FixtureRequest,
    client: Client,
    alice: Wallet,
    sign_in: Callable[..., Any],
    settings: Any,
) -> Iterator[Verifier]:
    sign_in(alice)
    registered = register("Suite", CALLBACK, wire_format=RelyingParty.WireFormat.OPENID4VP_1_0)
    party = tests.relying_party.RelyingParty(
        registered.client_id,
        CALLBACK,
        settings.BASE_URL,
        fetch=lambda url: Client().get(url.removeprefix(settings.BASE_URL)).content,
        wire_format="openid4vp-1.0",
        claims=(("given_name",),),
    )
    key = ECKey.generate_key("P-256", {"kid": secrets.token_urlsafe(8), "use": "enc", "alg": "ECDH-ES"})
    with listening() as receiver:
        ResponseURI.objects.create(relying_party=registered, uri=receiver.uri)
        yield Verifier(request.param, client, party, receiver, key)


def name_query(**more: Any) -> dict[str, Any]:
    return with_query(query(path("given_name")), **more)


def test_happy_flow(verifier: Verifier) -> None:
    assert verifier.claims(verifier.gets(**name_query(), state=None)) == {"given_name": "Alice"}


def test_alternate_happy_flow(verifier: Verifier) -> None:
    """Long state, unknown parameter, members in another order, a key without `use`, and a way on to open."""
    verifier.key = ECKey.generate_key("P-256", {"kid": "no-use", "alg": "ECDH-ES"})
    verifier.receiver.redirects_to("https://verifier.example/next#response_code=1")
    said = {"credentials": [dict(reversed(query(path("given_name")).items()))]}

    shown = verifier.asks(
        scope=None,
        dcql_query=json.dumps(said),
        state=secrets.token_urlsafe(48),
        nonce=secrets.token_urlsafe(32),
        something_unknown="is ignored",
    )
    assert shown.headers["Location"].startswith("/consent/")
    response = verifier.client.post(hub_of(), {"decision": "share"})

    if verifier.mode == "fragment":
        assert verifier.party.verify(verifier.read(response)) == {"given_name": "Alice"}
    else:
        assert response.headers["Location"] == "https://verifier.example/next#response_code=1"
        key = verifier.key.as_dict(private=True) if verifier.mode == "direct_post.jwt" else None
        answer = verifier.party.read_posted(verifier.receiver.posted[0].body, key=key)
        assert verifier.party.verify(answer) == {"given_name": "Alice"}


def test_ignores_unusable_encryption_key(verifier: Verifier) -> None:
    usable = verifier.key.as_dict(private=False)
    unusable = [{"kty": "AKP", "alg": "X-9", "kid": "z"}, {**usable, "alg": "X-9", "kid": "y"}]
    metadata = json.dumps({"jwks": {"keys": [*unusable, usable]}})

    verifier.claims(verifier.gets(**name_query(), client_metadata=metadata))


def test_fewer_claims_than_available(verifier: Verifier) -> None:
    assert set(verifier.claims(verifier.gets(**name_query()))) == {"given_name"}


def test_optional_credential_set(verifier: Verifier) -> None:
    elsewhere = query(path("given_name"), id="elsewhere", meta={"vct_values": ["https://else.example"]})
    licence = {"id": "mdl", "format": "mso_mdoc", "meta": {"doctype_value": "org.iso.18013.5.1.mDL"}}
    sets = [{"options": [["mdl"], ["identity"]]}, {"options": [["elsewhere"], ["mdl"]], "required": False}]

    answer = verifier.gets(**with_query(query(path("given_name")), elsewhere, licence, credential_sets=sets))

    assert verifier.claims(answer) == {"given_name": "Alice"}


def test_no_claims_in_dcql_query(verifier: Verifier) -> None:
    verifier.party.claims = ()

    assert verifier.claims(verifier.gets(**with_query(query()))) == {}


def test_negative_test_response_uri_not_client_id(verifier: Verifier) -> None:
    """Of a registered client: an address that it has not registered."""
    name = "redirect_uri" if verifier.mode == "fragment" else "response_uri"

    response = verifier.asks(**name_query(), **{name: "https://elsewhere.example/"})

    assert response.status_code == 400
    assert "Location" not in response.headers
    assert verifier.receiver.posted == []


def test_negative_test_redirect_uri_with_direct_post(verifier: Verifier) -> None:
    """The twin: a response_uri beside a redirect_uri is one parameter more that a fragment does not use."""
    if verifier.mode == "fragment":
        verifier.claims(verifier.gets(**name_query(), response_uri=verifier.receiver.uri))
        assert verifier.receiver.posted == []
    else:
        assert verifier.gets(**name_query(), redirect_uri=CALLBACK).error == "invalid_request"


def test_negative_test_missing_nonce(verifier: Verifier) -> None:
    assert verifier.gets(**name_query(), nonce=None).error == "invalid_request"


@pytest.mark.parametrize("prefix", ["x509_san_dns", "unknown"])
def test_negative_test_invalid_client_id_prefix(verifier: Verifier, prefix: str) -> None:
    response = verifier.asks(**name_query(), client_id=f"{prefix}:{verifier.party.client_id}")

    assert response.status_code == 400
    assert verifier.receiver.posted == []


def test_negative_test_unknown_transaction_data_type(verifier: Verifier) -> None:
    unknown = [{"type": "urn:example:unknown", "credential_ids": ["identity"]}]

    answer = verifier.gets(**name_query(), transaction_data=unknown)

    assert answer.error == "invalid_transaction_data"


def test_negative_test_required_non_matching_credential(verifier: Verifier) -> None:
    elsewhere = query(path("given_name"), meta={"vct_values": ["https://else.example"]})
    page = verifier.client.get(verifier.asks(**with_query(elsewhere)).headers["Location"])

    answer = verifier.read(verifier.client.get(page.context["leave"]))

    assert answer.error == "access_denied"
    assert answer.vp_token is None


def test_user_rejects_authentication(verifier: Verifier) -> None:
    """`fapi2-security-profile-final-user-rejects-authentication`."""
    assert verifier.gets("decline", **name_query()).error == "access_denied"


def test_ensure_registered_redirect_uri(verifier: Verifier) -> None:
    """`fapi2-security-profile-final-ensure-registered-redirect-uri`, with one character more."""
    name = "redirect_uri" if verifier.mode == "fragment" else "response_uri"
    registered = CALLBACK if verifier.mode == "fragment" else verifier.receiver.uri

    assert verifier.asks(**name_query(), **{name: registered + "/"}).status_code == 400
    assert verifier.receiver.posted == []
