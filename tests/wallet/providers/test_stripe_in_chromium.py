"""Through Stripe's page and back in real Chromium: what the person sees on the way."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from tests.wallet.browser_redirect_tasks import make_redirect_task
from tests.wallet.looking_at_pages import look
from tests.wallet.providers.plays import send
from tests.wallet.providers.stripe_play import NAME, StripePlay
from tests.wallet.signing_in import let_in
from wallet.models import IdentityVerification, Wallet

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def play(settings: Any, live_server: Any) -> Iterator[StripePlay]:
    play = StripePlay()
    with play.running():
        settings.BASE_URL = live_server.url
        settings.IDENTITY_PROVIDERS = {NAME: play.settings}
        yield play


@pytest.fixture
def at_stripe(page: Any, play: StripePlay, live_server: Any, nora: Wallet, now: Any) -> Any:
    """Nora's browser, on Stripe's page."""
    home = reverse("wallet_signed_out")  # any page of ours
    redirect_task = make_redirect_task(Client(), now=now, return_to=f"{home}?done", leave_to=f"{home}?left")
    let_in(page.context, nora, live_server)
    page.goto(live_server.url + reverse("wallet_identity", args=[redirect_task.id]))
    page.get_by_role("button", name="Agree and begin").click()
    page.get_by_role("link", name="Go to the identity check").click()
    page.get_by_role("heading", name="Verify your identity").wait_for()
    assert page.url.startswith(play.server.address)
    return page


def test_the_page_that_waits_goes_on_by_itself_when_the_webhook_comes(
    at_stripe: Any, play: StripePlay
) -> None:
    at_stripe.get_by_role("button", name="It is me, slowly").click()
    look(at_stripe, "stripe-waiting", "Checking your identity")
    verification = IdentityVerification.objects.get()
    assert verification.state == "processing"
    play.server.verify(verification.provider_reference)
    assert send(play.callback(verification)).status_code == 200
    at_stripe.wait_for_url("**/signed-out/?done")


def test_a_person_who_declines_reads_that_another_check_may_suit_them(at_stripe: Any) -> None:
    at_stripe.get_by_role("button", name="I decline").click()
    look(at_stripe, "stripe-declined", "Confirm your identity")
    at_stripe.get_by_text("You did not agree to how this check works.").wait_for()
    assert IdentityVerification.objects.get().state == "cancelled"
