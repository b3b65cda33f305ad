"""The verifier of the verification endpoint, tested with the table of forgeries for all verifiers."""

import base64
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

from tests.forgery import CLIENT_ID, HONEST, NONCE, NOW, TAMPERINGS, Forger, Tampering, der
from wallet.credential.trust_policy import CHECKS, TrustPolicy
from wallet.sd_jwt.issuance import SdJwtError

MOMENT = datetime.fromtimestamp(NOW, UTC)


@dataclass
class Trusted:
    public_key: ec.EllipticCurvePublicKey
    x5c: tuple[str, ...]
    not_after: datetime = MOMENT + timedelta(days=1)


def policy(forger: Forger, **changes: Any) -> TrustPolicy:
    x5c = tuple(base64.b64encode(der(each)).decode() for each in (forger.leaf, forger.issuing))
    keys = {forger.kid: Trusted(forger.signing_key.public_key(), x5c, **changes)}
    return TrustPolicy(forger.base_url, f"{forger.base_url}/credential-types/identity/v1", keys.get)


def verify(
    tampering: Tampering, forger: Forger, trusted: TrustPolicy | None = None, passed: Any = None
) -> dict[str, Any]:
    expected = {"clientId": CLIENT_ID, "nonce": NONCE, "transactionData": []} | tampering.expect
    return (trusted or policy(forger)).verify(
        forger.present(tampering),
        audience=expected["clientId"],
        nonce=expected["nonce"],
        transaction_data=expected["transactionData"],
        now=MOMENT,
        passed=passed or (lambda check: None),
    )


@pytest.mark.parametrize("name", HONEST)
def test_what_nobody_tampered_with_is_believed_and_passes_every_check_in_their_order(name: str) -> None:
    passed: list[str] = []
    verified = verify(HONEST[name], Forger(), passed=passed.append)

    assert (*passed, "status") == CHECKS
    assert verified["given_name"] == "Alice"
    assert verified["age_equal_or_over"] == {"18": True}


# This verifier checks neither the requested claims nor the published list.
FORGERIES = [name for name, each in TAMPERINGS.items() if each.failing[0] not in ("claims", "status")]


@pytest.mark.parametrize("name", FORGERIES)
def test_every_forgery_is_refused_by_the_check_it_breaks_after_those_before_it(name: str) -> None:
    passed: list[str] = []
    with pytest.raises(SdJwtError) as caught:
        verify(TAMPERINGS[name], Forger(), passed=passed.append)

    assert caught.value.check == TAMPERINGS[name].failing[0]
    assert tuple(passed) == CHECKS[: CHECKS.index(caught.value.check)]


# The OpenID Foundation's modules of the same names (`oid4vp-1final-verifier-…`).
SMALLEST = {"kty", "crv", "x", "y"}
HAPPY = {
    "happy-flow": ("with a holder key that says what it is for", SMALLEST | {"alg", "use", "kid"}),
    "minimal-cnf-jwk": ("as asked", SMALLEST),
}
UNHAPPY = {
    "invalid-credential-signature": ("signed by another key", "issuer-signature"),
    "invalid-kb-jwt-aud": ("for another application", "kb-aud"),
    "invalid-kb-jwt-nonce": ("an old nonce", "kb-nonce"),
    "invalid-kb-jwt-signature": ("bound by another key", "kb-signature"),
    "invalid-sd-hash": ("bound to other disclosures", "kb-sd-hash"),
    "kb-jwt-iat-in-future": ("a binding from the future", "kb-iat"),
    "kb-jwt-iat-in-past": ("an old binding", "kb-iat"),
}


@pytest.mark.parametrize("module", HAPPY)
def test_the_foundations_good_presentations_are_believed(module: str) -> None:
    """Its other three modules do not test the verification of tokens.

    `invalid-session-transcript` is about mdoc, which this service does not issue. `request-uri-fetched-twice`
    and `request-uri-method-post` are about wallets that fetch a verifier's request object, which the relying
    application serves.
    """
    name, members = HAPPY[module]
    assert verify(HONEST[name], Forger())["cnf"]["jwk"].keys() == members


@pytest.mark.parametrize("module", UNHAPPY)
def test_the_foundations_bad_presentations_are_refused(module: str) -> None:
    name, check = UNHAPPY[module]
    with pytest.raises(SdJwtError) as caught:
        verify(TAMPERINGS[name], Forger())
    assert caught.value.check == check


def test_a_key_whose_certificates_have_ended_is_not_believed() -> None:
    forger = Forger()
    with pytest.raises(SdJwtError) as caught:
        verify(HONEST["as asked"], forger, policy(forger, not_after=MOMENT))
    assert caught.value.check == "certificate-chain"


def test_a_kid_that_is_no_text_is_refused() -> None:
    forger = Forger()
    for kid in (7, [forger.kid], {"kid": forger.kid}, True):
        tampering = Tampering([], issue=lambda header, *_, kid=kid: header.update(kid=kid))
        with pytest.raises(SdJwtError) as caught:
            verify(tampering, forger)
        assert caught.value.check == "kid"


FORGER = Forger()
GOOD = FORGER.present(HONEST["as asked"])


@given(st.integers(0, len(GOOD) - 1), st.sampled_from("~.-_aA0="))
def test_one_character_changed_anywhere_is_refused_or_changes_nothing(place: int, character: str) -> None:
    changed = GOOD[:place] + character + GOOD[place + 1 :]
    if changed == GOOD:
        return
    with pytest.raises(SdJwtError) as caught:
        policy(FORGER).verify(changed, audience=CLIENT_ID, nonce=NONCE, now=MOMENT, passed=lambda check: None)
    assert caught.value.check in CHECKS
