"""Every page of a holder, for everybody: screen readers, keyboards, large text, narrow screens.

WCAG 2.2: axe in both schemes at 320 px and in the light one at 1280 px, 1.4.4 (200 % text), 1.4.10 (no
sideways scrolling), 1.4.11 (borders where the system chooses the colours), 2.1.1 and 2.4.7 (every control is
reached and shows it).
"""

from collections.abc import Callable
from typing import Any

import pytest

from tests.barriers import assert_no_barriers, assert_no_barriers_in_both_schemes
from tests.journeys import every_page
from tests.page_looks import assert_no_sideways_scroll
from wallet.models import Wallet

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

BORDERLESS = """() => [...document.querySelectorAll(".button, input")]
  .filter((element) => element.checkVisibility() && !["hidden", "radio", "checkbox"].includes(element.type))
  .filter((element) => parseFloat(getComputedStyle(element).borderTopWidth) === 0)
  .map((element) => element.outerHTML)"""
CONTROLS = """() => [...document.querySelectorAll("a[href], button, input, select, summary")]
  .filter((element) => element.type !== "hidden" && !element.disabled)
  .filter((element) => element.checkVisibility({ visibilityProperty: true }))
  .filter((element) => element.type !== "radio" || element.checked || !element.form.querySelector(":checked"))
  .map((element, number) => { element.dataset.control = number; return number; })"""
FOCUSED = """() => {
  const element = document.activeElement, style = getComputedStyle(element);
  const seen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  const start = element.outerHTML.slice(0, 100);
  return [element.dataset.control ?? null, seen || element === document.body, start];
}"""


def by_keyboard(page: Any) -> None:
    """Every control is reached with the tab key, and has an outline then. A group of radios is one stop."""
    page.evaluate("document.activeElement.blur()")
    waiting = {str(number) for number in page.evaluate(CONTROLS)}
    radios = page.evaluate("document.querySelectorAll('input[type=radio]').length")
    for _step in range(len(waiting) + 5):
        page.keyboard.press("Tab")
        control, seen, html = page.evaluate(FOCUSED)
        assert seen, f"no focus to be seen on {page.url}: {html}"
        waiting.discard(control)
    assert len(waiting) <= max(radios - 1, 0), f"not reached on {page.url}: {waiting}"


@pytest.fixture
def look(page: Any) -> Callable[[], None]:
    """Checks the page that is open."""

    def look() -> None:
        page.wait_for_load_state()
        for width in (320, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            (assert_no_barriers_in_both_schemes if width == 320 else assert_no_barriers)(page)
        assert_no_sideways_scroll(page)
        page.emulate_media(color_scheme="light", forced_colors="active")
        assert page.evaluate(BORDERLESS) == [], page.url
        page.emulate_media(forced_colors="none")
        by_keyboard(page)

    return look


def test_signing_in_and_the_identity_check(page: Any, look: Any, service: Any, signing_key: Any) -> None:
    every_page.signing_in_and_the_identity_check(page, look, every_page.request_of_a_bank(service))


def test_the_question_and_what_comes_after_it(
    as_alice: Any,
    look: Any,
    alice: Wallet,
    service: Any,
    signing_key: Any,
) -> None:
    every_page.the_question_and_what_comes_after_it(as_alice, look, alice, service)


def test_pages_without_a_session_and_errors(page: Any, look: Any, service: Any, signing_key: Any) -> None:
    every_page.pages_without_a_session_and_errors(page, look, service, every_page.request_of_a_bank(service))
