"""The pages of this room in a real browser: for everybody, on every screen, and Back revives nothing."""

import re
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.utils import timezone
from playwright.sync_api import expect

from consent import decisions
from consent.decisions import Requester
from consent.models import Consent
from presentation.transaction_data.entries import display, parse
from presentation.transaction_data.types import TYPES
from tests.consent.questions import WIRE, put
from tests.people import register
from tests.presentation.payloads import ITEMIZED, around
from tests.presentation.test_flow import ask
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


@pytest.fixture
def question(
    page: Any, client: Client, alice: Wallet, live_server: Any, signing_key: Any, sign_in: Any
) -> str:
    """Where Alice is asked in this browser; her answer goes to the front page."""
    sign_in(alice)
    home = f"{live_server.url}/"
    asked = ask(client, register("Acme Bank", home), redirect_uri=home)
    for name in (settings.HOLDER_COOKIE_NAME, settings.BROWSER_COOKIE_NAME):
        page.context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": home}])
    return f"{live_server.url}{asked}"


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


def bill(*lines: tuple[str, int, str]) -> dict[str, Any]:
    """A bill as the consent page shows it, from label, quantity and price of each line."""
    items = ",".join(
        f'{{"quantity":{quantity},"unit_cost":{cost},"label":"{label}"}}' for label, quantity, cost in lines
    )
    payload = f'{{"title":"Order 17","currency":"CLF","items":[{items}]}}'
    (data,) = parse(around(ITEMIZED, payload), credential_ids=["basic"], allowed_types=list(TYPES))
    return display(data)


BILLS = [
    bill(("Rioja, 0.75 l", 2, "24.5"), ("Requests", 1_000_000, "0.000345"), ("Discount", 1, "-2.5")),
    bill(("The greatest bill", 1, "999999999999.9999"), ("Rückvergütung", 12, "-1234.567891")),
]


@pytest.mark.parametrize("shown", BILLS)
def test_no_figure_of_a_bill_is_broken_or_leaves_its_card(
    as_alice: Any, alice: Wallet, live_server: Any, shown: Any
) -> None:
    as_alice.goto(f"{live_server.url}/consent/{put(alice, transactions=[shown]).id}/")
    for width in (320, 390, 480, 481, 800):
        as_alice.set_viewport_size({"width": width, "height": 800})
        card = as_alice.locator(".transaction").bounding_box()
        figures = as_alice.locator(".amount-value bdi, .items td bdi").all()
        assert len(figures) > 4
        for figure in figures:
            box, words = figure.bounding_box(), figure.inner_text()
            lines = figure.evaluate("element => element.getClientRects().length")
            assert lines == 1, f"{words} is broken at {width}"
            assert card["x"] < box["x"], f"{words} at {width}"
            assert box["x"] + box["width"] < card["x"] + card["width"], f"{words} at {width}"
    expect(as_alice.locator(".transaction")).to_contain_text("\N{MINUS SIGN}")
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
    page: Any, question: str, live_server: Any
) -> None:
    page.goto(question)
    page.get_by_role("button", name="Share and continue to Acme Bank").click()
    expect(page).to_have_url(re.compile(f"{live_server.url}/#vp_token=ey"))
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("You have already answered")
    expect(page.locator("body")).not_to_have_text(re.compile("Archer"))
    check(page)


def test_a_click_that_comes_with_the_page_decides_nothing(page: Any, question: str) -> None:
    consent = Consent.objects.get()
    page.goto(question)
    share = page.locator("button[value=share]")

    share.dispatch_event("click")  # at once, as the second half of a double click would come
    page.wait_for_timeout(300)
    consent.refresh_from_db()
    assert consent.decision == "asked"

    expect(share).to_be_enabled()  # and a moment later it takes clicks
    share.click()
    page.wait_for_url(lambda url: "#vp_token=" in url)
    consent.refresh_from_db()
    assert consent.decision == "granted"
