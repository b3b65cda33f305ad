"""How a page looks in a browser: accessible, fitting every screen, and as screenshots."""

import os
from typing import Any

from tests.barriers import assert_no_barriers_in_both_schemes


def assert_no_sideways_scroll(page: Any) -> None:
    """The page is never wider than a small phone, a phone or a desktop, also with text of 200 %."""
    page.wait_for_load_state()  # before, a new page has no element yet
    before, root = page.viewport_size, "document.documentElement"
    for text in ("200%", ""):
        page.evaluate(f"text => {{ {root}.style.fontSize = text; }}", text)
        for width in (320, 390, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            beyond = page.evaluate(f"{root}.scrollWidth - {root}.clientWidth")
            assert beyond <= 0, f"{page.url} scrolls sideways by {beyond} at {width}, {text or '100%'}"
    page.set_viewport_size(before)


def picture(page: Any, name: str) -> None:
    """Save screenshots in the folder SCREENSHOTS, from small phone to desktop, light and dark."""
    if not (folder := os.environ.get("SCREENSHOTS")):
        return
    for width, scheme in ((320, "light"), (390, "dark"), (1280, "light")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        page.screenshot(path=f"{folder}/{name}-{width}-{scheme}.png", full_page=True)


def check(page: Any) -> None:
    """Axe finds no violation in light and dark mode, and the page fits every screen."""
    assert_no_barriers_in_both_schemes(page)
    assert_no_sideways_scroll(page)
