"""The consent page of a payment in a real browser: amount, payee and who asks first, the answer near."""

import os
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from presentation.transaction_data.entries import display, parse
from presentation.transaction_data.types import TYPES
from tests.barriers import assert_no_barriers_in_both_schemes
from tests.consent.questions import ACME, BASIC, put
from tests.consent.test_look import assert_no_sideways_scroll
from tests.presentation.payloads import ITEMIZED, MANDATE, SESSION, WIRE, value, with_changes
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
        "Approve a payment of 1,229.97 EUR?",
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
    "ten": (
        [rent(amount=100 + number) for number in range(10)],
        "Approve 10 payments, 1,045.00 USD in total?",
        "Approve 1,045.00 USD",
        ["100.00 USD", "Mary Landlady"],
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


def check(page: Any) -> None:
    """Axe finds nothing on a small screen in both colour schemes, and nothing overflows on any."""
    page.set_viewport_size({"width": 320, "height": 844})
    assert_no_barriers_in_both_schemes(page)
    assert_no_sideways_scroll(page)


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


FOCUSED = """() => {
  const focused = document.activeElement.getBoundingClientRect();
  const bar = document.querySelector(".decision");
  const box = bar.getBoundingClientRect();
  const inside = bar.contains(document.activeElement);
  return {
    name: document.activeElement.textContent.trim().slice(0, 40),
    body: document.activeElement === document.body,
    hidden: !inside && focused.bottom > box.top + 1 && focused.top < box.bottom - 1,
    outside: focused.bottom > innerHeight + 1 || focused.top < -1,
  };
}"""


@pytest.mark.parametrize("size", [(320, 568), (390, 844), (844, 390), (1280, 800)])
def test_no_focused_element_is_ever_under_the_answers(
    as_alice: Any, alice: Wallet, live_server: Any, size: tuple[int, int]
) -> None:
    """WCAG 2.2, 2.4.11, there and back by keyboard alone, also with the warning."""
    page = as_alice
    soon = timezone.now() + timedelta(seconds=100)
    consent = put(alice, transactions=[rent()], expires_at=soon, extendable_until=soon + timedelta(hours=1))
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(f"{live_server.url}/consent/{consent.id}/")
    page.get_by_role("button", name="Give me more time").wait_for()
    seen = []
    for key in ("Tab", "Shift+Tab"):
        for _ in range(20):
            page.keyboard.press(key)
            found = page.evaluate(FOCUSED)
            if found["body"]:
                break
            seen.append(found["name"])
            assert not found["hidden"], found
            assert not found["outside"], found
    for name in (
        "Skip to the content",
        "Their terms(opens in a new tab)",
        "I need more time",
        "Not you? Sign out",
    ):
        assert any(name.replace(" ", "") in one.replace(" ", "") for one in seen), (name, seen)


@pytest.mark.parametrize(("size", "text"), [((390, 844), "200%"), ((844, 390), "100%"), ((320, 400), "100%")])
@pytest.mark.parametrize("name", ["transfer", "bill", "two", "a long name"])
def test_with_large_text_and_in_landscape_the_answers_do_not_eat_the_screen(
    as_alice: Any, alice: Wallet, live_server: Any, size: tuple[int, int], text: str, name: str
) -> None:
    page = as_alice
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(f"{live_server.url}/consent/{put(alice, transactions=ASKED[name][0]).id}/")
    page.evaluate("size => { document.documentElement.style.fontSize = size; }", text)

    assert page.locator(".decision").bounding_box()["y"] > size[1]
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    page.locator(".decision button").first.scroll_into_view_if_needed()
    assert page.locator(".decision button").first.is_visible()


def test_on_phones_the_answers_take_at_most_a_fifth_of_the_screen(
    as_alice: Any, alice: Wallet, live_server: Any
) -> None:
    page = as_alice
    page.set_viewport_size({"width": 320, "height": 568})
    page.goto(f"{live_server.url}/consent/{put(alice, transactions=[rent()]).id}/")
    box = page.locator(".decision").bounding_box()

    assert box["height"] <= 568 / 5
    assert box["y"] + box["height"] <= 568


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_forced_colours_keep_the_edges_of_the_bar_and_the_payment(
    as_alice: Any, alice: Wallet, live_server: Any, scheme: str
) -> None:
    page = as_alice
    page.emulate_media(forced_colors="active", color_scheme=scheme)
    page.goto(f"{live_server.url}/consent/{put(alice, transactions=[rent()]).id}/")
    for selector in (".decision", ".payments", ".decision button"):
        width = page.locator(selector).first.evaluate("one => getComputedStyle(one).borderTopWidth")
        assert width != "0px", selector
    bar = page.locator(".decision").evaluate("one => getComputedStyle(one).backgroundColor")
    assert "rgba(0, 0, 0, 0)" not in bar  # what scrolls below does not show through


def test_a_payment_is_approved_by_keyboard_alone(as_alice: Any, alice: Wallet, live_server: Any) -> None:
    page = as_alice
    consent = put(alice, transactions=[rent()], return_to="/nowhere/")
    page.goto(f"{live_server.url}/consent/{consent.id}/")
    page.locator(".decision button:not([aria-disabled])").first.wait_for()
    for _ in range(20):
        page.keyboard.press("Tab")
        if plain(page.evaluate("document.activeElement.textContent")).strip() == "Approve 950.00 USD":
            break
    with page.expect_request(lambda request: request.method == "POST") as sent:
        page.keyboard.press("Enter")

    assert "decision=share" in sent.value.post_data


def _states() -> dict[str, dict[str, Any]]:
    """Everything else that can stand on the page, as changes of the question."""
    now = timezone.now()
    soon = now + timedelta(seconds=90)
    session = [transaction(SESSION)]
    return {
        "claims": {},
        "optional claims": {"optional": BASIC[1:], "alternatives": True},
        "no claims": {"claims": []},
        "only a device and no claims": {"claims": [], "transactions": session},
        "registered by itself": {"requester_since": now.date(), "requester_is_unchecked": True},
        "posted": {"requester": replace(ACME, receiver="bank.example"), "transactions": [rent()]},
        "a passkey is needed": {"fresh_since": now + timedelta(hours=1), "transactions": [rent()]},
        "ends soon": {"expires_at": soon, "extendable_until": soon + timedelta(hours=1)},
        "ends soon for good": {"expires_at": soon, "extendable_until": soon, "transactions": [rent()]},
        "ten kinds": {"transactions": [transaction(urn) for urn in TYPES for _ in range(3)][:10]},
    }


@pytest.mark.parametrize("state", _states())
def test_every_state_of_the_page_is_for_everybody(
    as_alice: Any, alice: Wallet, live_server: Any, state: str
) -> None:
    page = as_alice
    page.goto(f"{live_server.url}/consent/{put(alice, **_states()[state]).id}/")
    if state.startswith("ends soon"):
        page.get_by_text("This request ends at").wait_for()
    picture(page, f"state {state}")
    check(page)
