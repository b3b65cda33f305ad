"""What expires at an instant has expired at exactly that instant, not before and not later."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from consent import decisions
from consent.models import Consent
from presentation.models import Interaction, PushedRequest, RelyingParty
from tests.presentation.clients import basic, with_secret
from tests.presentation.requests.authorization_requests import encoded, fragment
from tests.presentation.requests.deciding import PAYMENT, SignIn, another_browser, ask, url_of_interaction
from tests.presentation.requests.pushing import page_of, pushed
from wallet.models import HolderSession, Wallet

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("signing_key")]
MOMENT = timedelta(microseconds=1)  # the smallest difference that the database stores
SetClock = Callable[[datetime], None]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    """Sets the clock of the service."""

    def set_clock(moment: datetime) -> None:
        HolderSession.objects.update(last_seen_at=moment)  # the session does not expire meanwhile
        monkeypatch.setattr(timezone, "now", lambda: moment)

    return set_clock


def test_an_interaction_is_over_from_the_instant_at_which_it_expires(
    holder: Client, acme_bank: RelyingParty, clock: SetClock
) -> None:
    page = ask(holder, acme_bank)
    expires_at = Interaction.objects.get().expires_at

    clock(expires_at - MOMENT)
    assert holder.get(url_of_interaction()).headers["Location"] == page
    clock(expires_at)
    assert holder.get(url_of_interaction()).status_code == 410


def test_a_yes_is_not_acted_on_from_the_instant_at_which_the_interaction_expires(
    holder: Client, alice: Wallet, acme_bank: RelyingParty, clock: SetClock
) -> None:
    ask(holder, acme_bank)
    decisions.grant(Consent.objects.get().id, alice, now=timezone.now())

    clock(Interaction.objects.get().expires_at)
    assert holder.get(url_of_interaction()).status_code == 410
    assert Interaction.objects.get().outcome == ""


def test_a_question_is_over_from_the_instant_at_which_it_expires(
    holder: Client, acme_bank: RelyingParty, clock: SetClock
) -> None:
    page = ask(holder, acme_bank)
    expires_at = Consent.objects.get().expires_at

    clock(expires_at - MOMENT)
    assert holder.get(page).status_code == 200
    clock(expires_at)
    assert holder.get(page, follow=True).status_code == 410


@pytest.mark.parametrize(("older", "asks_again"), [(timedelta(0), False), (MOMENT, True)])
def test_a_factor_of_exactly_five_minutes_is_fresh_enough_for_a_payment(
    client: Client,
    alice: Wallet,
    acme_bank: RelyingParty,
    sign_in: SignIn,
    clock: SetClock,
    older: timedelta,
    asks_again: bool,
) -> None:
    session: Any = sign_in(alice)
    now = session.signed_in_at + timedelta(minutes=5)
    HolderSession.objects.update(signed_in_at=session.signed_in_at - older)

    clock(now)
    address = ask(client, acme_bank, transaction_data=encoded(PAYMENT))

    assert address.startswith("/wallet/errands/" if asks_again else "/consent/")


def test_a_pushed_request_cannot_be_begun_from_the_instant_at_which_it_expires(
    holder: Client, alice: Wallet, sign_in: SignIn, clock: SetClock
) -> None:
    party, secret = with_secret()
    handle = pushed(holder, (party, basic(party.client_id, secret)))
    expires_at = PushedRequest.objects.get().expires_at

    clock(expires_at - MOMENT)
    assert page_of(holder, handle, party).startswith("/consent/")
    other = another_browser(sign_in, alice)
    clock(expires_at)
    assert fragment(page_of(other, handle, party))["error"] == "invalid_request_uri"
