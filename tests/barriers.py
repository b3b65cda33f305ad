"""What axe finds on a page in Chromium. The same page is not searched twice in one run."""

import json
import re
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT, AxeResults

EVERY_RULE: dict[str, Any] = {"preload": False, "resultTypes": ["violations"]}
TARGET_SIZE = EVERY_RULE | {"runOnly": ["target-size"]}  # WCAG 2.2, 2.5.8; only where it is asked for
CONTRAST = EVERY_RULE | {"runOnly": ["color-contrast"]}
DARK = "matchMedia('(prefers-color-scheme: dark)').matches"
IN_THE_PAGE = "typeof axe === 'object'"
# Only what is to be said of violations: the whole result has as much of every element that passed.
VIOLATIONS = "options => axe.run(document, options).then(({ violations }) => ({ violations }))"
VARYING = re.compile(r"[\w-]*\d[\w-]*")  # tokens, identifiers, times and other words with digits
_searched: set[tuple[Any, ...]] = set()


def assert_no_barriers(page: Any, options: dict[str, Any] = EVERY_RULE) -> None:
    """Axe finds no violation on the page as it is shown once it is loaded."""
    page.wait_for_load_state()
    markup = VARYING.sub("0", page.content())
    key = (json.dumps(options), page.viewport_size["width"], page.evaluate(DARK), hash(markup))
    if key in _searched:
        return
    if not page.evaluate(IN_THE_PAGE):
        page.evaluate(AXE_SCRIPT)
    found = AxeResults(page.evaluate(VIOLATIONS, options))
    assert not found.violations_count, f"{page.url}: {found.generate_report()}"
    _searched.add(key)


def assert_no_barriers_in_both_schemes(page: Any) -> None:
    """Every rule in the light scheme; in the dark one, what differs there: the contrast of colours."""
    for scheme, options in (("dark", CONTRAST), ("light", EVERY_RULE)):
        page.emulate_media(color_scheme=scheme)
        assert_no_barriers(page, options)
