"""The pages of this room in a real browser: for everybody, on every screen, and Back revives nothing."""

import re
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from django.http import HttpResponse
from django.test import RequestFactory
from django.utils import timezone
from playwright.sync_api import expect

from consent import decisions
from consent.decisions import Requester
from tests.consent.questions import WIRE, put
from wallet import sessions
from wallet.models import Wallet

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LONG = Requester(
    name="Internationale Handelsgenossenschaft für Außerordentliche Bezahlvorgänge GmbH & Co. KGaA München",
    domain="very-long-subdomain.internationale-handelsgenossenschaft.example.com",
    purpose="x" * 300,
)


@pytest.fixture
def as_alice(page: Any, alice: Wallet, live_server: Any) -> Any:
    """The page, signed in as Alice."""
    response = HttpResponse()
    sessions.start(RequestFactory().get("/"), response, alice, now=timezone.now())
    name = settings.HOLDER_COOKIE_NAME
    page.context.add_cookies([{"name": name, "value": response.cookies[name].value, "url": live_server.url}])
    return page


def check(page: Any) -> None:
    """No accessibility violation in light and dark, and nothing wider than the narrowest screen."""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        result = Axe().run(page)
        assert result.violations_count == 0, result.generate_report()
    for width in (320, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        root = "document.documentElement"
        assert page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth"), f"scrolls sideways at {width}"


@pytest.mark.parametrize("requester", [None, LONG])
def test_the_question_is_for_everybody(
    as_alice: Any, alice: Wallet, live_server: Any, requester: Any
) -> None:
    changes = {"requester": requester} if requester else {}
    as_alice.goto(f"{live_server.url}/consent/{put(alice, transactions=[WIRE], **changes).id}/")
    check(as_alice)


def test_the_two_answers_weigh_the_same_and_are_big_enough(
    as_alice: Any, alice: Wallet, live_server: Any
) -> None:
    as_alice.set_viewport_size({"width": 320, "height": 800})
    as_alice.goto(f"{live_server.url}/consent/{put(alice).id}/")
    share, decline = (button.bounding_box() for button in as_alice.locator(".decision button").all())
    assert share["width"] == decline["width"]
    assert min(share["height"], decline["height"]) >= 44


def test_the_receipts_are_for_everybody(as_alice: Any, alice: Wallet, live_server: Any) -> None:
    for decide in (decisions.grant, decisions.decline):
        decide(put(alice, transactions=[WIRE]).id, alice, now=timezone.now())
    as_alice.goto(f"{live_server.url}/wallet/history/")
    as_alice.locator("summary").first.click()
    check(as_alice)


@pytest.mark.parametrize("address", ["/", "/nowhere/"])
def test_the_front_page_and_the_page_for_nothing_are_for_everybody(
    page: Any, live_server: Any, address: str
) -> None:
    page.goto(f"{live_server.url}{address}")
    check(page)


def test_back_after_an_answer_shows_the_answer_and_not_the_question(
    as_alice: Any, alice: Wallet, live_server: Any
) -> None:
    as_alice.goto(f"{live_server.url}/consent/{put(alice, return_to='/').id}/")
    as_alice.get_by_role("button", name="Share and continue to Acme Bank").click()
    expect(as_alice).to_have_url(f"{live_server.url}/")
    as_alice.go_back()
    expect(as_alice.get_by_role("heading", level=1)).to_have_text("You have already answered")
    expect(as_alice.locator("body")).not_to_have_text(re.compile("Archer"))
    check(as_alice)


def test_a_click_that_comes_with_the_page_decides_nothing(
    as_alice: Any, alice: Wallet, live_server: Any
) -> None:
    consent = put(alice)
    as_alice.goto(f"{live_server.url}/consent/{consent.id}/")
    share = as_alice.locator("button[value=share]")

    share.dispatch_event("click")  # at once, as the second half of a double click would come
    as_alice.wait_for_timeout(300)
    consent.refresh_from_db()
    assert consent.decision == "asked"

    expect(share).to_be_enabled()  # and a moment later it takes clicks
    share.click()
    as_alice.wait_for_url(lambda url: "/consent/" not in url)
    consent.refresh_from_db()
    assert consent.decision == "granted"
