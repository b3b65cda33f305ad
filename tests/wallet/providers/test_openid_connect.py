"""Verifying somebody with an OpenID provider, against a real one (oidc-provider) that can also lie."""

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from infra.sealing import unseal
from tests.wallet.providers.openid_providers import SECRET as CLIENT_SECRET
from tests.wallet.providers.openid_providers import OpenIDProvider, settings_for
from wallet.claims import Identity
from wallet.evidence import Assurance
from wallet.identity import attempts, found, progress
from wallet.models import Credential, Errand, Evidence, IdentityVerification, Wallet
from wallet.providers import registry

pytestmark = [pytest.mark.node, pytest.mark.django_db]


@pytest.fixture(scope="module")
def running() -> Iterator[OpenIDProvider]:
    provider = OpenIDProvider()
    yield provider
    provider.close()


@pytest.fixture
def bank(running: OpenIDProvider, settings: Any) -> OpenIDProvider:
    """The provider, configured as `bank` and honest; what this process knew of it is forgotten."""
    running.play()
    registry._loaded.cache_clear()
    configure(settings, running)
    return running


def configure(settings: Any, provider: OpenIDProvider, **changes: str | None) -> None:
    settings.IDENTITY_PROVIDERS = {"bank": settings_for(provider, **changes)}


def begun(nora: Wallet, errand: Errand, now: datetime) -> tuple[IdentityVerification, str]:
    """An attempt with the bank that has begun, and the address where it is done."""
    attempt = attempts.attempt(nora, errand, "bank", now=now)
    return attempt, progress.begin(attempt, now=now)


def path_of(address: str | None) -> str:
    """The path and the query, as the test client takes them."""
    assert address is not None
    parts = urlsplit(address)
    return f"{parts.path}?{parts.query}"


def now_in(attempt: IdentityVerification) -> tuple[str, str]:
    attempt.refresh_from_db()
    return attempt.state, attempt.reason


@pytest.fixture
def go(bank: OpenIDProvider, nora: Wallet, errand: Errand, client: Client, now: datetime) -> Any:
    """Nora goes the whole way while the provider plays `mode`; gives the attempt."""

    def go(mode: str = "good", **facts: Any) -> IdentityVerification:
        bank.play(mode, **facts)
        attempt, address = begun(nora, errand, now)
        response = client.get(path_of(bank.visit(address)))
        assert response.status_code == 303
        attempt.refresh_from_db()
        return attempt

    return go


# --- Good ends ---------------------------------------------------------------------------------------------


def test_a_verified_person_gets_a_credential_with_evidence(go: Any) -> None:
    attempt = go()
    assert now_in(attempt) == ("approved", "")
    credential = Credential.objects.get()
    assert credential.verification == attempt
    evidence = Evidence.objects.get(verification=attempt)
    assert (evidence.method, evidence.trust_framework, evidence.assurance_level) == (
        "electronic",
        "eidas",
        "high",
    )
    assert (evidence.document_kind, evidence.issuing_country) == ("idcard", "SE")
    assert evidence.document_expires_on == date(2039, 1, 1)
    assert (evidence.verified_by, evidence.verified_at) == ("The Bank", datetime(2026, 1, 20, 10, tzinfo=UTC))


CLIENTS = {
    "a client that signs": {},
    "client_secret_basic": {"client_id": "basic client", "client_key": None, "client_secret": CLIENT_SECRET},
    "client_secret_post": {
        "client_id": "posting",
        "client_key": None,
        "client_secret": CLIENT_SECRET,
        "client_auth": "client_secret_post",
    },
    "signed UserInfo": {"client_id": "signed-userinfo", "client_key": None, "client_secret": CLIENT_SECRET},
    "assertions for the token endpoint": {"client_assertion_audience": "token_endpoint"},
}


@pytest.mark.parametrize("changes", CLIENTS.values(), ids=CLIENTS.keys())
def test_each_kind_of_client_is_known_to_the_provider(
    bank: OpenIDProvider, go: Any, settings: Any, changes: dict[str, Any]
) -> None:
    configure(settings, bank, **changes)
    before = bank.calls("/request")
    assert now_in(go()) == ("approved", "")
    assert bank.calls("/request") > before  # the provider takes pushed requests


def test_a_request_that_is_not_pushed_says_everything_in_the_address(
    bank: OpenIDProvider, settings: Any, nora: Wallet, errand: Errand, client: Client, now: datetime
) -> None:
    configure(settings, bank, **CLIENTS["client_secret_basic"], pushed="false", acr_values="urn:test:strong")
    before = bank.calls("/request")
    attempt, address = begun(nora, errand, now)
    asked = {name: value for name, [value] in parse_qs(urlsplit(address).query).items()}
    assert asked.keys() == {
        *("response_type", "client_id", "redirect_uri", "scope", "state", "nonce", "acr_values", "claims"),
        *("code_challenge", "code_challenge_method"),
    }
    assert (asked["scope"], asked["code_challenge_method"]) == ("openid", "S256")
    assert json.loads(asked["claims"]) == {
        "userinfo": {
            "verified_claims": {
                "verification": {
                    "trust_framework": {"value": "eidas"},
                    "assurance_level": {"values": ["substantial", "high"]},
                    "time": None,
                    "evidence": [
                        {
                            "type": {"value": "document"},
                            "document_details": {
                                "type": None,
                                "document_number": None,
                                "issuer": {"country_code": None},
                                "date_of_expiry": None,
                            },
                        }
                    ],
                },
                "claims": {"given_name": None, "family_name": None, "birthdate": None, "nationalities": None},
            }
        }
    }
    client.get(path_of(bank.visit(address)))
    assert now_in(attempt) == ("approved", "")
    assert bank.calls("/request") == before


def test_with_identity_assurance_only_the_verified_claims_count(go: Any, nora: Wallet) -> None:
    """Beside them stands what the person typed: another name and another birth date."""
    go()
    assert identity_of(nora) == ("Ärla", "O’Neill", date(1990, 2, 1), ("SE", "IE"))


def test_of_several_verified_claims_one_is_taken_whole(go: Any, nora: Wallet) -> None:
    assert now_in(go("array")) == ("approved", "")
    assert identity_of(nora) == ("Ärla", "O’Neill", date(1990, 2, 1), ("SE", "IE"))


def test_a_provider_without_identity_assurance_is_believed_where_the_operator_says_so(
    bank: OpenIDProvider, go: Any, settings: Any, nora: Wallet
) -> None:
    levels = "urn:test:weak=low urn:test:strong=substantial"
    plain = {"identity_assurance": "false", "assurance": "eidas low", "acr_accepted": levels}
    plain["acr_values"] = "urn:test:strong urn:test:weak"
    configure(settings, bank, **plain)
    attempt = go("plain")
    assert now_in(attempt) == ("approved", "")
    assert identity_of(nora) == ("Ärla", "O’Neill", date(1990, 2, 1), ("SE", "IE"))
    evidence = Evidence.objects.get(verification=attempt)
    assert (evidence.trust_framework, evidence.assurance_level) == ("eidas", "substantial")
    assert (evidence.document_kind, evidence.document_expires_on) == ("", None)


def identity_of(wallet: Wallet) -> tuple[str, str, date, tuple[str, ...]]:
    credential = Credential.objects.get(wallet=wallet)
    text = unseal(credential.sealed_identity, context=f"wallet_credential.sealed_identity:{credential.pk}")
    identity = Identity.from_json(text)
    return identity.given_name, identity.family_name, identity.birth_date, identity.nationalities


# --- Other ends --------------------------------------------------------------------------------------------

ENDS = {
    "denied": ("cancelled", "stopped"),
    "too-weak": ("cancelled", "too_low"),
    "broken": ("error", "provider_failed"),
    "missing": ("cancelled", "claims_missing"),
    "low": ("cancelled", "too_low"),
    "halves": ("cancelled", "claims_missing"),
    "aud-array": ("approved", ""),
    "good-at-hash": ("approved", ""),
    **dict.fromkeys(
        (
            *("wrong-nonce", "no-nonce", "wrong-iss", "wrong-aud", "aud-and-other", "aud-other-azp-ours"),
            *("wrong-azp", "expired", "no-exp", "iat-1970", "iat-future", "wrong-at-hash", "no-sub"),
            *("wrong-key", "unknown-key", "alg-none", "alg-hs256", "no-id-token", "other-sub"),
            *("userinfo-500", "userinfo-text"),
        ),
        ("error", "provider_failed"),
    ),
}


@pytest.mark.parametrize("mode", ENDS)
def test_what_the_provider_does_has_one_end(go: Any, mode: str) -> None:
    attempt = go(mode)
    assert now_in(attempt) == ENDS[mode]
    assert Credential.objects.exists() == (ENDS[mode][0] == "approved")
    assert attempt.sealed_memory is None
    assert attempt.submissions == (ENDS[mode][0] == "approved")  # nothing else is charged


UNREADABLE = {
    "a year of birth": {"birthdate": "1990"},
    "a birth date without a year": {"birthdate": "0000-02-01"},
    "a day of birth that is not known": {"birthdate": "1990-00-00"},
    "a birth date to come": {"birthdate": "2999-01-01"},
    "a name that is too long": {"given_name": "x" * 151},
    "a name that is no text": {"family_name": ["Smith"]},
    "a country that nobody knows": {"nationalities": ["QQQ"]},
}


@pytest.mark.parametrize("person", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_odd_details_go_to_review_with_the_evidence(go: Any, person: dict[str, Any]) -> None:
    attempt = go(person=person)
    assert now_in(attempt) == ("review", "unreadable")
    identity, evidence = found.opened(attempt)
    assert identity is None
    assert evidence is not None
    assert evidence.assurance == Assurance("eidas", "high")


def test_a_document_whose_end_cannot_be_read_goes_to_review_with_the_identity(go: Any) -> None:
    details = {"type": "idcard", "date_of_expiry": "next year"}
    evidence = [{"type": "document", "document_details": details}]
    attempt = go(verification={"evidence": evidence})
    assert now_in(attempt) == ("review", "unreadable")
    identity, _evidence = found.opened(attempt)
    assert identity is not None


def test_a_document_that_has_ended_goes_to_review(go: Any) -> None:
    details = {"type": "idcard", "date_of_expiry": "2020-01-01"}
    attempt = go(verification={"evidence": [{"type": "document", "document_details": details}]})
    assert now_in(attempt) == ("review", "document_expired")


@pytest.mark.parametrize("person", [{"family_name": None}, {"birthdate": None}])
def test_details_that_are_not_there_send_the_person_to_another_provider(go: Any, person: Any) -> None:
    assert now_in(go(person=person)) == ("cancelled", "claims_missing")


def test_a_sign_in_that_is_too_weak_is_not_believed(bank: OpenIDProvider, go: Any, settings: Any) -> None:
    configure(settings, bank, acr_values="urn:test:strong")
    assert now_in(go(acr="urn:test:weak")) == ("cancelled", "too_low")


def test_a_verification_of_the_future_does_not_count(go: Any) -> None:
    assert now_in(go(verification={"time": "2999-01-01T00:00Z"})) == ("cancelled", "too_low")
