"""Whether a page is accessible, and fits a narrow and a wide window."""

import os
from typing import Any

from tests.barriers import assert_no_barriers_in_both_schemes

NARROWEST = 320  # the width in CSS pixels of WCAG 2.2 §1.4.10


def look(page: Any, name: str) -> None:
    """Checks accessibility in both schemes, and that nothing is wider than a narrow and a wide window.

    Takes a screenshot of each if SCREENSHOTS names a folder.
    """
    page.wait_for_load_state()  # before, a new page has no element yet
    for width, scheme in ((360, "light"), (360, "dark"), (1280, "light"), (1280, "dark")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        if folder := os.environ.get("SCREENSHOTS"):
            page.screenshot(path=f"{folder}/developer-{name}-{width}-{scheme}.png", full_page=True)
        assert not overflow(page)
    page.set_viewport_size({"width": NARROWEST, "height": 800})
    assert not overflow(page)
    assert_no_barriers_in_both_schemes(page)


def overflow(page: Any) -> list[str]:
    """The elements wider than the window; the page itself if there is no such element."""
    return page.evaluate(
        """() => {
            const root = document.documentElement;
            if (root.scrollWidth <= window.innerWidth) return [];
            const wide = [...document.querySelectorAll("main *")]
                .filter((one) => one.getBoundingClientRect().right > window.innerWidth);
            return ["page", ...wide.map((one) => one.outerHTML.slice(0, 120))];
        }"""
    )
