"""The consent page in a real browser: one sheet with everything that a yes covers, and the answers last."""

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone
from playwright.sync_api import expect

from consent.question import Requester
from presentation.transaction_data.entries import display, parse
from presentation.transaction_data.types import TYPES
from tests.barriers import assert_no_barriers_in_both_schemes
from tests.consent.questions import ACME, BASIC, put
from tests.presentation.payloads import ITEMIZED, MANDATE, SESSION, WIRE, value, with_changes
from wallet.models import Wallet

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

FIVE = [
    ("given_name",),
    ("family_name",),
    ("birth_date",),
    ("nationalities",),
    ("age_equal_or_over", "18"),
]
ARABIC = "مريم صاحبة البيت"
LONG = Requester(
    name="Internationale Handelsgenossenschaft für Außerordentliche Bezahlvorgänge GmbH & Co. KGaA, München",
    domain=f"{'very-long-subdomain.' * 8}handelsgenossenschaft.example.com",
    purpose=f"To pay. {'Because the law demands it, we ask again each year. ' * 5}".strip(),
    receiver="receiver.internationale-handelsgenossenschaft.example.com",
)
PAYEE = (
    "The Honourable Society of Landladies and Landlords of the Greater Metropolitan Area and its Suburbs, "
    "Villages, Hamlets and Outlying Farms.."
)


def transaction(urn: str, **changes: Any) -> dict[str, Any]:
    """The transaction as the service stores it, with changes at dotted paths (`__` for the dot)."""
    payload = with_changes(urn, {path.replace("__", "."): new for path, new in changes.items()})
    (data,) = parse(value(urn, payload), credential_ids=["basic"], allowed_types=list(TYPES))
    return display(data)


def rent(payee: str = "Mary Landlady", amount: float = 950, currency: str = "USD") -> dict[str, Any]:
    return transaction(WIRE, recipient__individual_name=payee, amount=amount, currency=currency)


# What is asked: the question, the heading, and the two answers.
ASKED: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "claims": ({}, "Share these details with Acme Bank?", "Share these details", "Don’t share"),
    "optional claims": (
        {"claims": FIVE, "optional": BASIC[1:], "alternatives": True, "requester_is_unchecked": True},
        "Share these details with Acme Bank?",
        "Share these details",
        "Don’t share",
    ),
    "answers that add up": (
        {"claims": [*BASIC, ("age_equal_or_over", "65")]},
        "Share these details with Acme Bank?",
        "Share these details",
        "Don’t share",
    ),
    "no claims": (
        {"claims": []},
        "Confirm to Acme Bank that you are verified?",
        "Confirm that I am verified",
        "Don’t confirm",
    ),
    "device": (
        {"transactions": [transaction(SESSION)]},
        "Share these details with Acme Bank?",
        "Share these details",
        "Don’t share",
    ),
    "device and no claims": (
        {"claims": [], "transactions": [transaction(SESSION)]},
        "Confirm to Acme Bank that you are verified?",
        "Confirm that I am verified",
        "Don’t confirm",
    ),
    "bill": (
        {"transactions": [transaction(ITEMIZED)], "claims": FIVE},
        "Approve a payment of 1,229.97 EUR?",
        "Approve 1,229.97 EUR",
        "Don’t approve",
    ),
    "transfer": (
        {"transactions": [rent()], "claims": FIVE},
        "Approve 950.00 USD to Mary Landlady?",
        "Approve 950.00 USD",
        "Don’t approve",
    ),
    "mandate": (
        {"transactions": [transaction(MANDATE)], "claims": FIVE},
        "Approve 24.50 EUR to Corner Shop?",
        "Approve 24.50 EUR",
        "Don’t approve",
    ),
    "two": (
        {"transactions": [rent(), transaction(MANDATE, currency="USD")]},
        "Approve 2 payments, 974.50 USD in total?",
        "Approve 974.50 USD",
        "Don’t approve",
    ),
    "two currencies and a device": (
        {"transactions": [transaction(SESSION), rent(amount=999_999_999_999.99), transaction(MANDATE)]},
        "Approve 2 payments?",
        "Approve 2 payments",
        "Don’t approve",
    ),
    "ten": (
        {"transactions": [rent(amount=100 + number) for number in range(10)]},
        "Approve 10 payments, 1,045.00 USD in total?",
        "Approve 1,045.00 USD",
        "Don’t approve",
    ),
    "long names": (
        {"transactions": [rent(PAYEE, 999_999_999_999.99)], "requester": LONG},
        f"Approve 999,999,999,999.99 USD to {PAYEE}?",
        "Approve 999,999,999,999.99 USD",
        "Don’t approve",
    ),
    "a long name and no payment": (
        {"requester": LONG, "claims": FIVE},
        f"Share these details with {LONG.name}?",
        "Share these details",
        "Don’t share",
    ),
    "an Arabic name": (
        {"transactions": [rent(ARABIC)]},
        f"Approve 950.00 USD to {ARABIC}?",
        "Approve 950.00 USD",
        "Don’t approve",
    ),
    "passkey": (
        {"transactions": [rent()], "fresh_since": timezone.now() + timedelta(days=1)},
        "Approve 950.00 USD to Mary Landlady?",
        "Approve 950.00 USD",
        "Don’t approve",
    ),
}
SIZES = [(width, height, text) for width, height in ((320, 640), (390, 844)) for text in (100, 200)]


def open_question(page: Any, live_server: Any, alice: Wallet, **changes: Any) -> None:
    page.goto(f"{live_server.url}/consent/{put(alice, **changes).id}/")


def resize(page: Any, width: int, height: int, text: int) -> None:
    page.set_viewport_size({"width": width, "height": height})
    page.evaluate("text => { document.documentElement.style.fontSize = `${text}%`; }", text)


def plain(text: str) -> str:
    return " ".join(text.replace("\u2068", "").replace("\u2069", "").split())


def picture(page: Any, name: str) -> None:
    """Save a screenshot in the folder SCREENSHOTS."""
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=f"{folder}/{name.replace(' ', '-')}.png", full_page=True)


# What is wrong with the page at its present size, and its texts in their order.
MEASURED = """() => {
  const faults = [], texts = [], root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) faults.push(`scrolls sideways: ${root.scrollWidth}`);
  const sheet = document.querySelector(".sheet"), bar = document.querySelector(".decision");
  const edges = sheet.getBoundingClientRect(), answers = bar.getBoundingClientRect();
  const clipped = (element) => element && getComputedStyle(element).clipPath !== "none";
  const apart = ".visually-hidden, thead";
  const unseen = (element) => !element.checkVisibility() || clipped(element.closest(apart));
  for (let one = bar; one; one = one.parentElement) {
    const { position } = getComputedStyle(one);
    if (!["static", "relative"].includes(position)) faults.push(`${one.className} sticks`);
  }
  const walker = document.createTreeWalker(sheet, NodeFilter.SHOW_TEXT);
  let above = -Infinity;
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const parent = text.parentElement, words = text.data.trim();
    if (!words || unseen(parent)) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    const box = range.getBoundingClientRect(), style = getComputedStyle(parent);
    if (box.left < edges.left - 1 || box.right > edges.right + 1) faults.push(`“${words}” leaves the sheet`);
    if (!bar.contains(parent) && box.bottom > answers.top + 1) faults.push(`“${words}” is too low`);
    if (style.textOverflow !== "clip" || style.overflow === "hidden") faults.push(`“${words}” is cut`);
    if (parent.closest("[aria-hidden]")) continue;
    const line = parseFloat(style.lineHeight);
    if (box.top < above - line) faults.push(`“${words}” is above what it follows`);
    above = Math.max(above, box.top);
    texts.push(words.replace(/\\s+/g, " "));
  }
  for (const amount of document.querySelectorAll(".unbroken, .items td bdi")) {
    if (amount.getClientRects().length !== 1) faults.push(`${amount.textContent} is broken`);
  }
  for (const name of document.querySelectorAll(".requester-name bdi, h1 bdi")) {
    const room = name.closest("p, h1").getBoundingClientRect().width;
    for (const { index, 0: word } of name.firstChild.data.matchAll(/\\S+/g)) {
      const range = document.createRange();
      range.setStart(name.firstChild, index);
      range.setEnd(name.firstChild, index + word.length);
      const parts = [...range.getClientRects()], whole = parts.reduce((sum, part) => sum + part.width, 0);
      if (parts.length > 1 && whole < room) faults.push(`“${word}” is broken in ${room}px`);
    }
  }
  return { faults, texts, end: answers.bottom + scrollY };
}"""


def texts_for_screen_readers(page: Any) -> list[str]:
    """The texts of the sheet in the accessibility tree, in its order."""
    session = page.context.new_cdp_session(page)
    nodes = {node["nodeId"]: node for node in session.send("Accessibility.getFullAXTree")["nodes"]}

    def read(node: dict[str, Any]) -> Iterator[str]:
        if node["role"]["value"] == "StaticText":
            yield " ".join(node["name"]["value"].split())
        else:
            for child in node.get("childIds", ()):
                yield from read(nodes[child])

    found = list(filter(None, read(next(iter(nodes.values())))))
    session.detach()
    return found


def covered(changes: dict[str, Any]) -> Iterator[str]:
    """The texts of the transactions as the relying party wrote them; those of a device are folded."""
    for each in changes.get("transactions", ()):
        for block in each["blocks"]:
            cells = [cell for row in block.get("rows", ()) for cell in row[1:]]
            if not block.get("introduction"):
                yield from (cell for cell in [*cells, block.get("text", "")] if isinstance(cell, str))


@pytest.mark.parametrize("name", ASKED)
def test_everything_that_a_yes_covers_is_above_the_answers_and_nothing_is_cut(
    as_alice: Any, alice: Wallet, live_server: Any, name: str
) -> None:
    changes, heading, share, decline = ASKED[name]
    page = as_alice
    requester = changes.get("requester", ACME)
    for language in ("en-gb", "es"):
        page.context.add_cookies(
            [{"name": settings.LANGUAGE_COOKIE_NAME, "value": language, "url": live_server.url}]
        )
        open_question(page, live_server, alice, **changes)
        for size in SIZES:
            resize(page, *size)
            picture(page, f"{name} {language} {size[0]} {size[2]}")
            measured = page.evaluate(MEASURED)
            assert measured["faults"] == [], (language, size)
        shown = page.locator(".sheet").inner_text()
        for text in {*covered(changes), requester.name, requester.domain, requester.receiver}:
            assert plain(text) in plain(shown), (language, text)
        said = texts_for_screen_readers(page)
        spoken = iter(said)
        missing = [text for text in measured["texts"] if text not in spoken]
        assert missing == [], (language, said)
        assert page.locator("main").inner_text().count(requester.name) <= 2
        if language == "es":
            continue
        assert plain(page.locator("h1").inner_text()) == plain(heading)
        if "transactions" in changes and "Approve" in heading:
            assert plain(page.title()) == f"{plain(heading)} – Identity wallet"
        answers = [plain(words) for words in page.locator(".decision button").all_inner_texts()]
        assert answers == [share, decline]
        assert plain(" ".join(measured["texts"])).endswith(f"{share} {decline}")


@pytest.mark.parametrize("language", ["en-gb", "es"])
@pytest.mark.parametrize("name", ["bill", "transfer", "mandate"])
def test_five_claims_with_a_payment_fit_a_phone_with_both_answers(
    as_alice: Any, alice: Wallet, live_server: Any, name: str, language: str
) -> None:
    page, changes = as_alice, ASKED[name][0]
    if name == "transfer" and language == "es":  # its labels are longer, so without the optional fields
        optional = dict.fromkeys(("recipient__website", "source__institution_name", "memo"), ...)
        changes = {"claims": FIVE, "transactions": [transaction(WIRE, **optional)]}
    page.context.add_cookies(
        [{"name": settings.LANGUAGE_COOKIE_NAME, "value": language, "url": live_server.url}]
    )
    open_question(page, live_server, alice, requester_since=timezone.now().date(), **changes)
    assert page.evaluate(MEASURED)["end"] <= 844


def test_with_large_text_amounts_grow_and_the_logo_is_above_the_name(
    as_alice: Any, alice: Wallet, live_server: Any
) -> None:
    page = as_alice
    amounts = page.locator(".unbroken")
    sizes = "(amounts) => amounts.map((one) => parseFloat(getComputedStyle(one).fontSize))"
    for amount, least in ((950, 1.9), (1229.97, 1.5), (999_999_999_999.99, 1)):
        open_question(page, live_server, alice, transactions=[rent(amount=amount)])
        before = amounts.evaluate_all(sizes)
        resize(page, 390, 844, 200)
        grown = [now / then for now, then in zip(amounts.evaluate_all(sizes), before, strict=True)]
        assert len(grown) == 2
        assert min(grown) >= least, (amount, grown)
    logo, name = (page.locator(f".requester{one}").bounding_box() for one in ("-initial", "-name"))
    assert logo["y"] + logo["height"] <= name["y"]


def test_the_two_answers_weigh_the_same_and_are_big_enough(
    as_alice: Any, alice: Wallet, live_server: Any
) -> None:
    for changes in ({}, {"transactions": [rent()]}, {"transactions": [rent(amount=12_500_000)]}):
        open_question(as_alice, live_server, alice, **changes)
        for width in (320, 390, 1280):
            as_alice.set_viewport_size({"width": width, "height": 800})
            yes, no = (button.bounding_box() for button in as_alice.locator(".decision button").all())
            assert abs(yes["width"] - no["width"]) < 1
            assert min(yes["height"], no["height"]) >= 44


def test_what_explains_unfolds_above_the_answers(as_alice: Any, alice: Wallet, live_server: Any) -> None:
    page = as_alice
    long = replace(ACME, purpose="To open your account. We keep nothing else, e.g. no pictures. Ask us.")
    open_question(page, live_server, alice, requester=long, transactions=[transaction(SESSION)])
    page.evaluate("""() => {
      const answers = document.querySelector(".decision").getBoundingClientRect().top;
      for (const each of document.querySelectorAll("details")) {
        if (each.getBoundingClientRect().bottom > answers) throw new Error(each.innerText);
      }
    }""")
    expect(page.get_by_text("“To open your account.”")).to_be_visible()
    expect(page.get_by_text("no pictures. Ask us.")).to_be_hidden()
    expect(page.get_by_text("Includes: IP address · Device identifier")).to_be_visible()
    expect(page.get_by_text("2001:db8::17")).to_be_hidden()
    for summary in page.locator("summary").all():
        summary.click()
    for words in (
        "no pictures. Ask us.",
        "2001:db8::17",
        "Their privacy policy",
        "You haven’t shared anything",
    ):
        expect(page.get_by_text(words)).to_be_visible()
    assert page.evaluate(MEASURED)["faults"] == []


def test_enter_in_a_checkbox_answers_nothing(as_alice: Any, alice: Wallet, live_server: Any) -> None:
    page = as_alice
    open_question(page, live_server, alice, optional=BASIC[1:])
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.method))
    page.get_by_label("Family name").press("Enter")
    page.get_by_label("Family name").press("Space")
    expect(page.get_by_label("Family name")).to_be_checked()
    assert "POST" not in sent


def test_a_payment_is_approved_or_declined_at_the_end_by_keyboard_alone(
    as_alice: Any, alice: Wallet, live_server: Any
) -> None:
    page = as_alice
    open_question(page, live_server, alice, transactions=[rent()], return_to="/nowhere/")
    stops = []
    while not stops or stops[-1] != "Don’t approve":
        assert len(stops) < 20, stops
        page.keyboard.press("Tab")
        stops.append(plain(page.evaluate("document.activeElement.innerText")))
    assert stops[-2] == "Approve 950.00 USD"
    page.keyboard.press("Shift+Tab")
    with page.expect_request(lambda request: request.method == "POST") as sent:
        page.keyboard.press("Enter")
    assert "decision=share" in sent.value.post_data


def test_declining_is_also_at_the_top_and_leaves_a_receipt(
    as_alice: Any, alice: Wallet, live_server: Any
) -> None:
    page = as_alice
    open_question(page, live_server, alice, return_to="/nowhere/")
    with page.expect_request(lambda request: request.method == "POST") as sent:
        page.get_by_role("banner").get_by_role("button", name="Decline and go back").click()
    assert "decision=decline" in sent.value.post_data


FOCUSED = """() => {
  const focused = document.activeElement.getBoundingClientRect();
  const warning = document.querySelector(".time-warning"), inside = warning.contains(document.activeElement);
  const box = warning.getBoundingClientRect();
  return {
    name: document.activeElement.innerText?.trim().slice(0, 40),
    body: document.activeElement === document.body,
    hidden: !inside && focused.top < box.bottom - 1 && focused.bottom > box.top + 1,
    outside: focused.bottom > innerHeight + 1 || focused.top < -1,
  };
}"""


@pytest.mark.parametrize("size", [(320, 568), (390, 844)])
def test_no_focused_element_is_ever_under_the_warning(
    as_alice: Any, alice: Wallet, live_server: Any, size: tuple[int, int]
) -> None:
    """WCAG 2.2, 2.4.11, there and back by keyboard alone."""
    page = as_alice
    soon = timezone.now() + timedelta(seconds=100)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    ends = {"expires_at": soon, "extendable_until": soon + timedelta(hours=1)}
    open_question(page, live_server, alice, transactions=[rent()], **ends)
    page.get_by_role("button", name="Give me more time").wait_for()
    page.locator("summary").click()
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
    assert {"Their terms (opens in a new tab)", "Not you? Sign out"} <= {plain(name) for name in seen}


def test_every_state_of_the_page_is_for_everybody(as_alice: Any, alice: Wallet, live_server: Any) -> None:
    page, soon = as_alice, timezone.now() + timedelta(seconds=90)
    each_kind = [transaction(urn) for urn in TYPES]
    states = [
        *(ASKED[name][0] for name in ("optional claims", "passkey")),
        {"expires_at": soon, "extendable_until": soon + timedelta(hours=1), "transactions": each_kind},
    ]
    for state in states:
        open_question(page, live_server, alice, **state)
        if "expires_at" in state:
            page.get_by_text("This request ends at").wait_for()
        for summary in page.locator("summary").all():
            summary.click()
        page.set_viewport_size({"width": 320, "height": 844})
        assert_no_barriers_in_both_schemes(page)
