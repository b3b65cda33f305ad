"""How well an identity must be verified: the relying party's minimum, and what a query wants."""

import json
import re
from datetime import date, datetime
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.exceptions import ValidationError
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from presentation.models import RelyingParty
from tests.consent.shown import values_on
from tests.people import NORA, evidence_of
from tests.presentation.dcql.queries import disclosed, path, query, with_query
from tests.presentation.requests.assurance import EIDAS, leads_to_identity
from tests.presentation.requests.authorization_requests import fragment
from tests.presentation.requests.deciding import SignIn, ask, decide
from tests.project_copy import ROOT
from wallet.credential import claims, credentials
from wallet.credential.evidence import Assurance, at_least
from wallet.identity import settling
from wallet.models import Credential, IdentityVerification, RedirectTask, Wallet
from wallet.providers.contract import Provider
from wallet.providers.findings import Verified

pytestmark = pytest.mark.usefixtures("signing_key")


class National(Provider):
    """A national scheme that reaches eIDAS substantial."""

    label, needs, takes = "National eID", "A card.", "Two minutes."
    assurances = (EIDAS["substantial"],)


@pytest.fixture
def now() -> datetime:
    return timezone.now()


@pytest.fixture(autouse=True)
def providers(settings: Any) -> None:
    settings.IDENTITY_PROVIDERS = {
        "in_person": {"assurance": "https://id.example/assurance in_person"},
        "national": {"type": f"{__name__}.National"},
    }


@pytest.fixture
def may_ask_everything(acme_bank: RelyingParty) -> RelyingParty:
    acme_bank.allowed_claims = list(claims.NAMES)
    acme_bank.save()
    return acme_bank


def verified_anew(wallet: Wallet, assurance: Assurance, now: Any) -> None:
    """The wallet's holder is verified once more, with this assurance."""
    attempt = IdentityVerification.objects.create(
        wallet=wallet, state="processing", provider="national", created_at=now, changed_at=now
    )
    identity = claims.Identity("Alice", "Archer", date(1990, 4, 1), ("GB",))
    settling.settle(attempt, Verified(identity, evidence_of(assurance=assurance, verified_at=now)), now=now)


@pytest.mark.parametrize(
    ("minimum", "found", "reached"),
    [
        ("eidas low", "eidas high", True),
        ("eidas substantial", "eidas substantial", True),
        ("eidas high", "eidas substantial", False),
        ("eidas low", "uk_diatf high", False),  # levels of two frameworks do not compare
        ("de_aml", "de_aml", True),
        ("eidas", "eidas low", True),
        ("eidas low", "eidas", False),
        ("eidas low", "eidas loa9", False),
        ("https://id.example/a remote", "https://id.example/a in_person", True),
        ("https://id.example/a in_person", "https://id.example/a remote", False),
        ("https://id.example/a gold", "https://id.example/a gold", True),
        ("https://id.example/a gold", "https://id.example/a silver", False),
    ],
)
def test_levels_compare_within_one_framework_only(minimum: str, found: str, reached: bool) -> None:
    assert at_least(Assurance.parse(minimum), Assurance.parse(found)) is reached


def test_a_holder_below_the_relying_partys_minimum_is_offered_the_provider_that_reaches_it(
    holder: Client, acme_bank: RelyingParty, now: Any
) -> None:
    acme_bank.minimum_assurance = ["eidas substantial"]
    acme_bank.save()

    page = ask(holder, acme_bank)
    text = holder.get(page).content.decode()

    assert leads_to_identity(page)
    assert RedirectTask.objects.get().assurance == [["eidas", "substantial"]]
    assert 'value="national"' in text
    assert "in_person" not in text
    assert "your verified identity stays as it is" in text
    assert Credential.objects.get().state == "valid"


def test_once_verified_well_enough_the_holder_comes_back_to_the_question(
    holder: Client, alice: Wallet, acme_bank: RelyingParty, now: Any
) -> None:
    acme_bank.minimum_assurance = ["eidas low"]
    acme_bank.save()
    identity_page = ask(holder, acme_bank)

    verified_anew(alice, EIDAS["substantial"], now)
    back = holder.get(identity_page).headers["Location"]
    page = holder.get(back).headers["Location"]
    answer = fragment(holder.get(decide(holder, page)).headers["Location"])

    assert "vp_token" in answer


def test_a_holder_at_the_minimum_is_asked_at_once(holder: Client, acme_bank: RelyingParty) -> None:
    acme_bank.minimum_assurance = ["eidas high", "https://id.example/assurance remote"]
    acme_bank.save()

    assert "/consent/" in urlsplit(ask(holder, acme_bank)).path


def test_a_minimum_that_no_provider_reaches_ends_in_one_indistinguishable_refusal(
    holder: Client, acme_bank: RelyingParty
) -> None:
    acme_bank.minimum_assurance = ["eidas high"]
    acme_bank.save()

    assert not leads_to_identity(ask(holder, acme_bank))
    assert not IdentityVerification.objects.exclude(state="approved").exists()


def test_a_query_can_demand_a_level_as_the_guide_says(
    holder: Client, alice: Wallet, may_ask_everything: RelyingParty, now: Any
) -> None:
    guide = (ROOT / "docs" / "protocol.md").read_text().partition("### Demand an assurance level")[2]
    printed = re.search(r"```json\n(.*?)```", guide, re.DOTALL)
    assert printed
    wanted = with_query(query(path("given_name"), *json.loads(f"{{{printed[1]}}}")["claims"]))

    identity_page = ask(holder, may_ask_everything, **wanted)
    assert leads_to_identity(identity_page)
    assert 'value="national"' in holder.get(identity_page).content.decode()

    verified_anew(alice, EIDAS["substantial"], now)
    page = holder.get(holder.get(identity_page).headers["Location"]).headers["Location"]
    shown = holder.get(page)
    answer = fragment(holder.get(decide(holder, page)).headers["Location"])

    assert values_on(shown) == [
        "Alice",
        "eIDAS, the European Union’s rules for electronic identity",
        "substantial",
    ]
    assert disclosed(answer["vp_token"]) == {
        *("given_name", "verification", "trust_framework", "assurance_level"),
    }


def test_how_the_identity_was_verified_is_shown_in_words_and_disclosed_when_asked_for(
    holder: Client, may_ask_everything: RelyingParty
) -> None:
    page = ask(holder, may_ask_everything, **with_query(query(path("verification"))))
    shown = holder.get(page)
    answer = fragment(holder.get(decide(holder, page)).headers["Location"])

    values = values_on(shown)
    assert "Document shown in person" in values
    assert "document shown in person" in values  # the level, which the operator named
    assert disclosed(answer["vp_token"]) == {
        *("verification", "trust_framework", "assurance_level", "time", "evidence"),
    }


def test_a_holder_verified_by_an_earlier_release_is_verified_anew_where_it_matters(
    client: Client, alice: Wallet, may_ask_everything: RelyingParty, sign_in: SignIn, now: Any
) -> None:
    identity = claims.Identity("Alice", "Archer", date(1990, 4, 1), ("GB",))
    with transaction.atomic():
        credentials.issue(alice, identity, alice.credential.verification, now=now)
    sign_in(Wallet.objects.get(id=alice.id))

    assert not leads_to_identity(ask(client, may_ask_everything))
    wanted = with_query(query(path("verification", "trust_framework")))
    assert leads_to_identity(ask(client, may_ask_everything, nonce="n" * 20, **wanted))


def test_the_identity_page_names_who_asks_and_for_what(
    client: Client, acme_bank: RelyingParty, sign_in: SignIn, now: Any
) -> None:
    sign_in(Wallet.objects.create(email=NORA, created_at=now))

    page = ask(client, acme_bank, login_hint=NORA)
    text = client.get(page).content.decode()

    assert "Acme Bank</bdi> wants to confirm: your name, that you are 18 or over" in text
    assert "bank.example" in text
    assert "National eID" in text
    assert "Visit us" in text
    assert (
        client.post(reverse("wallet_identity_start", args=[RedirectTask.objects.get().id])).status_code == 303
    )
    assert not IdentityVerification.objects.filter(wallet__email=NORA).exists()  # nothing was chosen


@pytest.mark.parametrize("wrong", ["eidas", {"eidas": "low"}, [1], ["a b c"], ["é x"], ["x"] * 11, [""]])
def test_a_minimum_that_is_none_is_refused_on_registration(acme_bank: RelyingParty, wrong: Any) -> None:
    acme_bank.minimum_assurance = wrong
    with pytest.raises(ValidationError) as error:
        acme_bank.full_clean()
    assert "minimum_assurance" in error.value.message_dict
