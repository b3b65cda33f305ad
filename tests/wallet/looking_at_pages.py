"""What is checked of every page of the wallet in Chromium."""

import os
from typing import Any

from tests.barriers import assert_no_barriers
from tests.page_looks import assert_no_sideways_scroll


def look(page: Any, name: str, heading: str, *, narrow: bool = True) -> None:
    """Check the heading, accessibility and width of the page; save a screenshot in the folder SCREENSHOTS.

    narrow: whether it has to fit on a phone, as all pages of holders do.
    """
    page.get_by_role("heading", level=1, name=heading).wait_for()
    page.wait_for_load_state()
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=f"{folder}/wallet-{name}.png", full_page=True)
    assert_no_barriers(page)
    if narrow:
        assert_no_sideways_scroll(page)
