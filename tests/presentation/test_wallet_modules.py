"""The wallet modules of the OpenID Foundation's suite (`oid4vp-1final-wallet-…`), answered in the fragment.

Each is tried however a request may come: in the address, signed and published, pushed, signed and sent along.
Left out are the two for browsers' own interface (`multisigned-one-invalid-signature`,
`negative-test-wrong-expected-origins`), which this service does not speak.
"""

import json
import secrets
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qsl

import pytest
from django.conf import settings as django_settings
from django.test import Client

from presentation.models import RelyingParty
from presentation.reception import signed_requests
from tests.forgery import Key, new_key
from tests.presentation.clients import assertion, by_assertion, with_key
from tests.presentation.far_ends import FarEnd, answers, far_end, says
from tests.presentation.test_authorize import PATH, asked, encoded, fragment, session_data
from tests.presentation.test_dcql_flow import disclosed, path, query
from tests.presentation.test_flow import SignIn, decide
from tests.presentation.test_pushed_requests import go, send
from tests.presentation.test_request_objects import TYPE, signed
from tests.receiver import listening
from tests.relying_party import take_apart
from wallet.models import Wallet

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("signing_key")]
NAME = path("given_name")
WAYS = ["url_query", "request_uri_signed", "pushed", "signed"]


class Verifier:
    """The suite's side: a relying party with a key and a server, and the browser of Alice."""

    def __init__(self, far: FarEnd, browser: Client, way: str) -> None:
        self.party, self.key = with_key(wire_format=RelyingParty.WireFormat.OPENID4VP_1_0)
        RelyingParty.objects.update(request_uri_prefix=far.url("/requests/"))
        self.far, self.browser, self.way = far, browser, way
        self.sent: dict[str, Any] = {}

    def asks(self, *, key: Key | None = None, header: Any = None, **changes: Any) -> Any:
        """Send the browser here with a request of these parameters; what it is told."""
        query_only = {"scope": None, "dcql_query": {"credentials": [query(NAME)]}}
        fresh = {"nonce": secrets.token_urlsafe(24), "state": None}
        self.sent = asked(self.party, **(query_only | fresh | changes))
        given = dict.fromkeys(asked(self.party)) | self.sent
        if self.way == "url_query":
            return self.browser.get(PATH, as_texts(self.sent))
        if self.way == "pushed":
            proof = assertion(self.party.client_id, self.key, issuer=django_settings.BASE_URL)
            told = send(self.browser, as_texts(self.sent) | by_assertion(proof))
            return (
                go(self.browser, told.json()["request_uri"], self.party) if told.status_code == 201 else told
            )
        bank = (self.party, self.key)
        text = signed(bank, django_settings.BASE_URL, key=key, header=header, **given)
        beside = {"client_id": self.party.client_id}
        if self.way == "signed":
            return self.browser.get(PATH, beside | {"request": text})
        self.far.behaviour = answers(text.encode(), f"Content-Type: application/{TYPE}")
        uri = self.far.url("/requests/1")
        return self.browser.get(PATH, beside | {"request_uri": uri, "request_uri_method": "post"})

    def is_answered(self, **changes: Any) -> dict[str, list[str]]:
        """The presentations in the positive answer, after the checks that every module makes of one."""
        page = self.asks(**changes).headers["Location"]
        home = self.browser.get(decide(self.browser, page)).headers["Location"]
        answer = fragment(home)
        assert home.startswith("https://bank.example/callback#")
        expected = {"vp_token", "iss", "state"} if "state" in self.sent else {"vp_token", "iss"}
        assert answer.keys() == expected
        assert answer.get("state") == self.sent.get("state")
        presentations: dict[str, list[str]] = json.loads(answer["vp_token"])
        asked_for = {one["id"] for one in self.sent["dcql_query"]["credentials"]}
        assert presentations.keys() <= asked_for
        for (token,) in presentations.values():
            _jwt, _disclosures, binding, _bound = take_apart(token)
            assert binding.header["typ"] == "kb+jwt"
            assert binding.payload["aud"] == self.party.client_id
            assert binding.payload["nonce"] == self.sent["nonce"]
        return presentations

    def is_refused(self, error: str, **changes: Any) -> None:
        """At home, or where a request is pushed."""
        told = self.asks(**changes)
        said = fragment(told.headers["Location"]) if "Location" in told.headers else told.json()
        assert said["error"] == error


def as_texts(parameters: dict[str, Any]) -> dict[str, str]:
    return {
        name: value if isinstance(value, str) else json.dumps(value) for name, value in parameters.items()
    }


@pytest.fixture(params=WAYS)
def verifier(
    request: Any, monkeypatch: pytest.MonkeyPatch, client: Client, alice: Wallet, sign_in: SignIn
) -> Iterator[Verifier]:
    with far_end(says(b"")) as far:
        monkeypatch.setattr(signed_requests, "outbound", far.outbound())
        sign_in(alice)
        yield Verifier(far, client, request.param)


def test_happy_flow(verifier: Verifier) -> None:
    (token,) = verifier.is_answered()["identity"]

    assert disclosed(token) == {"given_name"}


def test_alternate_happy_flow(verifier: Verifier) -> None:
    reordered = dict(reversed(query(NAME).items()))
    changes = {"state": secrets.token_urlsafe(48), "nonce": secrets.token_urlsafe(32), "unknown": "x"}

    assert verifier.is_answered(**changes, iss="somebody else", dcql_query={"credentials": [reordered]})
    assert (len(verifier.sent["state"]), len(verifier.sent["nonce"])) == (64, 43)


def test_request_uri_method_post(verifier: Verifier) -> None:
    assert verifier.is_answered()
    assert all(request.startswith(b"GET /requests/1 ") for request in verifier.far.requests)
    assert bool(verifier.far.requests) is (verifier.way == "request_uri_signed")


def test_ignores_unusable_encryption_key(verifier: Verifier) -> None:
    unusable = {"kty": "XYZ", "alg": "unknown", "kid": "x", "use": "enc"}

    assert verifier.is_answered(client_metadata={"jwks": {"keys": [unusable]}})


def test_fewer_claims_than_available(verifier: Verifier) -> None:
    (token,) = verifier.is_answered(dcql_query={"credentials": [query(path("age_equal_or_over", "18"))]})[
        "identity"
    ]

    assert disclosed(token) == {"age_equal_or_over", "18"}


def test_optional_credential_set(verifier: Verifier) -> None:
    elsewhere = query(NAME, id="elsewhere", meta={"vct_values": ["https://else.example"]})
    licence = {"id": "mdl", "format": "mso_mdoc", "meta": {"doctype_value": "org.iso.18013.5.1.mDL"}}
    sets = [{"options": [["mdl"], ["identity"]]}, {"options": [["elsewhere"], ["mdl"]], "required": False}]

    answer = verifier.is_answered(
        dcql_query={"credentials": [query(NAME), elsewhere, licence], "credential_sets": sets}
    )

    assert answer.keys() == {"identity"}


def test_no_claims_in_dcql_query(verifier: Verifier) -> None:
    (token,) = verifier.is_answered(dcql_query={"credentials": [query()]})["identity"]

    assert disclosed(token) == set()


def test_negative_test_response_uri_not_client_id(verifier: Verifier) -> None:
    told = verifier.asks(redirect_uri="https://elsewhere.example/callback")

    assert told.status_code == 400
    assert "Location" not in told.headers


CHANGED: dict[str, Callable[[], dict[str, Any]]] = {
    "another key": lambda: {"key": new_key()},
    "no algorithm": lambda: {"header": {"alg": "none"}},
}


@pytest.mark.parametrize("change", CHANGED)
@pytest.mark.parametrize("verifier", ["request_uri_signed", "signed"], indirect=True)
def test_negative_test_invalid_request_object_signature(verifier: Verifier, change: str) -> None:
    told = verifier.asks(**CHANGED[change]())

    assert told.status_code == 400
    assert "Location" not in told.headers


@pytest.mark.parametrize("verifier", WAYS[1:], indirect=True)  # in the address it stands once
def test_negative_test_mismatched_client_id(verifier: Verifier) -> None:
    told = verifier.asks(client_id="somebody-else")

    assert told.status_code in (400, 401)
    assert "Location" not in told.headers


@pytest.mark.parametrize("prefix", ["x509_san_dns", "redirect_uri", "origin", "nonsense"])
def test_negative_test_invalid_client_id_prefix(verifier: Verifier, prefix: str) -> None:
    told = verifier.browser.get(PATH, as_texts(asked(verifier.party, client_id=f"{prefix}:bank.example")))

    assert told.status_code == 400
    assert "Location" not in told.headers


def test_negative_test_redirect_uri_with_direct_post(verifier: Verifier) -> None:
    with listening() as receiver:
        verifier.party.response_uris.create(uri=receiver.uri)
        told = verifier.asks(response_mode="direct_post", response_uri=receiver.uri)

    pushed = verifier.way == "pushed"
    said = told.json()["error"] if pushed else dict(parse_qsl(receiver.posted[0].body))["error"]
    assert said == "invalid_request"
    assert told.status_code == 400
    assert len(receiver.posted) == (0 if pushed else 1)


def test_negative_test_missing_nonce(verifier: Verifier) -> None:
    verifier.is_refused("invalid_request", nonce=None)


def test_negative_test_unknown_transaction_data_type(verifier: Verifier) -> None:
    value = encoded(session_data(type="urn:example:unknown", credential_ids=["identity"]))

    verifier.is_refused("invalid_transaction_data", transaction_data=[value])


def test_negative_test_required_non_matching_credential(verifier: Verifier) -> None:
    elsewhere = query(NAME, id="elsewhere", meta={"vct_values": ["https://else.example"]})
    hub = verifier.asks(dcql_query={"credentials": [query(NAME), elsewhere]}).headers["Location"]

    leave = verifier.browser.get(hub).context["leave"]

    assert fragment(verifier.browser.get(leave).headers["Location"])["error"] == "access_denied"
