"""The wallet modules of the OpenID Foundation's suite (`oid4vp-1final-wallet-…`), under their names.

Each runs with every way to pass a request (in the address, as `request_uri`, pushed, as `request`) in every
response mode of the suite's plan, in the fragment, which the plan lacks, and as the plan of HAIP asks. The
two modules for the Digital Credentials API (`multisigned-one-invalid-signature`,
`negative-test-wrong-expected-origins`) are left out, because this service does not support it.
"""

import json
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any
from urllib.parse import parse_qsl

import pytest
from django.test import Client
from joserfc.jwk import ECKey

import tests.relying_party
from config.urls import PUBLISHED_DOCUMENTS, PUBLISHED_FAMILIES
from presentation.models import RelyingParty
from presentation.requests.receiving import signed_requests
from tests.forgery import Key, new_key
from tests.keys.certificates import Made
from tests.presentation.clients import assertion, by_assertion, with_key
from tests.presentation.dcql.queries import path, query
from tests.presentation.far_ends import FarEnd, answers, far_end, says
from tests.presentation.requests.authorization_requests import PATH, asked
from tests.presentation.requests.certified_client_ids import certificate_of, certified
from tests.presentation.requests.deciding import SignIn, address_of_page, url_of_interaction
from tests.presentation.requests.pushing import go, send
from tests.presentation.requests.signed_requests import TYPE, signed
from tests.receiver import Receiver, listening
from tests.relying_party import Answer
from wallet.models import Wallet

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("signing_key"), pytest.mark.slow]
CALLBACK = "https://bank.example/callback"
NEXT = "https://bank.example/next#response_code=1"
NAME = path("given_name")
WAYS = ("url_query", "request_uri_signed", "pushed", "signed")
MODES = ("fragment", "direct_post", "direct_post.jwt")
# The plan of HAIP, and the same with the other prefix. Like the suite, without exp, iat and login_hint.
HAIP = [("x509_hash", "direct_post.jwt"), ("x509_san_dns", "direct_post.jwt")]
UNSAID = {"exp": None, "iat": None, "iss": None, "aud": "https://self-issued.me/v2"}


def every(*ways: str) -> list[tuple[str, str]]:
    """Each way to pass a request, in each response mode."""
    return list(product(ways, MODES))


SIGNED = [*every("request_uri_signed", "signed"), *HAIP]


def new_recipient(**members: str) -> ECKey:
    return ECKey.generate_key("P-256", {"kid": secrets.token_urlsafe(8), "alg": "ECDH-ES", **members})


@dataclass
class Verifier:
    """The relying party of the suite, with a key and servers, and Alice's signed-in browser."""

    way: str
    mode: str
    browser: Client
    bank: tuple[RelyingParty, Key]
    reading: tests.relying_party.RelyingParty
    far: FarEnd
    receiver: Receiver
    opening: ECKey = field(default_factory=lambda: new_recipient(use="enc"))  # the key for encrypted answers
    method: str | None = None  # request_uri_method
    certificate: Made | None = None  # of a client ID with a prefix

    def asks(self, *, key: Key | None = None, header: Any = None, who: str = "", **changes: Any) -> Any:
        """The response to the browser or the pushing client for a request with these changes.

        who: the client ID everywhere; `client_id` in `changes` changes it in the request alone.
        """
        who = who or self.reading.client_id
        if self.certificate:
            key = key or self.certificate.key
            header = {"kid": None, "x5c": [self.certificate.x5c]} | (header or {})
            changes = {"login_hint": None} | changes
        said = self._said() | {"client_id": who} | changes
        self.reading.authorize_url(**{name: value and as_text(value) for name, value in said.items()})
        said = {name: value for name, value in (self.reading.sent | said).items() if value is not None}
        issuer, beside = self.reading.base_url, {"client_id": who}
        as_texts = {name: as_text(value) for name, value in said.items()}
        if self.way == "url_query":
            return self.browser.get(PATH, as_texts)
        if self.way == "pushed":
            proof = by_assertion(assertion(who, self.bank[1], issuer=issuer))
            told = send(self.browser, as_texts | proof)
            pushed = told.status_code == 201
            return go(self.browser, told.json()["request_uri"], self.bank[0]) if pushed else told
        said = dict.fromkeys(asked(self.bank[0])) | said
        unsaid = UNSAID if self.certificate else {}
        make = lambda form: signed(self.bank, issuer, key=key, header=header, **(unsaid | said | form))  # noqa: E731
        if self.way == "signed":
            return self.browser.get(PATH, beside | {"request": make({})})
        return self._refers(make, beside)

    def _said(self) -> dict[str, Any]:
        said: dict[str, Any] = {
            "scope": None,
            "dcql_query": {"credentials": [query(NAME)]},
            "state": None,
            "response_mode": self.mode,
        }
        if self.mode != "fragment":
            said |= {"response_uri": self.receiver.uri, "redirect_uri": None}
        if self.mode == "direct_post.jwt":
            said["client_metadata"] = {"jwks": {"keys": [self.opening.as_dict(private=False)]}}
        return said

    def _refers(self, make: Callable[[dict[str, str]], str], beside: dict[str, str]) -> Any:
        """Opens the authorization endpoint; the object at `request_uri` is made when it is fetched."""

        def behaviour(connection: Any) -> None:
            form = dict(parse_qsl(self.far.requests[-1].partition(b"\r\n\r\n")[2].decode()))
            form.pop("wallet_metadata", None)
            answers(make(form).encode(), f"Content-Type: application/{TYPE}")(connection)

        self.far.behaviour = behaviour
        method = {"request_uri_method": self.method} if self.method else {}
        return self.browser.get(PATH, beside | {"request_uri": self.far.url("/requests/1")} | method)

    def gets(self, decision: str = "share", **changes: Any) -> Answer:
        """The answer after the holder's decision."""
        shown = self.asks(**changes)
        assert address_of_page(shown).startswith("/consent/"), shown.headers
        return self.reads(self.browser.post(url_of_interaction(), {"decision": decision}))

    def reads(self, response: Any) -> Answer:
        """The answer, from its place in this response mode."""
        if self.mode == "fragment":
            assert self.receiver.posted == []
            return self.reading.read(response.headers["Location"])
        assert response.headers.get("Location", NEXT).startswith(("/", NEXT))
        (posted,) = self.receiver.posted
        assert posted.headers["content-type"] == "application/x-www-form-urlencoded"
        assert "?" not in posted.path
        key = self.opening.as_dict(private=True) if self.mode == "direct_post.jwt" else None
        return self.reading.read_posted(posted.body, key=key)

    def claims(self, *asked_for: tuple[str, ...], **changes: Any) -> dict[str, Any]:
        """The disclosed claims, after all checks of the suite on a successful answer."""
        answer = self.gets(**changes)
        assert list(json.loads(str(answer.vp_token))) == ["identity"]
        self.reading.claims = asked_for
        return self.reading.verify(answer)

    def is_refused(self, error: str, **changes: Any) -> None:
        """The error is sent to the relying party, or returned to the pushing client."""
        told = self.asks(**changes)
        if self.way != "pushed":
            assert self.reads(told).error == error
            return
        assert (told.status_code, told.json()["error"]) == (400, error)
        assert self.receiver.posted == []

    def is_turned_away(self, **changes: Any) -> None:
        """Only the holder, or the pushing client, sees the error, because no return address is proven."""
        told = self.asks(**changes)
        assert told.status_code in (400, 401)
        assert "Location" not in told.headers
        assert self.receiver.posted == []


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@pytest.fixture(params=[*every(*WAYS), *HAIP], ids="-".join)
def verifier(
    request: Any,
    monkeypatch: pytest.MonkeyPatch,
    client: Client,
    settings: Any,
    alice: Wallet,
    sign_in: SignIn,
) -> Iterator[Verifier]:
    for document in (*PUBLISHED_DOCUMENTS.values(), *PUBLISHED_FAMILIES.values()):
        document.refresh()
    reading = tests.relying_party.RelyingParty(
        "",
        CALLBACK,
        settings.BASE_URL,
        fetch=lambda url: Client().get(url.removeprefix(settings.BASE_URL)).content,
        wire_format="openid4vp-1.0",
    )
    with far_end(says(b"")) as far, listening() as receiver:
        bank = with_key(
            wire_format=RelyingParty.WireFormat.OPENID4VP_1_0, request_uri_prefix=far.url("/requests/")
        )
        bank[0].response_uris.create(uri=receiver.uri)
        reading.client_id, certificate = bank[0].client_id, None
        if request.param in HAIP:
            certificate = certificate_of("verifier.example")
            name = "" if request.param[0] == "x509_hash" else "x509_san_dns:verifier.example"
            reading.client_id = certified(bank[0], certificate.pem, name).client_id
            RelyingParty.objects.update(jwks=None, may_omit_exp=True, may_omit_login_hint=True)
        monkeypatch.setattr(signed_requests, "outbound", far.outbound())
        sign_in(alice)
        yield Verifier(*request.param, client, bank, reading, far, receiver, certificate=certificate)


def test_happy_flow(verifier: Verifier) -> None:
    assert verifier.claims(("given_name",)) == {"given_name": "Alice"}


def test_alternate_happy_flow(verifier: Verifier) -> None:
    """A long state, an unknown parameter, members in another order, a key without `use`, a redirect_uri."""
    verifier.opening = new_recipient()
    verifier.receiver.redirects_to(NEXT)
    reordered = {"credentials": [dict(reversed(query(NAME).items()))]}
    changes = {"state": secrets.token_urlsafe(48), "nonce": secrets.token_urlsafe(32), "unknown": "x"}

    shown = verifier.asks(**changes, iss="somebody else", dcql_query=reordered)
    assert address_of_page(shown).startswith("/consent/")
    response = verifier.browser.post(url_of_interaction(), {"decision": "share"})

    assert (response.headers["Location"] == NEXT) is (verifier.mode != "fragment")
    verifier.reading.claims = (("given_name",),)
    assert verifier.reading.verify(verifier.reads(response)) == {"given_name": "Alice"}
    assert [len(verifier.reading.sent[name]) for name in ("state", "nonce")] == [64, 43]


@pytest.mark.parametrize("verifier", [*every("request_uri_signed"), *HAIP], indirect=True, ids="-".join)
@pytest.mark.parametrize("method", ["post", "get", None])
def test_request_uri_method_post(verifier: Verifier, method: str | None) -> None:
    """Also the opposite cases: a request to be read with GET, and one without the parameter."""
    verifier.method = method

    assert verifier.claims(("given_name",)) == {"given_name": "Alice"}
    (request,) = verifier.far.requests
    assert request.startswith(b"POST " if method == "post" else b"GET ")
    assert (b"&wallet_metadata=" in request) is (method == "post")


def test_ignores_unusable_encryption_key(verifier: Verifier) -> None:
    usable = verifier.opening.as_dict(private=False)
    unusable = [{"kty": "AKP", "alg": "X-9", "kid": "z"}, {**usable, "alg": "X-9", "kid": "y"}]

    metadata = {"jwks": {"keys": [*unusable, usable]}}
    assert verifier.claims(("given_name",), client_metadata=metadata) == {"given_name": "Alice"}


def test_fewer_claims_than_available(verifier: Verifier) -> None:
    adult = {"credentials": [query(path("age_equal_or_over", "18"))]}

    disclosed = verifier.claims(("age_equal_or_over", "18"), dcql_query=adult)

    assert disclosed == {"age_equal_or_over": {"18": True}}


def test_optional_credential_set(verifier: Verifier) -> None:
    elsewhere = query(NAME, id="elsewhere", meta={"vct_values": ["https://else.example"]})
    licence = {"id": "mdl", "format": "mso_mdoc", "meta": {"doctype_value": "org.iso.18013.5.1.mDL"}}
    sets = [{"options": [["mdl"], ["identity"]]}, {"options": [["elsewhere"], ["mdl"]], "required": False}]
    asked_for = {"credentials": [query(NAME), elsewhere, licence], "credential_sets": sets}

    assert verifier.claims(("given_name",), dcql_query=asked_for) == {"given_name": "Alice"}


def test_no_claims_in_dcql_query(verifier: Verifier) -> None:
    assert verifier.claims(dcql_query={"credentials": [query()]}) == {}


def test_negative_test_response_uri_not_client_id(verifier: Verifier) -> None:
    """A response URI that the client has not registered."""
    name = "redirect_uri" if verifier.mode == "fragment" else "response_uri"

    verifier.is_turned_away(**{name: "https://elsewhere.example/callback"})


CHANGED: dict[str, Callable[[], dict[str, Any]]] = {
    "another key": lambda: {"key": new_key()},
    "no algorithm": lambda: {"header": {"alg": "none"}},
}


@pytest.mark.parametrize("change", CHANGED)
@pytest.mark.parametrize("verifier", SIGNED, indirect=True, ids="-".join)
def test_negative_test_invalid_request_object_signature(verifier: Verifier, change: str) -> None:
    verifier.is_turned_away(**CHANGED[change]())


@pytest.mark.parametrize(
    "verifier", [*every(*WAYS[1:]), *HAIP], indirect=True, ids="-".join
)  # otherwise once
def test_negative_test_mismatched_client_id(verifier: Verifier) -> None:
    verifier.is_turned_away(client_id="somebody-else")


@pytest.mark.parametrize("prefix", ["x509_san_dns", "redirect_uri", "origin", "nonsense"])
def test_negative_test_invalid_client_id_prefix(verifier: Verifier, prefix: str) -> None:
    verifier.is_turned_away(who=f"{prefix}:bank.example")
    verifier.is_turned_away(who=f"{prefix}:{verifier.bank[0].client_id}")
    assert verifier.far.connections == 0


def test_negative_test_redirect_uri_with_direct_post(verifier: Verifier) -> None:
    """The opposite case: a response_uri besides a redirect_uri is ignored for a fragment."""
    if verifier.mode == "fragment":
        assert verifier.claims(("given_name",), response_uri=verifier.receiver.uri)
    else:
        verifier.is_refused("invalid_request", redirect_uri=CALLBACK)


def test_negative_test_missing_nonce(verifier: Verifier) -> None:
    verifier.is_refused("invalid_request", nonce=None)


def test_negative_test_unknown_transaction_data_type(verifier: Verifier) -> None:
    unknown = tests.relying_party.encode_object({"type": "urn:x:unknown", "credential_ids": ["identity"]})

    verifier.is_refused("invalid_transaction_data", transaction_data=[unknown])


def test_negative_test_required_non_matching_credential(verifier: Verifier) -> None:
    elsewhere = query(NAME, id="elsewhere", meta={"vct_values": ["https://else.example"]})
    interaction_url = verifier.asks(dcql_query={"credentials": [query(NAME), elsewhere]}).headers["Location"]

    leave = verifier.browser.get(interaction_url).context["leave"]
    answer = verifier.reads(verifier.browser.get(leave))

    assert (answer.error, answer.vp_token) == ("access_denied", None)


# --- From `fapi2-security-profile-final-…` ---------------------------------------------------------------


def test_user_rejects_authentication(verifier: Verifier) -> None:
    assert verifier.gets("decline").error == "access_denied"


def test_ensure_registered_redirect_uri(verifier: Verifier) -> None:
    """One character is appended."""
    name, registered = "redirect_uri", CALLBACK
    if verifier.mode != "fragment":
        name, registered = "response_uri", verifier.receiver.uri

    verifier.is_turned_away(**{name: registered + "/"})
