"""Every page of a holder in two made-up languages: texts of double length, and from right to left.

No page scrolls sideways, no button is cut off, and no text of ours is without translation.
"""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings as project
from django.utils.translation import override

from tests.journeys import every_page
from tests.texts import pseudo
from wallet.models import Wallet

pytestmark = [pytest.mark.browser, pytest.mark.gettext, pytest.mark.django_db(transaction=True)]

BIDI = [*project.LANGUAGES_BIDI, pseudo.MIRRORED]
# What stands for itself: names of languages, people and things, e-mail addresses, time zone, units, formats.
DATA = re.compile(
    r"\b[0-9A-F]{8}\b|[\w.+-]+@[\w.-]+|https?://\S+|[\w-]+\.example\S*|localhost(:\d+)?|127\.0\.0\.1(:\d+)?"
    r"|English|Español|Acme Bank|Alice|Archer|Nora|Example|Operator|Sandbox|United Kingdom"
    r"|UTC|QR|JPEG|PNG|WebP|MB|GB|IE|API|USD|EUR"
    r"| and "  # between the last two of a list, by CLDR
    r"|January|February|March|April|May|June|July|August|September|October|November|December"
)
SHOWN = """() => {
  const texts = [document.title];
  const skipped = "time, bdi, code, .mono, .banner-code, script, style, noscript, footer p, [lang]:not(html)";
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!element.closest(skipped) && element.checkVisibility()) texts.push(walker.currentNode.textContent);
  }
  for (const element of document.querySelectorAll("[aria-label], [title], [alt], [placeholder]")) {
    const said = ["aria-label", "title", "alt", "placeholder"].map((name) => element.getAttribute(name));
    texts.push(...said);
  }
  return texts.map((text) => (text ?? "").trim()).filter((text) => text);
}"""
CUT = """() => [...document.querySelectorAll("button, .button, input, select, summary, h1")]
  .filter((element) => element.clientWidth && element.scrollWidth > element.clientWidth + 1)
  .map((element) => element.textContent.trim() || element.name)"""


@pytest.fixture(scope="module")
def catalogues(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return pseudo.written(tmp_path_factory.mktemp("locale"))


@pytest.fixture(params=[pseudo.LONG, pseudo.MIRRORED])
def language(request: pytest.FixtureRequest, catalogues: Any, settings: Any, page: Any, service: Any) -> str:
    """One of the two languages, which this browser has chosen."""
    settings.LANGUAGES = [*project.LANGUAGES, *pseudo.LANGUAGES]
    settings.LANGUAGES_BIDI = BIDI
    settings.LOCALE_PATHS = [str(catalogues)]
    cookie = {"name": settings.LANGUAGE_COOKIE_NAME, "value": request.param, "url": service.url}
    page.context.add_cookies([cookie])
    return str(request.param)


@pytest.fixture
def look(page: Any, language: str) -> Callable[[], None]:
    """Checks the page that is open."""

    def look() -> None:
        page.wait_for_load_state()
        assert page.evaluate("document.documentElement.lang") == language
        direction = "rtl" if language == pseudo.MIRRORED else "ltr"
        assert page.evaluate("getComputedStyle(document.querySelector('h1')).direction") == direction
        bare = [text for text in page.evaluate(SHOWN) if re.search("[A-Za-z]{2}", DATA.sub("", text))]
        assert not bare, f"not translated on {page.url}: {bare}"
        for width in (320, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            root = "document.documentElement"
            assert page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth"), f"{page.url} at {width}"
            assert page.evaluate(CUT) == [], f"cut off on {page.url} at {width}"

    return look


def test_signing_in_and_the_identity_check(page: Any, look: Any, service: Any, signing_key: Any) -> None:
    every_page.signing_in_and_the_identity_check(page, look, every_page.request_of_a_bank(service))


def test_the_question_and_what_comes_after_it(
    as_alice: Any,
    language: str,
    look: Any,
    alice: Wallet,
    service: Any,
    signing_key: Any,
) -> None:
    with override(language):
        every_page.the_question_and_what_comes_after_it(as_alice, look, alice, service)


def test_pages_without_a_session_and_errors(page: Any, look: Any, service: Any, signing_key: Any) -> None:
    every_page.pages_without_a_session_and_errors(page, look, service, every_page.request_of_a_bank(service))
