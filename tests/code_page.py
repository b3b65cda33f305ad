"""How a person enters the code of a sign-in in a browser: one way for all tests, with and without scripts."""

from typing import Any

FORM = "form[data-submits-itself]"


def enter_code(page: Any, code: str = "") -> None:
    """Enter this code, or the one in the sandbox's banner, and wait for the page that answers.

    Scripts submit the form at its sixth digit, and say so beforehand; without them the button does. The page
    is loaded first, so that its script hears the digits. The answer is awaited, so that whatever the test
    opens next does not cut the request off.
    """
    page.locator(f"{FORM} input[name=code]").wait_for()
    page.wait_for_load_state()
    submits_itself = page.locator(f"{FORM} [data-says-so]").is_visible()
    with page.expect_navigation():
        page.locator(f"{FORM} input[name=code]").fill(code or page.locator(".banner-code").inner_text())
        if not submits_itself:
            page.locator(f"{FORM} button").click()
