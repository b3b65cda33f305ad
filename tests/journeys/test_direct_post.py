"""Posted answers in Chromium: with and without a `redirect_uri`, undelivered and retried, declined."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from presentation.models import RelyingParty as Registered
from presentation.models import ResponseURI
from tests.journeys.conftest import Application, Holder
from tests.receiver import Receiver, listening
from tests.relying_party import RelyingParty
from wallet.models import Wallet

pytestmark = pytest.mark.browser
MakeHolder = Callable[..., Holder]


@pytest.fixture
def receiver(bank: RelyingParty) -> Iterator[Receiver]:
    """The server to which the answers for Acme Bank are posted."""
    with listening() as running:
        party = Registered.objects.get(client_id=bank.client_id)
        ResponseURI.objects.create(relying_party=party, uri=running.uri)
        yield running


def asked(person: Holder, receiver: Receiver, **changes: Any) -> Holder:
    """Acme Bank requests an answer by direct_post; the holder has signed in."""
    direct = {"response_mode": "direct_post", "response_uri": receiver.uri, "redirect_uri": None}
    return person.is_signed_in().arrives(**{**direct, **changes})


def test_a_holder_shares_and_goes_where_the_application_says(
    holder: MakeHolder, alice: Wallet, bank: RelyingParty, receiver: Receiver, application: Application
) -> None:
    receiver.redirects_to(f"{application.origin}/welcome?response_code=4711")
    person = asked(holder(), receiver).sees("Share these details with Acme Bank?")
    expect(person.page.get_by_text("Your answer is sent directly to 127.0.0.1")).to_be_visible()

    person.clicks("Share these").sees("You are back at the application")

    assert application.requests == ["/welcome?response_code=4711"]
    assert person.page.evaluate("location.hash") == ""
    assert bank.verify(bank.read_posted(receiver.posted[0].body))["given_name"] == "Alice"


def test_an_answer_that_does_not_arrive_is_sent_again_by_a_button(
    holder: MakeHolder, alice: Wallet, bank: RelyingParty, receiver: Receiver, application: Application
) -> None:
    receiver.status = 503
    person = asked(holder(), receiver).clicks("Share these").sees("Acme Bank did not accept your answer")
    person.clicks("Try again").sees("Acme Bank did not accept your answer")
    receiver.status = 200
    receiver.redirects_to(f"{application.origin}/welcome")

    person.clicks("Try again").sees("You are back at the application")

    assert len(receiver.posted) == 3
    assert len({posted.body for posted in receiver.posted}) == 1
    bank.verify(bank.read_posted(receiver.posted[0].body))


def test_the_fragment_of_a_request_does_not_reach_the_relying_party(
    holder: MakeHolder, bank: RelyingParty, receiver: Receiver, application: Application
) -> None:
    """Browsers keep the fragment across a redirect to an address without one (RFC 9700 §4.1.3)."""
    receiver.redirects_to(f"{application.origin}/welcome")
    direct = {"response_mode": "direct_post", "response_uri": receiver.uri, "redirect_uri": None}
    page = holder().page

    page.goto(bank.authorize_url(**direct, nonce=None) + "#vp_token=forged")

    expect(page.get_by_text("You are back at the application")).to_be_visible()
    assert page.evaluate("location.hash") == ""
    assert "forged" not in page.url


def test_giving_up_leads_to_the_application(
    holder: MakeHolder, alice: Wallet, receiver: Receiver, application: Application
) -> None:
    receiver.status = 503
    person = asked(holder(), receiver).clicks("Share these").sees("Acme Bank did not accept your answer")

    person.clicks("Give up").sees("Acme Bank did not accept your answer")
    expect(person.page.get_by_role("button", name="Try again")).to_have_count(0)
    person.clicks("Go to Acme Bank").sees("You are back at the application")

    assert len(receiver.posted) == 1
