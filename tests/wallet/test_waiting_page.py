"""The page that waits for an identity check, in Chromium: it continues by itself without disturbance."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Error, expect

from sandbox.models import PickedOutcome
from tests.wallet.attempts import attempt_in
from tests.wallet.browser_redirect_tasks import make_redirect_task
from tests.wallet.signing_in import let_in
from wallet.models import HolderSession, IdentityVerification, RedirectTask, Wallet

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LAST_WORDS = "There is news about your check. We are opening it now."


@pytest.fixture
def slow(nora: Wallet) -> RedirectTask:
    """A redirect task of Nora, whose slow identity check is in progress."""
    now = timezone.now()
    signed_out = reverse("wallet_signed_out")  # a page that needs no sign-in
    redirect_task = make_redirect_task(
        Client(), now=now, return_to=f"{signed_out}?done", leave_to=f"{signed_out}?left"
    )
    attempt = attempt_in("processing", nora, now, redirect_task=redirect_task)
    PickedOutcome.objects.create(verification=attempt, outcome="slow", picked_at=now)
    return redirect_task


def it_is_decided(outcome: str = "slow") -> None:
    PickedOutcome.objects.update(outcome=outcome, picked_at=timezone.now() - timedelta(minutes=2))


# The page's timers fire only when the test calls them; that by which deadline.js looks at the clock, never.
TIMERS = """
window.timers = [];
window.setTimeout = (act, pause) => pause === 15_050 ? 0 : timers.push({act, pause});
window.clearTimeout = (number) => { if (timers[number - 1]) timers[number - 1].act = null; };
"""


@pytest.fixture
def waiting(page: Any, nora: Wallet, slow: RedirectTask, live_server: Any) -> Any:
    """The page, with timers that the test controls."""
    let_in(page.context, nora, live_server)
    page.add_init_script(TIMERS)
    page.goto(live_server.url + reverse("wallet_identity", args=[slow.id]))
    expect(page.get_by_role("heading", level=1)).to_have_text("Checking your identity")
    return page


def pause_before(page: Any, number: int) -> int:
    """The delay of the page's timer with this number in milliseconds, once it is set."""
    for _ in range(3000):
        if pause := page.evaluate("number => window.timers?.[number]?.pause", number):
            return int(pause)
        page.wait_for_timeout(10)
    raise AssertionError(f"the page has set no timer {number}")


def goes_off(page: Any, number: int) -> int:
    """Fire the timer, and return its delay in milliseconds."""
    pause = pause_before(page, number)
    page.evaluate("number => { timers[number].act(); }", number)
    return pause


def questions(page: Any) -> list[str]:
    """The requests that the page's script sends from now on."""
    asked: list[str] = []
    page.on(
        "request", lambda request: asked.append(request.url) if request.resource_type == "fetch" else None
    )
    return asked


def test_focus_and_page_stay_while_it_asks(waiting: Any) -> None:
    asked = questions(waiting)
    waiting.get_by_role("link", name="Check again").focus()
    waiting.evaluate("document.body.dataset.untouched = 'yes'")
    for number in range(3):
        goes_off(waiting, number)
    pause_before(waiting, 3)
    expect(waiting.get_by_role("link", name="Check again")).to_be_focused()
    expect(waiting.locator("body[data-untouched=yes]")).to_have_count(1)
    assert len(asked) == 3


def test_what_has_changed_is_announced_where_it_stands(waiting: Any) -> None:
    waiting.get_by_role("link", name="Check again").focus()
    IdentityVerification.objects.update(changed_at=timezone.now() - timedelta(seconds=61))
    goes_off(waiting, 0)
    announced = waiting.get_by_role("status")
    expect(announced).to_have_text("This takes longer than usual. This page updates by itself.")
    expect(waiting.get_by_role("heading", level=1)).to_have_text("Still checking your identity")
    expect(waiting.get_by_role("link", name="Check again")).to_be_focused()


@pytest.mark.parametrize(
    ("outcome", "heading"),
    [("slow", "You are signed out"), ("declined", "Your identity could not be confirmed")],
)
def test_when_it_is_decided_the_page_says_so_and_goes_on(waiting: Any, outcome: str, heading: str) -> None:
    it_is_decided(outcome)
    goes_off(waiting, 0)
    expect(waiting.get_by_role("status")).to_have_text(LAST_WORDS)
    expect(waiting.get_by_role("heading", level=1)).to_have_text("Checking your identity")
    goes_off(waiting, 1)
    expect(waiting.get_by_role("heading", level=1)).to_have_text(heading)


def test_a_holder_who_was_signed_out_elsewhere_is_redirected_as_well(waiting: Any) -> None:
    HolderSession.objects.all().delete()
    goes_off(waiting, 0)
    goes_off(waiting, 1)
    expect(waiting.get_by_role("heading", level=1)).to_have_text("Confirm your e-mail address")


def test_it_asks_less_and_less_often(waiting: Any) -> None:
    pauses = [goes_off(waiting, number) for number in range(10)]
    assert pauses[0] == 5_000
    assert all(longer > shorter for shorter, longer in zip(pauses[:8], pauses[1:9], strict=True))
    assert pauses[-1] == 30_000


def test_it_asks_nothing_while_nobody_sees_it_and_at_once_when_it_is_seen_again(waiting: Any) -> None:
    asked = questions(waiting)
    see = """hidden => {
        Object.defineProperty(document, 'hidden', {value: hidden, configurable: true});
        document.dispatchEvent(new Event('visibilitychange'));
    }"""
    pause_before(waiting, 0)
    waiting.evaluate(see, True)
    assert waiting.evaluate("timers.filter(timer => timer.act).length") == 0
    with waiting.expect_request(lambda request: request.resource_type == "fetch"):
        waiting.evaluate(see, False)
    assert pause_before(waiting, 1) == 5_000
    assert len(asked) == 1


def test_without_a_connection_it_asks_again_later(waiting: Any) -> None:
    waiting.context.set_offline(True)
    with waiting.expect_event("requestfailed"):
        goes_off(waiting, 0)
    pause_before(waiting, 1)
    waiting.context.set_offline(False)
    expect(waiting.get_by_role("heading", level=1)).to_have_text("Checking your identity")
    it_is_decided()
    goes_off(waiting, 1)
    expect(waiting.get_by_role("status")).to_have_text(LAST_WORDS)


def test_back_to_the_page_asks_at_once(waiting: Any, live_server: Any) -> None:
    pause_before(waiting, 0)
    it_is_decided()
    waiting.goto(live_server.url + reverse("wallet_front_door"))
    waiting.go_back()
    for _ in range(3000):  # a reloaded page redirects at once; one from memory first asks the server
        if waiting.url.endswith("?done"):
            return
        with suppress(Error):  # the page is navigating
            waiting.evaluate("window.timers?.splice(0).forEach((timer) => timer.act?.())")
        waiting.wait_for_timeout(10)
    raise AssertionError(waiting.url)


@pytest.fixture
def without_scripts(browser: Any) -> Iterator[Any]:
    context = browser.new_context(java_script_enabled=False, viewport={"width": 320, "height": 640})
    yield context.new_page()
    context.close()


def test_without_scripts_the_page_refreshes_itself(
    without_scripts: Any, nora: Wallet, slow: RedirectTask, live_server: Any
) -> None:
    let_in(without_scripts.context, nora, live_server)
    without_scripts.goto(live_server.url + reverse("wallet_identity", args=[slow.id]))
    expect(without_scripts.get_by_role("heading", level=1)).to_have_text("Checking your identity")
    it_is_decided()
    without_scripts.wait_for_url("**/signed-out/?done", timeout=60_000)
