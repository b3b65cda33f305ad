"""The e-mails as a phone shows them: nothing scrolls sideways, and everybody can read them."""

from typing import Any

import pytest

from tests.barriers import EVERY_RULE, assert_no_barriers
from tests.email_sheet import written
from tests.page_looks import assert_no_sideways_scroll
from tests.presentation.relying_parties.png_files import PNG

pytestmark = pytest.mark.browser

# Rules of WCAG; the others are about the landmarks and headings of web pages.
WCAG = EVERY_RULE | {"runOnly": ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"]}


@pytest.mark.parametrize("language", ["en-gb", "es"])
def test_every_email_can_be_read_on_a_phone_by_everybody(page: Any, language: str) -> None:
    messages = written(language, PNG)
    assert len({message.subject for message in messages}) > 20

    for message in messages:
        page.set_content(message.html)
        assert_no_sideways_scroll(page)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert_no_barriers(page, WCAG)
