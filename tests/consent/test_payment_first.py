"""The consent page of a payment in a real browser: amount, payee and who asks first, the answer near."""

import os
from typing import Any

import pytest
from django.conf import settings
from django.http import HttpResponse
from django.test import RequestFactory
from django.utils import timezone

from presentation.transaction_data.entries import display, parse
from presentation.transaction_data.types import TYPES
from tests.consent.questions import BASIC, put
from tests.consent.test_look import check
from tests.presentation.payloads import ITEMIZED, MANDATE, SESSION, WIRE, value, with_changes
from wallet import sessions
from wallet.models import Wallet

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ARABIC = "مريم صاحبة البيت"
LONG_NAME = (
    "The Honourable Society of Landladies and Landlords of the Greater Metropolitan Area and its Suburbs"
)


def transaction(urn: str, **changes: Any) -> dict[str, Any]:
    """The transaction as the service stores it, with changes at dotted paths (`__` for the dot)."""
    payload = with_changes(urn, {path.replace("__", "."): new for path, new in changes.items()})
    (data,) = parse(value(urn, payload), credential_ids=["basic"], allowed_types=list(TYPES))
    return display(data)


def rent(payee: str = "Mary Landlady", amount: float = 950, currency: str = "USD") -> dict[str, Any]:
    return transaction(WIRE, recipient__individual_name=payee, amount=amount, currency=currency)


# What is asked: the transactions, the heading, the button, and the texts that are visible at once.
ASKED: dict[str, tuple[list[dict[str, Any]], str, str, list[str]]] = {
    "device": (
        [transaction(SESSION)],
        "Share this with Acme Bank?",
        "Share and continue to Acme Bank",
        [],
    ),
    "bill": (
        [transaction(ITEMIZED)],
        "Approve 1,229.97 EUR for Acme Bank?",
        "Approve 1,229.97 EUR",
        ["1,229.97 EUR"],
    ),
    "transfer": (
        [rent()],
        "Approve 950.00 USD to Mary Landlady?",
        "Approve 950.00 USD",
        ["950.00 USD", "Mary Landlady"],
    ),
    "mandate": (
        [transaction(MANDATE)],
        "Approve 24.50 EUR to Corner Shop?",
        "Approve 24.50 EUR",
        ["24.50 EUR", "Corner Shop"],
    ),
    "two": (
        [rent(), transaction(MANDATE, currency="USD")],
        "Approve 2 payments, 974.50 USD in total?",
        "Approve 974.50 USD",
        ["950.00 USD", "Mary Landlady", "24.50 USD", "Corner Shop"],
    ),
    "two currencies and a device": (
        [transaction(SESSION), rent(), transaction(MANDATE)],
        "Approve 2 payments?",
        "Approve 2 payments",
        ["950.00 USD", "Mary Landlady", "24.50 EUR", "Corner Shop"],
    ),
    "payment and device": (
        [transaction(SESSION), rent()],
        "Approve 950.00 USD to Mary Landlady?",
        "Approve 950.00 USD",
        ["950.00 USD", "Mary Landlady"],
    ),
    "a long name": (
        [rent(LONG_NAME, 999_999_999_999.99)],
        "Approve 999,999,999,999.99 USD to The Honourable Society of Landladies an…?",
        "Approve 999,999,999,999.99 USD",
        ["999,999,999,999.99 USD", LONG_NAME],
    ),
    "an Arabic name": (
        [rent(ARABIC)],
        f"Approve 950.00 USD to {ARABIC}?",
        "Approve 950.00 USD",
        ["950.00 USD", ARABIC],
    ),
}


@pytest.fixture
def as_alice(page: Any, alice: Wallet, live_server: Any) -> Any:
    """A browser page that is signed in as Alice."""
    response = HttpResponse()
    sessions.start(RequestFactory().get("/"), response, alice, now=timezone.now())
    name = settings.HOLDER_COOKIE_NAME
    page.context.add_cookies([{"name": name, "value": response.cookies[name].value, "url": live_server.url}])
    return page


def plain(text: str) -> str:
    return text.replace("\xa0", " ").replace("\u2068", "").replace("\u2069", "")


def picture(page: Any, name: str) -> None:
    """Save screenshots of the first screen and of the whole page in the folder SCREENSHOTS."""
    if not (folder := os.environ.get("SCREENSHOTS")):
        return
    for width, scheme in ((320, "light"), (390, "light"), (390, "dark"), (1280, "light"), (1280, "dark")):
        page.set_viewport_size({"width": width, "height": 844})
        page.emulate_media(color_scheme=scheme)
        page.screenshot(path=f"{folder}/{name.replace(' ', '-')}-{width}-{scheme}.png")
    page.set_viewport_size({"width": 390, "height": 844})
    page.screenshot(path=f"{folder}/{name.replace(' ', '-')}-whole.png", full_page=True)


@pytest.mark.parametrize("name", ASKED)
def test_amount_payee_and_who_asks_are_visible_at_once_and_the_button_names_the_amount(
    as_alice: Any, alice: Wallet, live_server: Any, name: str
) -> None:
    transactions, heading, button, at_once = ASKED[name]
    page = as_alice
    page.goto(f"{live_server.url}/consent/{put(alice, transactions=transactions, claims=BASIC).id}/")
    picture(page, name)
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="light")

    assert plain(page.locator("h1").inner_text()) == heading
    if at_once:
        assert plain(page.title()) == f"{heading} – Identity wallet"
    answers = page.locator(".decision button")
    assert plain(answers.first.inner_text()) == button
    edge = page.locator(".decision").bounding_box()["y"]
    for text in [*at_once, "Acme Bank", "bank.example"]:
        places = page.locator("main bdi", has_text=text).all()
        boxes = [
            box for place in places if plain(place.inner_text()) == text and (box := place.bounding_box())
        ]
        assert any(box["y"] >= 0 and box["y"] + box["height"] <= edge for box in boxes), text
    for answer in answers.all():
        box = answer.bounding_box()
        assert box["y"] + box["height"] <= 844
        assert box["height"] >= 44
    check(page)
