"""What is printed is dark on white in real Chromium, and no browser translates values."""

import os
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from config.operator import LEAST_CONTRAST, contrast
from tests.consent.questions import WIRE, put
from wallet.models import Wallet

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("signing_key"),
]
WHITE = (255, 255, 255)
# The colour and the text of all that is printed. Browsers leave out backgrounds: the paper is white.
INKS = """() => {
    for (const animation of document.getAnimations()) animation.finish();
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const seen = [];
    while (texts.nextNode()) {
        const { parentElement: element, textContent: text } = texts.currentNode;
        if (!text.trim() || !element.checkVisibility({ visibilityProperty: true })) continue;
        seen.push([getComputedStyle(element).color, text.trim()]);
    }
    return seen;
}"""
# The texts of these words that a translator of the browser may change.
TRANSLATED = """(words) => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = { kept: 0, changed: [] };
    while (texts.nextNode()) {
        const { parentElement: element, textContent: text } = texts.currentNode;
        if (!words.some((word) => text.includes(word))) continue;
        if (element.translate) found.changed.push(text); else found.kept += 1;
    }
    return found;
}"""


def components(colour: str) -> tuple[int, int, int]:
    """Of `rgb(r, g, b)`, as browsers compute it."""
    assert colour.startswith("rgb("), colour
    red, green, blue = (int(part) for part in colour[4:-1].split(","))
    return red, green, blue


def pages(alice: Wallet) -> dict[str, str]:
    consent = put(alice, transactions=[WIRE])
    return {
        "home": reverse("wallet_home"),
        "receipts": reverse("consent_history"),
        "question": reverse("consent_review", args=[consent.id]),
        "security": reverse("wallet_security"),
    }


@pytest.mark.parametrize("name", ["home", "receipts", "question", "security"])
def test_what_is_printed_from_the_dark_can_be_read(
    as_alice: Any, alice: Wallet, live_server: Any, name: str
) -> None:
    page = as_alice
    page.emulate_media(color_scheme="dark", media="screen")
    page.goto(live_server.url + pages(alice)[name])
    on_screen = page.evaluate(INKS)
    assert any(contrast(components(ink), WHITE) < 2 for ink, _text in on_screen)  # it is dark

    page.emulate_media(color_scheme="dark", media="print")

    printed = page.evaluate(INKS)
    pale = {text for ink, text in printed if contrast(components(ink), WHITE) < LEAST_CONTRAST}
    assert printed
    assert pale == set()
    background = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=f"{folder}/printed-{name}.png", full_page=True)


def test_what_operators_print_from_the_dark_can_be_read(
    page: Any, admin_client: Client, live_server: Any
) -> None:
    page.context.add_cookies(
        [
            {"name": name, "value": cookie.value, "url": live_server.url}
            for name, cookie in admin_client.cookies.items()
        ]
    )
    page.emulate_media(color_scheme="dark", media="print")
    for theme in ("auto", "dark"):
        page.goto(f"{live_server.url}/admin/wallet/wallet/")
        page.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", theme)
        printed = page.evaluate(INKS)
        pale = {text for ink, text in printed if contrast(components(ink), WHITE) < LEAST_CONTRAST}
        assert printed
        assert pale == set(), theme


def test_values_keep_their_words_when_a_browser_translates_the_page(
    as_alice: Any, alice: Wallet, live_server: Any
) -> None:
    """A translated name, amount or payee would be another one than what is shared or approved."""
    page = as_alice
    for name in ("home", "question"):
        page.goto(live_server.url + pages(alice)[name])
        found = page.evaluate(TRANSLATED, ["Alice", "Archer", "12,500.00"])
        assert found["changed"] == [], name
        assert found["kept"] > 0, name
