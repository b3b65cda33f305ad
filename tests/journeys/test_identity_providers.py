"""From the bank's request through each provider and back, in Chromium, to a token that the bank verifies.

The way through another wallet is in `test_other_wallet`.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from tests.journeys.conftest import Holder
from tests.people import NORA
from tests.relying_party import RelyingParty
from tests.wallet.attempts import NORA_NEW
from tests.wallet.operators import reviewer
from tests.wallet.providers.openid_providers import OpenIDProvider, settings_for
from tests.wallet.providers.stripe_play import NAME, StripePlay
from wallet.identity import review
from wallet.models import IdentityVerification

pytestmark = pytest.mark.browser
MakeHolder = Callable[..., Holder]


@pytest.fixture
def openid_provider() -> Iterator[OpenIDProvider]:
    provider = OpenIDProvider()
    provider.play()
    yield provider
    provider.close()


@pytest.fixture
def stripe() -> Iterator[StripePlay]:
    play = StripePlay()
    with play.running():
        yield play


def begins(person: Holder) -> Holder:
    return person.arrives().signs_in().sees("Confirm your identity").clicks("Agree and begin")


def goes_there(person: Holder) -> Holder:
    person.page.get_by_role("link", name="Go to the identity check").click()
    return person


def shares(person: Holder) -> str:
    return person.sees("Share these details with Acme Bank?").clicks("Share these").comes_back()


def an_operator_approves() -> None:
    """Another person, in the admin, somewhere else."""
    attempt = IdentityVerification.objects.get()
    olga, now = reviewer(), timezone.now()
    review.claim(attempt, operator=olga, now=now)
    _read, evidence = review.claims(attempt)
    review.approve(attempt, NORA_NEW, evidence, operator=olga, reason="seen", now=now)


@pytest.mark.node
def test_with_an_openid_provider(
    holder: MakeHolder, bank: RelyingParty, openid_provider: OpenIDProvider, settings: Any
) -> None:
    settings.LOOPBACK_CALLS = True
    settings.IDENTITY_PROVIDERS = {"bank": settings_for(openid_provider)}
    answer = shares(goes_there(begins(holder(NORA))))
    assert bank.verify(answer)["given_name"]


def test_with_stripe(holder: MakeHolder, bank: RelyingParty, stripe: StripePlay, settings: Any) -> None:
    settings.IDENTITY_PROVIDERS = {NAME: stripe.settings}
    person = goes_there(begins(holder(NORA)))
    person.page.get_by_role("button", name="It is me", exact=True).click()
    assert bank.verify(shares(person))["given_name"]


def test_with_a_visit(holder: MakeHolder, bank: RelyingParty, settings: Any) -> None:
    settings.IDENTITY_PROVIDERS = {"in_person": {"place": "12 Main Street"}}
    person = begins(holder(NORA)).sees("Your identity is checked in person")
    person.clicks("Ask for the check").sees("Visit us with your document")
    attempt = IdentityVerification.objects.get()
    expect(person.page.get_by_text(attempt.provider_reference).first).to_be_visible()
    an_operator_approves()
    person.page.reload()
    assert bank.verify(shares(person))["given_name"] == "Nora"
