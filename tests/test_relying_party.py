"""Tests of the independent verifier: it accepts the standard's examples and refuses every forgery."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests import forgery
from tests.forgery import HONEST, NOW, TAMPERINGS, WRONG_CHAINS, Forger, Tampering
from tests.relying_party import (
    RejectedError,
    RelyingParty,
    digest,
    disclosed_claims,
    encode,
    read_disclosure,
    read_json,
    read_jwt,
    take_apart,
    verify_key_binding,
    verify_signature,
)
from tests.sd_jwt_vectors import ISSUER_JWK, VECTORS


def published(documents: dict[str, Any]) -> Callable[[str], bytes]:
    def fetch(url: str) -> bytes:
        document = documents.get(urlsplit(url).path)
        if document is None:
            raise RejectedError("status", f"{url} answered 404")
        return (document if isinstance(document, str) else json.dumps(document)).encode()

    return fetch


def acme_bank(forger: Forger, **options: Any) -> RelyingParty:
    """Acme Bank, which has just sent the request that the forger answers."""
    party = RelyingParty(
        forgery.CLIENT_ID,
        forgery.REDIRECT_URI,
        forgery.BASE_URL,
        fetch=lambda url: published(forger.documents())(url),  # the current ones
        trusted_root=forgery.der(forger.root),
        **options,
    )
    party.authorize_url(nonce=forgery.NONCE, state=None)
    return party


def sent_transactions(tampering: Tampering) -> str | None:
    return " ".join(tampering.expect.get("transactionData", [])) or None


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: f"line {vector['line']}")
def test_the_examples_of_rfc_9901_are_accepted(vector: dict[str, Any]) -> None:
    jwt_text, *encoded, _last = vector["serialized"].split("~")
    jwt = read_jwt(jwt_text)
    disclosures = [read_disclosure(each) for each in encoded]
    assert (jwt.header, jwt.payload) == (vector["header"], vector["payload"])
    assert [each.content for each in disclosures] == vector["disclosures"]
    verify_signature(jwt, ISSUER_JWK, "issuer-signature")
    assert disclosed_claims(jwt, disclosures)


@pytest.mark.parametrize(
    ("line", "nonce", "audience"),
    [
        (1164, "1234567890", "https://verifier.example.org"),
        (3549, "1234567890", "https://verifier.example.org"),
        (3900, "1234567890", "https://verifier.example.org"),
    ],
)
def test_the_key_bindings_of_rfc_9901_are_accepted(line: int, nonce: str, audience: str) -> None:
    token = next(vector["serialized"] for vector in VECTORS if vector["line"] == line)
    jwt, _disclosures, binding, bound = take_apart(token)
    made = binding.payload["iat"]
    verify_key_binding(jwt, binding, bound, audience=audience, nonce=nonce, now=made)
    with pytest.raises(RejectedError, match="kb-sd-hash"):
        verify_key_binding(jwt, binding, bound[:-1], audience=audience, nonce=nonce, now=made)


def test_the_recursive_example_of_rfc_9901_discloses_one_age_and_one_nationality() -> None:
    token = next(vector["serialized"] for vector in VECTORS if vector["line"] == 3549)
    jwt, disclosures, _binding, _bound = take_apart(token)
    claims = disclosed_claims(jwt, disclosures)
    assert claims["age_equal_or_over"] == {"18": True}
    assert claims["nationalities"] == ["DE"]


@pytest.mark.parametrize("name", HONEST)
def test_a_valid_presentation_is_accepted(name: str) -> None:
    forger = Forger()
    party = acme_bank(forger)
    party.sent["transaction_data"] = sent_transactions(HONEST[name])
    claims = party.verify(forger.present(HONEST[name]), now=NOW)
    assert claims == {"given_name": "Alice", "family_name": "Müller", "age_equal_or_over": {"18": True}}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_a_tampered_presentation_is_refused_for_the_right_reason(name: str) -> None:
    forger, tampering = Forger(), TAMPERINGS[name]
    party = acme_bank(forger)
    party.sent["transaction_data"] = sent_transactions(tampering)
    with pytest.raises(RejectedError) as refused:
        party.verify(forger.present(tampering), now=NOW)
    assert refused.value.check == tampering.failing[0]


def _same_salt(_header: Any, _payload: Any, shown: list[str]) -> None:
    salt = read_json(shown[0])[0]
    for place, text in enumerate(shown[:2]):
        shown[place] = encode(json.dumps([salt, *read_json(text)[1:]]).encode())
    _payload["_sd"][:2] = [digest(text) for text in shown[:2]]


# Refused by the conformance suite beyond RFC 9901. The playground's verifier is less strict.
REFUSED_BY_THE_SUITE = {
    "a key in the binding's header": Tampering(["kb-typ"], bind=lambda header, _: header.update(kid="x")),
    "more than a key in cnf": Tampering(
        ["kb-signature"], issue=lambda _h, payload, _s: payload["cnf"].update(kid="x")
    ),
    "a private member in cnf": Tampering(
        ["kb-signature"], issue=lambda _h, payload, _s: payload["cnf"]["jwk"].update(d="x")
    ),
    "an unknown member in cnf": Tampering(
        ["kb-signature"], issue=lambda _h, payload, _s: payload["cnf"]["jwk"].update(name="Alice")
    ),
    "a salt twice": Tampering(["disclosures-form"], issue=_same_salt),
}


@pytest.mark.parametrize("name", REFUSED_BY_THE_SUITE)
def test_what_the_openid_conformance_suite_refuses_is_refused(name: str) -> None:
    forger = Forger()
    with pytest.raises(RejectedError) as refused:
        acme_bank(forger).verify(forger.present(REFUSED_BY_THE_SUITE[name]), now=NOW)
    assert refused.value.check == REFUSED_BY_THE_SUITE[name].failing[0]


@pytest.mark.parametrize("name", WRONG_CHAINS)
def test_a_wrong_chain_is_refused(name: str) -> None:
    forger, (chain, check) = Forger(), WRONG_CHAINS[name]
    forger.publish(chain(forger))
    with pytest.raises(RejectedError) as refused:
        acme_bank(forger).verify(forger.present(HONEST["as asked"]), now=NOW)
    assert refused.value.check == check


def test_a_discovery_document_for_another_issuer_is_refused() -> None:
    forger = Forger()
    documents = forger.documents()
    documents["/.well-known/openid-configuration"]["issuer"] = "https://wallet.example/"
    party = acme_bank(forger)
    party.fetch = published(documents)
    with pytest.raises(RejectedError, match="discovery"):
        party.verify(forger.present(HONEST["as asked"]), now=NOW)


def test_a_key_set_with_a_private_member_is_refused() -> None:
    forger = Forger()
    documents = forger.documents()
    documents["/openid-connect/jwks"]["keys"][0]["d"] = "secret"
    party = acme_bank(forger)
    party.fetch = published(documents)
    with pytest.raises(RejectedError, match="kid"):
        party.verify(forger.present(HONEST["as asked"]), now=NOW)


@pytest.mark.parametrize(
    "location",
    [
        "https://bank.example/cb",
        "https://bank.example/other#vp_token=a&state=s",
        "https://bank.example/cb?x=1#vp_token=a&state=s",
        "https://bank.example/cb?vp_token=a&state=s",
        "https://bank.example/cb#vp_token=a",
        "https://bank.example/cb#vp_token=a&state=other",
        "https://bank.example/cb#vp_token=a&vp_token=b&state=s",
        "https://bank.example/cb#vp_token=a&state=s&id_token=x",
        "https://bank.example/cb#vp_token=a&state=s&iss=https%3A%2F%2Fwallet.example",
        "https://bank.example/cb#vp_token=a b&state=s",
        "https://bank.example/cb#vp_token=a|b&state=s",
        "https://bank.example/cb#vp_token=a%2&state=s",
        "https://bank.example/cb#state=s",
        "https://bank.example/cb#error=access_denied&error_description=%22no%22&state=s&iss=https%3A%2F%2Fwallet.example",
        "https://bank.example/cb#error=access_denied&state=s",
        "https://bank.example/cb#error=access_denied&state=s&iss=https%3A%2F%2Fevil.example",
        "https://bank.example/cb#error=access_denied&vp_token=a&state=s",
    ],
)
def test_an_answer_that_breaks_a_rule_is_refused(location: str) -> None:
    party = RelyingParty("acme", "https://bank.example/cb", "https://wallet.example")
    party.authorize_url(state="s")
    with pytest.raises(RejectedError, match="answer"):
        party.read(location)


def test_a_state_that_was_not_sent_may_not_come_back() -> None:
    party = RelyingParty("acme", "https://bank.example/cb", "https://wallet.example")
    party.authorize_url(state=None)
    with pytest.raises(RejectedError, match="state"):
        party.read("https://bank.example/cb#vp_token=a&state=s")
