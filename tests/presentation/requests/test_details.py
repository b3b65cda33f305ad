"""Requests for details that only some identity checks verify: address, place of birth and document."""

from datetime import date, datetime
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.utils import timezone

from presentation.models import RelyingParty
from tests.consent.shown import values_on
from tests.people import DETAILS, NORA, enroll, evidence_of
from tests.presentation.dcql.queries import disclosed, path, query, with_query
from tests.presentation.requests.assurance import EIDAS, leads_to_identity
from tests.presentation.requests.authorization_requests import fragment
from tests.presentation.requests.deciding import SignIn, ask, decide
from wallet.credential import claims
from wallet.identity import settling
from wallet.models import Credential, IdentityVerification, RedirectTask, Wallet
from wallet.providers.contract import Provider
from wallet.providers.findings import Verified

pytestmark = pytest.mark.usefixtures("signing_key", "may_ask_everything")

ADDRESS = {"address": DETAILS["address"]}


class Bank(Provider):
    """A bank that verifies where its customers live."""

    label, needs, takes = "Bank", "A card.", "Two minutes."
    assurances = (EIDAS["low"],)
    details = frozenset({"address", "place_of_birth"})


class Registry(Provider):
    """A registry that knows everything, and well."""

    label, needs, takes = "Registry", "A card.", "Two minutes."
    assurances = (EIDAS["high"],)
    details = frozenset(DETAILS)


class Plain(Provider):
    """A scheme that verifies no details."""

    label, needs, takes = "Plain", "A card.", "Two minutes."
    assurances = (EIDAS["high"],)


@pytest.fixture
def now() -> datetime:
    return timezone.now()


@pytest.fixture(autouse=True)
def providers(settings: Any) -> None:
    names = {"bank": Bank, "registry": Registry, "plain": Plain}
    settings.IDENTITY_PROVIDERS = {
        name: {"type": f"{__name__}.{each.__name__}"} for name, each in names.items()
    }


@pytest.fixture
def may_ask_everything(acme_bank: RelyingParty) -> RelyingParty:
    acme_bank.allowed_claims = list(claims.NAMES)
    acme_bank.save()
    return acme_bank


@pytest.fixture
def eve(db: None) -> Wallet:
    born = date(1990, 4, 1)
    return enroll("eve@example.org", given_name="Eve", family_name="Early", birth_date=born, details=ADDRESS)


def verified_by(provider: str, wallet: Wallet, now: Any, *, details: Any = DETAILS) -> None:
    """The wallet's holder is verified once more, by this provider."""
    attempt = IdentityVerification.objects.create(
        wallet=wallet, state="processing", provider=provider, created_at=now, changed_at=now
    )
    identity = claims.Identity("Alice", "Archer", date(1990, 4, 1), ("GB",), details=details)
    evidence = evidence_of(assurance=EIDAS["high"], verified_at=now, document_number="P7")
    settling.settle(attempt, Verified(identity, evidence), now=now)


def offered_on(text: str) -> list[str]:
    return [name for name in ("bank", "registry", "plain") if f'value="{name}"' in text]


@pytest.mark.parametrize(
    "asked",
    [
        query(path("address")),
        query(path("address", "locality")),
        query(path("address", "country"), path("given_name")),
        query(path("place_of_birth")),
        query(path("place_of_birth", "country")),
    ],
)
def test_a_holder_without_them_is_offered_the_providers_that_verify_them(
    holder: Client, acme_bank: RelyingParty, asked: Any
) -> None:
    page = ask(holder, acme_bank, **with_query(asked))
    text = holder.get(page).content.decode()

    assert leads_to_identity(page)
    assert offered_on(text) == ["bank", "registry"]
    assert "needs a check that also confirms:" in text
    assert Credential.objects.get().state == "valid"


def test_a_person_without_an_identity_is_offered_no_other_provider_either(
    client: Client, acme_bank: RelyingParty, sign_in: SignIn, now: datetime
) -> None:
    sign_in(Wallet.objects.create(email=NORA, created_at=now))

    page = ask(client, acme_bank, login_hint=NORA, **with_query(query(path("document", "number"))))
    text = client.get(page).content.decode()

    assert offered_on(text) == ["registry"]
    assert "if the check that you choose confirms it: Address, Place of birth and Document" in text
    refused = client.post(f"{page}start/", {"provider": "plain"})
    assert refused.headers["Location"] == page
    assert not IdentityVerification.objects.exists()


def test_after_a_check_that_verified_them_the_holder_is_asked_and_shares_what_was_asked_alone(
    holder: Client, alice: Wallet, acme_bank: RelyingParty, now: datetime
) -> None:
    asked = query(path("address", "locality"), path("place_of_birth"), path("document", "number"))
    identity_page = ask(holder, acme_bank, **with_query(asked))

    verified_by("registry", alice, now)
    back = holder.get(identity_page).headers["Location"]
    page = holder.get(back).headers["Location"]
    shown = values_on(holder.get(page))
    answer = fragment(holder.get(decide(holder, page)).headers["Location"])

    assert shown == ["London", "Leeds, Yorkshire, United Kingdom", "P7"]
    names = {"address", "locality", "place_of_birth", "document", "number"}
    assert disclosed(answer["vp_token"]) == names


def test_a_check_that_did_not_bring_them_leaves_the_person_with_the_same_choice(
    holder: Client, alice: Wallet, acme_bank: RelyingParty, now: datetime
) -> None:
    identity_page = ask(holder, acme_bank, **with_query(query(path("address"))))
    verified_by("bank", alice, now, details={})

    assert offered_on(holder.get(identity_page).content.decode()) == ["bank", "registry"]


@pytest.mark.parametrize(
    ("provider", "kept"),
    [("plain", set()), ("bank", {"address", "place_of_birth"}), ("registry", set(DETAILS)), ("gone", set())],
)
def test_a_renewal_keeps_only_what_its_provider_is_set_to_verify(
    alice: Wallet, eve: Wallet, now: datetime, provider: str, kept: set[str]
) -> None:
    from wallet.credential import credentials

    verified_by(provider, eve, now)

    renewed = Wallet.objects.get(id=eve.id).credential
    assert credentials.details_of(renewed) == kept


def test_the_document_is_that_of_the_evidence(eve: Wallet, now: datetime) -> None:
    from wallet.credential import credentials

    verified_by("registry", eve, now)

    found = credentials.disclosed(Wallet.objects.get(id=eve.id).credential, today=date(2026, 1, 1))
    assert found["document"] == {"type": "passport", "number": "P7", "issuing_country": "IE"}


@pytest.mark.parametrize(
    "asked",
    [
        query(path("address", "region")),  # her address has one
        query(path("address")),
        query(path("address", "country", values=["GB"])),
    ],
)
def test_a_holder_who_has_them_is_asked_at_once(
    client: Client, eve: Wallet, acme_bank: RelyingParty, sign_in: SignIn, asked: Any
) -> None:
    sign_in(eve)

    page = ask(client, acme_bank, login_hint=eve.email, **with_query(asked))

    assert "/consent/" in urlsplit(page).path


@pytest.mark.parametrize(
    "asked",
    [
        query(path("place_of_birth")),  # no provider verifies it well enough: see the minimum
        query(path("address", "country", values=["FR"])),  # verified, and another one
    ],
)
def test_what_cannot_be_met_ends_as_any_other_request_that_cannot(
    client: Client, eve: Wallet, acme_bank: RelyingParty, sign_in: SignIn, settings: Any, asked: Any
) -> None:
    del settings.IDENTITY_PROVIDERS["registry"]
    acme_bank.minimum_assurance = ["eidas substantial", "https://id.example/assurance in_person"]
    acme_bank.save()
    sign_in(eve)

    shown = client.get(ask(client, acme_bank, login_hint=eve.email, **with_query(asked)))
    answer = fragment(client.get(shown.context["leave"]).headers["Location"])

    assert answer["error"] == "access_denied"
    assert not RedirectTask.objects.exists()


def test_an_optional_detail_and_an_alternative_without_it_send_nobody_to_a_check(
    holder: Client, acme_bank: RelyingParty
) -> None:
    either = query(path("address", id="a"), path("given_name", id="b"), claim_sets=[["a", "b"], ["b"]])

    page = ask(holder, acme_bank, **with_query(either))

    assert "/consent/" in urlsplit(page).path
    assert values_on(holder.get(page)) == ["Alice"]


def test_of_alternatives_the_one_counts_that_a_provider_verifies(
    client: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: SignIn, settings: Any
) -> None:
    del settings.IDENTITY_PROVIDERS["registry"]
    sign_in(alice)
    either = query(path("document", id="d"), path("address", id="a"), claim_sets=[["d"], ["a"]])

    page = ask(client, acme_bank, **with_query(either))

    assert leads_to_identity(page)
    assert RedirectTask.objects.get().details == ["address"]
