"""The consent pages in a real browser: accessible, on every screen size, and safe with the back button."""

import re
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone
from playwright.sync_api import expect

from consent import decisions
from consent.models import Consent
from consent.receipts import PAGE_SIZE
from presentation.models import Interaction, RelyingParty
from presentation.transaction_data.entries import display, parse
from presentation.transaction_data.types import TYPES
from tests.consent.questions import ACME, BASIC, LONG, WIRE, put
from tests.page_looks import check, picture
from tests.people import register
from tests.presentation.payloads import ITEMIZED, around
from tests.presentation.requests.deciding import ask
from tests.wallet.statuses import INVALID, SUSPENDED, VALID, presented
from wallet.models import StatusEntry, Wallet

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


# Whether a click of the pointer on the button that shares would reach it.
REACHED = """() => {
  const button = document.querySelector("button[value=share]");
  button.scrollIntoView({ block: "center" });
  const { x, y, width, height } = button.getBoundingClientRect();
  return document.elementFromPoint(x + width / 2, y + height / 2) === button;
}"""


@pytest.fixture
def question(
    page: Any, client: Client, alice: Wallet, live_server: Any, signing_key: Any, sign_in: Any
) -> str:
    """The address of a question to Alice, whose `return_to` is a page for everybody."""
    sign_in(alice)
    home = f"{live_server.url}/what-is-kept/"
    asked = ask(client, register("Acme Bank", home), redirect_uri=home)
    for name in (settings.HOLDER_COOKIE_NAME, settings.BROWSER_COOKIE_NAME):
        page.context.add_cookies(
            [{"name": name, "value": client.cookies[name].value, "url": live_server.url}]
        )
    return f"{live_server.url}{asked}"


@pytest.mark.parametrize("requester", [None, LONG])
def test_the_question_is_for_everybody(
    as_alice: Any, alice: Wallet, live_server: Any, requester: Any
) -> None:
    changes = {"requester": requester} if requester else {}
    as_alice.goto(f"{live_server.url}/consent/{put(alice, transactions=[WIRE], **changes).id}/")
    check(as_alice)


def bill(*lines: tuple[str, int, str]) -> dict[str, Any]:
    """A transaction with a bill, from the label, quantity and price of each item."""
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
        card = as_alice.locator(".sheet").bounding_box()
        figures = as_alice.locator(".unbroken, .items td bdi").all()
        assert len(figures) > 4
        for figure in figures:
            box, words = figure.bounding_box(), figure.inner_text()
            lines = figure.evaluate("element => element.getClientRects().length")
            assert lines == 1, f"{words} is broken at {width}"
            assert card["x"] < box["x"], f"{words} at {width}"
            assert box["x"] + box["width"] < card["x"] + card["width"], f"{words} at {width}"
    expect(as_alice.locator(".transaction")).to_contain_text("\N{MINUS SIGN}")
    check(as_alice)


def receipts_in_every_state(alice: Wallet) -> dict[str, Consent]:
    """Receipts in every state: shared, invalidated, suspended, declined and undelivered."""
    now, kept = timezone.now(), {}
    for size, requester in (("short", ACME), ("long", LONG)):
        for state in ("shared", "over", "taken back", "suspended", "not shared", "undelivered", "nothing"):
            claims = [] if state == "nothing" else BASIC
            consent = put(alice, requester=requester, transactions=[WIRE], claims=claims)
            (decisions.decline if state == "not shared" else decisions.grant)(consent.id, alice, now=now)
            if state not in ("not shared", "over"):
                entry = presented(alice, reference=consent.id)
                status = {"taken back": INVALID, "suspended": SUSPENDED}.get(state, VALID)
                StatusEntry.objects.filter(pk=entry.pk).update(status=status)
            if state == "undelivered":
                decisions.note_undelivered(consent.id, now=now)
            kept[f"{state}, {size}"] = consent
    return kept


def test_the_receipts_are_for_everybody(
    as_alice: Any, alice: Wallet, live_server: Any, signing_key: Any
) -> None:
    kept = receipts_in_every_state(alice)
    as_alice.goto(f"{live_server.url}/wallet/history/?invalidated={kept['taken back, long'].id}")
    expect(as_alice.get_by_role("status")).to_be_visible()
    expect(as_alice.get_by_text("You said yes, but nothing was shared")).to_have_count(2)
    expect(as_alice.get_by_role("link", name="Take back")).to_have_count(6)
    for summary in as_alice.locator("summary").all():
        summary.click()
    picture(as_alice, "receipts")
    check(as_alice)


def test_many_receipts_and_none_are_for_everybody(as_alice: Any, alice: Wallet, live_server: Any) -> None:
    as_alice.goto(f"{live_server.url}/wallet/history/")
    picture(as_alice, "receipts-none")
    check(as_alice)
    for _ in range(PAGE_SIZE + 1):
        decisions.decline(put(alice).id, alice, now=timezone.now())
    as_alice.goto(f"{live_server.url}/wallet/history/")
    as_alice.get_by_role("link", name="Older").click()
    expect(as_alice.get_by_role("article")).to_have_count(1)
    check(as_alice)
    as_alice.get_by_role("link", name="Newer").click()
    expect(as_alice.get_by_role("article")).to_have_count(PAGE_SIZE)


@pytest.mark.parametrize("why", ["granted", "declined", "other"])
def test_a_closed_question_is_for_everybody(
    as_alice: Any, alice: Wallet, bob: Wallet, live_server: Any, why: str
) -> None:
    consent = put(bob if why == "other" else alice, requester=LONG)
    if why in ("granted", "declined"):
        (decisions.grant if why == "granted" else decisions.decline)(consent.id, alice, now=timezone.now())
    as_alice.goto(f"{live_server.url}/consent/{consent.id}/")
    picture(as_alice, f"closed-{why}")
    check(as_alice)


ENDS = {
    "a yes": ("share", "You said yes to"),
    "a no": ("decline", "You said no to"),
    "too late": (None, "It was open for a limited time, and nothing was shared"),
}


@pytest.mark.parametrize("end", [*ENDS, "another browser", "an unknown address"])
def test_the_page_of_a_request_that_is_over_is_for_everybody(
    page: Any, question: str, client: Client, live_server: Any, end: str
) -> None:
    hub = Consent.objects.get().return_to
    decision, words = ENDS.get(end, (None, "Opening this page shared nothing"))
    if decision:
        client.post(hub, {"decision": decision})
    elif end == "too late":
        Interaction.objects.update(expires_at=timezone.now())
    elif end == "another browser":
        page.context.clear_cookies()
    else:
        Interaction.objects.all().delete()
    RelyingParty.objects.update(name=LONG.name[:100])
    page.goto(f"{live_server.url}{hub}")
    expect(page.locator("main")).to_contain_text(words)
    picture(page, f"gone-{end.replace(' ', '-')}")
    check(page)


def test_back_after_an_answer_shows_the_answer_and_not_the_question(
    page: Any, question: str, live_server: Any
) -> None:
    page.goto(question)
    page.get_by_role("button", name="Share these details").click()
    expect(page).to_have_url(re.compile(f"{live_server.url}/what-is-kept/#vp_token=ey"))
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("You have already answered")
    expect(page.locator("body")).not_to_have_text(re.compile("Archer"))
    check(page)


def test_a_click_that_comes_as_the_page_comes_into_sight_decides_nothing(page: Any, question: str) -> None:
    """The second click of a double click, whose first one brought the page under the pointer."""
    consent = Consent.objects.get()
    page.goto(question)
    share = page.locator("button[value=share]")
    share.click()  # waits until the pointer reaches the button
    page.wait_for_url(lambda url: "#vp_token=" in url)
    consent.refresh_from_db()
    assert consent.decision == "granted"

    Consent.objects.update(decision="asked", decided_at=None)
    for event in ("focus", "visibilitychange"):
        page.goto(f"{question}?{event}")
        page.wait_for_function(REACHED)
        target = "window" if event == "focus" else "document"
        assert not page.evaluate(f"{target}.dispatchEvent(new Event('{event}')) && ({REACHED})()")
        expect(share).to_be_enabled()
        assert share.get_attribute("aria-disabled") is None
        page.wait_for_function(REACHED)
