"""Verifying somebody with an OpenID provider, against a real one (oidc-provider) that can also lie."""

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from django.test import Client
from django.utils import timezone
from joserfc.jwk import ECKey

from infra import waiting
from infra.sealing import unseal
from infra.waiting import waiting_for
from tests.wallet.conftest import together
from tests.wallet.providers.openid_providers import SECRET, OpenIDProvider, client_key, settings_for
from wallet.credential import credentials
from wallet.credential.birth_dates import PartialDate
from wallet.credential.claims import Identity
from wallet.credential.evidence import Assurance
from wallet.identity import attempts, progress, sealed_findings, sweeping
from wallet.identity.state_machine import ForbiddenMoveError
from wallet.models import Credential, IdentityEvidence, IdentityVerification, RedirectTask, Wallet
from wallet.providers import registry
from wallet.providers.contract import Message, MessageRefusedError, ProviderError
from wallet.providers.openid_connect import discovery

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


def begun(nora: Wallet, redirect_task: RedirectTask, now: datetime) -> tuple[IdentityVerification, str]:
    """An attempt with the bank that has begun, and the address where it is done."""
    attempt = attempts.attempt(nora, redirect_task, "bank", now=now)
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
def go(bank: OpenIDProvider, nora: Wallet, redirect_task: RedirectTask, client: Client, now: datetime) -> Any:
    """Nora goes the whole way while the provider plays `mode`; gives the attempt."""

    def go(mode: str = "good", **facts: Any) -> IdentityVerification:
        bank.play(mode, **facts)
        attempt, address = begun(nora, redirect_task, now)
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
    evidence = IdentityEvidence.objects.get(verification=attempt)
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
    "client_secret_basic": {"client_id": "basic client", "client_key": None, "client_secret": SECRET},
    "client_secret_post": {
        "client_id": "posting",
        "client_key": None,
        "client_secret": SECRET,
        "client_auth": "client_secret_post",
    },
    "signed UserInfo": {"client_id": "signed-userinfo", "client_key": None, "client_secret": SECRET},
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
    bank: OpenIDProvider,
    settings: Any,
    nora: Wallet,
    redirect_task: RedirectTask,
    client: Client,
    now: datetime,
) -> None:
    configure(settings, bank, **CLIENTS["client_secret_basic"], pushed="false", acr_values="urn:test:strong")
    before = bank.calls("/request")
    attempt, address = begun(nora, redirect_task, now)
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
    evidence = IdentityEvidence.objects.get(verification=attempt)
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
    "a birth date without a year": {"birthdate": "0000-02-01"},
    "a day of birth in an unknown month": {"birthdate": "1990-00-12"},
    "a year of birth to come": {"birthdate": "2999"},
    "a birth date to come": {"birthdate": "2999-01-01"},
    "a name that is too long": {"given_name": "n" * 151},
    "a name that is no text": {"family_name": ["Smith"]},
    "a country that nobody knows": {"nationalities": ["QQQ"]},
}


@pytest.mark.parametrize("person", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_odd_details_go_to_review_with_the_evidence(go: Any, person: dict[str, Any]) -> None:
    attempt = go(person=person)
    assert now_in(attempt) == ("review", "unreadable")
    identity, evidence, _typed = sealed_findings.unseal(attempt)
    assert identity is None
    assert evidence is not None
    assert evidence.assurance == Assurance("eidas", "high")


@pytest.mark.parametrize(
    ("written", "known"),
    [("1990", PartialDate(1990)), ("1990-00-00", PartialDate(1990)), ("1990-04-XX", PartialDate(1990, 4))],
)
def test_a_birth_date_of_which_a_part_is_unknown_is_taken_as_far_as_it_is_known(
    go: Any, written: str, known: PartialDate
) -> None:
    attempt = go(person={"birthdate": written})
    assert now_in(attempt) == ("approved", "")
    assert identity_of(attempt.wallet)[2] == known


def test_a_document_whose_end_cannot_be_read_goes_to_review_with_the_identity(go: Any) -> None:
    details = {"type": "idcard", "date_of_expiry": "next year"}
    evidence = [{"type": "document", "document_details": details}]
    attempt = go(verification={"evidence": evidence})
    assert now_in(attempt) == ("review", "unreadable")
    identity, _evidence, _typed = sealed_findings.unseal(attempt)
    assert identity is not None


def test_a_document_that_has_ended_goes_to_review(go: Any) -> None:
    details = {"type": "idcard", "date_of_expiry": "2020-01-01"}
    attempt = go(verification={"evidence": [{"type": "document", "document_details": details}]})
    assert now_in(attempt) == ("review", "document_expired")


@pytest.mark.parametrize(
    "person",
    [{"family_name": None, "given_name": "-"}, {"family_name": "", "given_name": ""}, {"birthdate": None}],
)
def test_details_that_are_not_there_send_the_person_to_another_provider(go: Any, person: Any) -> None:
    assert now_in(go(person=person)) == ("cancelled", "claims_missing")


@pytest.mark.parametrize("nothing", [None, "", " ", "-", "XXX", "N/A"])
@pytest.mark.parametrize("missing", ["given_name", "family_name"])
def test_who_has_one_name_is_verified_with_it(go: Any, missing: str, nothing: Any) -> None:
    attempt = go(person={missing: nothing})
    assert now_in(attempt) == ("approved", "")
    shown = credentials.preview(Credential.objects.get(), [(missing,)], today=timezone.localdate())
    assert str(shown[0].value) == "(none)"


def test_a_sign_in_that_is_too_weak_is_not_believed(bank: OpenIDProvider, go: Any, settings: Any) -> None:
    configure(settings, bank, acr_values="urn:test:strong")
    assert now_in(go(acr="urn:test:weak")) == ("cancelled", "too_low")


def test_a_verification_of_the_future_does_not_count(go: Any) -> None:
    assert now_in(go(verification={"time": "2999-01-01T00:00Z"})) == ("cancelled", "too_low")


# --- The browser's return ----------------------------------------------------------------------------------


@pytest.fixture
def back(
    bank: OpenIDProvider, nora: Wallet, redirect_task: RedirectTask, now: datetime
) -> tuple[Any, dict[str, str]]:
    """An attempt whose person is done at the provider, and the parameters that the browser brings back."""
    attempt, address = begun(nora, redirect_task, now)
    left_to = urlsplit(bank.visit(address) or "")
    return attempt, {name: value for name, [value] in parse_qs(left_to.query).items()}


def bring(client: Client, parameters: dict[str, str], more: str = "") -> int:
    """The browser comes back with these parameters; gives the status of the answer."""
    response = client.get(f"/wallet/identity/bank/return/?{urlencode(parameters)}{more}")
    return int(response.status_code)


REFUSED = {
    "a made-up state": {"state": "x" * 43},
    "no state": {"state": None},
    "a state that is none": {"state": "é"},
    "another issuer": {"iss": "https://evil.example"},
    "no issuer": {"iss": None},
    "neither code nor error": {"code": None},
    "both code and error": {"error": "access_denied"},
    "a code that is too long": {"code": "x" * 4097},
    "a code with a line break": {"code": "x\ny"},
}


@pytest.mark.parametrize("changes", REFUSED.values(), ids=REFUSED.keys())
def test_a_response_that_is_not_ours_changes_nothing(back: Any, client: Client, changes: Any) -> None:
    attempt, parameters = back
    before = IdentityVerification.objects.values().get()
    forged = {name: value for name, value in (parameters | changes).items() if value is not None}
    assert bring(client, forged) == 303
    assert IdentityVerification.objects.values().get() == before
    assert bring(client, parameters) == 303
    assert now_in(attempt) == ("approved", "")


def test_a_repeated_parameter_is_refused(back: Any, client: Client) -> None:
    attempt, parameters = back
    assert bring(client, parameters, "&code=another") == 303
    assert now_in(attempt) == ("started", "")


def test_a_response_brought_twice_redeems_the_code_once(
    bank: OpenIDProvider, back: Any, client: Client
) -> None:
    attempt, parameters = back
    before = bank.calls("/token")
    bring(client, parameters)
    assert bring(client, parameters) == 303
    assert now_in(attempt) == ("approved", "")
    assert bank.calls("/token") == before + 1


def test_a_second_code_for_the_same_state_is_refused(bank: OpenIDProvider, back: Any, client: Client) -> None:
    attempt, parameters = back
    with bank.down():
        bring(client, parameters)
        assert bring(client, parameters | {"code": "another"}) == 303
        assert progress.check_of(IdentityVerification.objects.get()).memory["code"] == parameters["code"]
        # The same response once more only asks for the result again.
        assert bring(client, parameters) == 303
    progress.refresh(IdentityVerification.objects.get(), now=timezone.now())
    assert now_in(attempt) == ("approved", "")


def test_a_response_in_another_browser_ends_the_check(bank: OpenIDProvider, back: Any) -> None:
    attempt, parameters = back
    before = bank.calls("/token")
    assert bring(Client(), parameters) == 403
    assert now_in(attempt) == ("cancelled", "other_browser")
    assert bank.calls("/token") == before
    assert not Credential.objects.exists()


def test_who_begins_again_leaves_the_earlier_request_behind(
    bank: OpenIDProvider, back: Any, client: Client
) -> None:
    attempt, parameters = back
    address = progress.go_on(attempt, now=timezone.now())
    assert bring(client, parameters) == 303
    assert now_in(attempt) == ("started", "")
    client.get(path_of(bank.visit(address)))
    assert now_in(attempt) == ("approved", "")


def test_who_never_comes_back_is_asked_about_without_a_call(
    bank: OpenIDProvider, nora: Wallet, redirect_task: RedirectTask, now: datetime
) -> None:
    bank.play("never")
    attempt, address = begun(nora, redirect_task, now)
    assert bank.visit(address) is None
    before = bank.calls("/token")
    sweeping.sweep(now=now + timedelta(hours=1))
    assert now_in(attempt) == ("started", "")
    sweeping.sweep(now=now + timedelta(hours=25))
    assert now_in(attempt) == ("abandoned", "")
    assert bank.calls("/token") == before


def test_a_code_that_nobody_redeemed_is_redeemed_by_the_sweep(
    bank: OpenIDProvider, back: Any, client: Client
) -> None:
    attempt, parameters = back
    with bank.down():
        bring(client, parameters)
    an_hour_ago = timezone.now() - timedelta(hours=1)
    IdentityVerification.objects.update(changed_at=an_hour_ago, asked_at=an_hour_ago)
    sweeping.sweep(now=timezone.now())
    assert now_in(attempt) == ("approved", "")


# --- A provider in trouble ---------------------------------------------------------------------------------


def test_while_the_provider_is_down_a_check_does_not_begin(
    bank: OpenIDProvider, nora: Wallet, redirect_task: RedirectTask, now: datetime
) -> None:
    with bank.down(), pytest.raises(ProviderError):
        begun(nora, redirect_task, now)
    assert IdentityVerification.objects.get().state == "created"


@pytest.mark.parametrize("mode", ["lying-issuer", "lying-endpoint", "metadata-array"])
def test_metadata_that_lies_is_not_used(
    bank: OpenIDProvider, nora: Wallet, redirect_task: RedirectTask, now: datetime, mode: str
) -> None:
    bank.play(mode)
    with pytest.raises(ProviderError):
        begun(nora, redirect_task, now)
    bank.play()
    _attempt, address = begun(nora, redirect_task, now)
    assert address.startswith(f"{bank.issuer}/auth?")


def test_a_code_that_was_used_up_without_an_answer_costs_no_try(
    bank: OpenIDProvider, back: Any, client: Client
) -> None:
    attempt, parameters = back
    with bank.slow("slow-token"):
        bring(client, parameters)
    assert now_in(attempt) == ("started", "")
    progress.refresh(attempt, now=timezone.now())
    assert now_in(attempt) == ("error", "provider_failed")
    assert attempt.submissions == 0
    assert not Credential.objects.exists()


@pytest.mark.parametrize("mode", ["token-array", "redirect", "huge"])
def test_an_answer_that_makes_no_sense_verifies_nobody(
    bank: OpenIDProvider, back: Any, client: Client, mode: str
) -> None:
    attempt, parameters = back
    bank.play(mode)
    bring(client, parameters)
    assert now_in(attempt) == ("started", "")
    bank.play()
    progress.refresh(attempt, now=timezone.now())
    assert now_in(attempt) == ("error", "provider_failed")  # the provider knows the code as used


def test_a_check_begun_with_another_issuer_fails_uncharged(
    bank: OpenIDProvider, back: Any, client: Client, settings: Any
) -> None:
    attempt, parameters = back
    with bank.down():
        bring(client, parameters)
    configure(settings, bank, issuer="http://127.0.0.1:1/another")
    progress.refresh(attempt, now=timezone.now())
    assert now_in(attempt) == ("error", "provider_changed")


def test_after_an_error_the_person_begins_anew(go: Any) -> None:
    attempt = go("wrong-key")
    assert now_in(attempt) == ("error", "provider_failed")
    assert now_in(go()) == ("approved", "")


def test_a_new_key_of_the_provider_is_read_when_a_token_names_it(
    bank: OpenIDProvider, go: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert now_in(go("wrong-key")) == ("error", "provider_failed")  # from here on the old keys are known
    monkeypatch.setattr(discovery, "KEYS_AGAIN_AFTER", 0.0)
    before = bank.calls("/jwks")
    assert now_in(go("new-key")) == ("approved", "")
    assert bank.calls("/jwks") == before + 1


def test_signed_userinfo_for_somebody_else_is_refused(bank: OpenIDProvider, go: Any, settings: Any) -> None:
    configure(settings, bank, **CLIENTS["signed UserInfo"])
    assert now_in(go("userinfo-aud")) == ("error", "provider_failed")


def test_nothing_of_the_operators_own_files_is_sent(
    go: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`requests` would take passwords from a .netrc, and proxies from the environment."""
    netrc = tmp_path / "netrc"
    netrc.write_text("default login operator password secret")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    assert now_in(go()) == ("approved", "")


def test_made_up_key_names_do_not_cause_calls(bank: OpenIDProvider, go: Any) -> None:
    before = bank.calls("/jwks")
    for _time in range(3):
        assert now_in(go("unknown-key")) == ("error", "provider_failed")
    assert bank.calls("/jwks") == before + 1


def test_a_provider_that_enough_threads_wait_for_is_not_called(
    bank: OpenIDProvider, nora: Wallet, redirect_task: RedirectTask, now: datetime
) -> None:
    party = "identity provider bank"
    with waiting_for(party), waiting_for(party), pytest.raises(ProviderError):
        begun(nora, redirect_task, now)
    begun(nora, redirect_task, now)


def test_nothing_secret_is_logged(bank: OpenIDProvider, back: Any, client: Client, capsys: Any) -> None:
    attempt, parameters = back
    memory = progress.check_of(attempt).memory
    bank.play("wrong-nonce")
    bring(client, parameters)
    log = capsys.readouterr().err
    assert "openid_code_not_redeemed" in log
    for secret in (parameters["code"], parameters["state"], memory["nonce"], memory["verifier"], "O’Neill"):
        assert secret not in log


# --- The keys of this service ------------------------------------------------------------------------------


def test_a_provider_can_read_the_public_keys(bank: OpenIDProvider, settings: Any, client: Client) -> None:
    next_key = generate_private_key(SECP256R1())
    pem = next_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    configure(settings, bank, next_client_key=pem, next_client_key_id="next")
    response = client.get("/wallet/identity/bank/callback/keys")
    assert (response.status_code, response["Content-Type"]) == (200, "application/jwk-set+json")
    keys = response.json()["keys"]
    assert [key["kid"] for key in keys] == [ECKey.import_key(client_key()).thumbprint(), "next"]
    assert all(key.keys() == {"kty", "crv", "x", "y", "kid", "alg", "use"} for key in keys)


def test_a_client_with_a_secret_has_no_keys(bank: OpenIDProvider, settings: Any, client: Client) -> None:
    configure(settings, bank, **CLIENTS["client_secret_basic"])
    assert client.get("/wallet/identity/bank/callback/keys").status_code == 404


@pytest.mark.parametrize("path", ["", "other", "keys/x"])
def test_there_is_nothing_else_to_call(bank: OpenIDProvider, client: Client, path: str) -> None:
    assert client.get(f"/wallet/identity/bank/callback/{path}").status_code == 404
    assert client.post("/wallet/identity/bank/callback/keys").status_code == 404


# --- At once -----------------------------------------------------------------------------------------------


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_returns_and_sweeps_at_once_redeem_the_code_once(
    bank: OpenIDProvider, back: Any, now: datetime
) -> None:
    attempt, parameters = back
    before = bank.calls("/token")
    browser = attempt.redirect_task.browser
    message = Message(True, "GET", "", parameters, {}, b"")
    later = now + timedelta(minutes=6)

    def work(number: int) -> object:
        if number % 2:
            return sweeping.sweep(now=later)
        return progress.receive("bank", message, browser=browser, now=later)

    outcomes = together(work)
    unexpected = [o for o in outcomes if isinstance(o, Exception) and not isinstance(o, MessageRefusedError)]
    assert unexpected == []
    # Where a sweep asked just before the code was there, the page that the browser is sent to asks again.
    progress.refresh(IdentityVerification.objects.get(id=attempt.id), now=later)
    assert now_in(attempt) == ("approved", "")
    assert bank.calls("/token") == before + 1
    assert Credential.objects.count() == 1
    moves = attempt.transitions.values_list("to_state", flat=True)
    assert list(moves) == ["created", "started", "submitted", "processing", "approved"]


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_a_return_and_a_new_beginning_at_once_one_counts(
    back: Any, now: datetime, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    # All four may call the provider at once, so that none is turned away for another reason.
    settings.WEB_THREADS = 8
    monkeypatch.setattr(waiting, "MOST_FOR_ONE", 4)
    attempt, parameters = back
    message = Message(True, "GET", "", parameters, {}, b"")

    def work(number: int) -> object:
        mine = IdentityVerification.objects.select_related("redirect_task", "wallet").get(id=attempt.id)
        if number % 2:
            return progress.go_on(mine, now=now)
        return progress.receive("bank", message, browser=mine.redirect_task.browser, now=now)

    outcomes = together(work, 4)
    expected = (MessageRefusedError, ForbiddenMoveError)
    assert [o for o in outcomes if isinstance(o, Exception) and not isinstance(o, expected)] == []
    assert now_in(attempt)[0] in ("approved", "started")
    assert Credential.objects.count() == (now_in(attempt)[0] == "approved")


# --- The pages ---------------------------------------------------------------------------------------------
