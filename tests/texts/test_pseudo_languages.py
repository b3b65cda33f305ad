"""Every page of a holder in two made-up languages: texts of double length, and from right to left.

No page scrolls sideways, no button is cut off, and no text of ours is without translation.
"""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings as project
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import override

from consent import decisions
from presentation.transaction_data.entries import display, parse
from tests.consent.conftest import as_alice  # noqa: F401
from tests.consent.questions import put
from tests.people import NORA, register
from tests.presentation.payloads import FULL, value
from tests.relying_party import RelyingParty
from tests.texts import pseudo
from tests.wallet.statuses import presented
from wallet.models import IdentityVerification, Wallet

pytestmark = [pytest.mark.browser, pytest.mark.gettext, pytest.mark.django_db(transaction=True)]

BIDI = [*project.LANGUAGES_BIDI, pseudo.MIRRORED]
# What stands for itself: names of languages, people and things, e-mail addresses, time zone, units, formats.
DATA = re.compile(
    r"\b[0-9A-F]{8}\b|[\w.+-]+@[\w.-]+|https?://\S+|[\w-]+\.example\S*|localhost(:\d+)?|127\.0\.0\.1(:\d+)?"
    r"|English|Español|Acme Bank|Alice|Archer|Nora|Example|Operator|Sandbox|United Kingdom"
    r"|UTC|QR|JPEG|PNG|WebP|MB|GB|IE|API|USD|EUR"
    r"|January|February|March|April|May|June|July|August|September|October|November|December"
)
OF_A_HOLDER = (
    *("wallet_home", "consent_history", "wallet_security", "wallet_passkey_add", "wallet_email_change"),
    *("wallet_data", "wallet_close", "what_is_kept", "wallet_recovery", "home", "wallet_signed_out"),
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


@pytest.fixture
def request_of(service: Any, signing_key: Any) -> Callable[[str], str]:
    """The address of a request of Acme Bank to a person."""
    callback = f"{service.url}/"
    party = register("Acme Bank", callback, purpose="To open your account.")
    bank = RelyingParty(party.client_id, callback, service.url)
    return lambda email: bank.authorize_url(login_hint=email)


def press(page: Any, selector: str) -> None:
    page.wait_for_load_state()
    page.locator(selector).first.click()
    page.wait_for_load_state()


def test_signing_in_and_the_identity_check(page: Any, look: Any, request_of: Any) -> None:
    page.goto(request_of(NORA))
    look()  # the address to confirm
    press(page, "main form button")
    look()  # the code
    code = page.locator(".banner-code").inner_text()
    page.locator("input[name=code]").fill(f"{(int(code) + 1) % 1_000_000:06}")  # submits itself
    page.locator(".error-summary").wait_for()
    look()  # a wrong code
    page.locator("input[name=code]").fill(code)
    page.wait_for_url("**/identity/")
    look()  # what happens in the check
    here = page.url
    press(page, "main form[action$='/start/'] button")
    look()  # the simulated check
    page.goto(here)
    look()  # a check that goes on
    for outcome in ("resubmit", "declined"):
        page.goto(here)
        press(page, "main a.button, main form[action$='/start/'] button")
        page.locator(f"input[name=outcome][value={outcome}]").check()
        press(page, "main form .button")
        look()
    IdentityVerification.objects.update(state="review")
    page.goto(here)
    look()


def test_the_question_and_what_comes_after_it(
    as_alice: Any,  # noqa: F811
    language: str,
    look: Any,
    alice: Wallet,
    service: Any,
    signing_key: Any,
) -> None:
    page, now = as_alice, timezone.now()
    with override(language):
        parameter = " ".join(value(urn) for urn in FULL)
        shown = [
            display(each) for each in parse(parameter, credential_ids=["basic"], allowed_types=list(FULL))
        ]
    consent = put(alice, transactions=shown)
    page.goto(f"{service.url}/consent/{consent.id}/")
    look()
    decisions.grant(consent.id, alice, now=now)
    presented(alice, reference=consent.id)
    page.reload()
    look()  # answered
    decisions.decline(put(alice).id, alice, now=now)
    for name in OF_A_HOLDER:
        page.goto(service.url + reverse(name))
        look()
    for name in ("consent_receipt", "consent_invalidate"):
        page.goto(service.url + reverse(name, args=[consent.id]))
        look()


def test_pages_without_a_session_and_errors(page: Any, look: Any, service: Any, request_of: Any) -> None:
    page.goto(service.url + reverse("wallet_front_door"))
    look()
    page.locator("input[name=email]").fill("x")
    press(page, "main form .button")
    look()  # an address that is none
    for path in (
        "/",
        "/nowhere/",
        "/wallet/link/" + "a" * 43 + "/",
        request_of(NORA).partition("?")[0][len(service.url) :],
    ):
        page.goto(service.url + path)
        look()
    page.goto(request_of(NORA))
    resume = page.locator("main a").last.get_attribute("href").replace("leave/", "")
    page.context.clear_cookies(name=project.BROWSER_COOKIE_NAME)
    page.goto(service.url + resume)
    look()  # a request that another browser began
