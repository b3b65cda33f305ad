"""The page for the code in Chromium: it submits itself, and shows when another code can be requested."""

import random
import re
import unicodedata
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from infra.typed_digits import six_digits
from tests.wallet.looking_at_pages import look
from wallet.models import HolderSession, LoginCode, RedirectTask

UNSEEN = "\u200b\u200d\u200e\u2066\u2069\ufeff\u00ad\ufe0f\u20e3\u2800\u00a0\u3000\u2009\u2212\u2013\u2011"

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def code_page(visit: Any) -> Any:
    page = visit("wallet_sign_in")
    page.get_by_role("button", name="Send me a code").click()
    look(page, "code", "Enter the code")
    return page


def right(page: Any) -> str:
    return str(page.locator(".banner-code").inner_text())


def wrong(page: Any) -> str:
    return f"{(int(right(page)) + 1) % 1_000_000:06}"


def paste(field: Any, text: str) -> None:
    """As the browser does it: one insertion, and one event."""
    field.focus()
    field.evaluate("(field, text) => document.execCommand('insertText', false, text)", text)


def fill_in(field: Any, text: str) -> None:
    """As the phone does it with a code from a message: it sets the value and says so."""
    script = """(field, text) => {
        field.value = text;
        field.dispatchEvent(new Event("input", { bubbles: true }));
        field.dispatchEvent(new Event("change", { bubbles: true }));
    }"""
    field.evaluate(script, text)


def test_the_sixth_digit_that_is_typed_submits_the_code(code_page: Any) -> None:
    field = code_page.get_by_label("Code from the e-mail")
    expect(code_page.get_by_text("After the sixth digit, we check the code at once.")).to_be_visible()

    field.press_sequentially(right(code_page))

    code_page.wait_for_url("**/signed-out/?done")


@pytest.mark.parametrize(
    "written",
    [
        "{0}{1}",
        "{0} {1}",
        " {0}-{1} ",
        "{0}\u2002{1}",
        "\u200e“{0} {1}” is your sign-in code. It works for 10 minutes.",
    ],
)
def test_a_pasted_code_submits_itself(code_page: Any, written: str) -> None:
    code = right(code_page)

    paste(code_page.get_by_label("Code from the e-mail"), written.format(code[:3], code[3:]))

    code_page.wait_for_url("**/signed-out/?done")


def test_a_code_that_the_phone_fills_in_submits_itself(code_page: Any) -> None:
    fill_in(code_page.get_by_label("Code from the e-mail"), right(code_page))

    code_page.wait_for_url("**/signed-out/?done")


def test_a_code_that_is_quicker_than_the_script_submits_itself(visit: Any) -> None:
    page, scripts = visit("wallet_sign_in"), []
    page.route("**/code*.js", lambda route: scripts.append(route))
    page.get_by_role("button", name="Send me a code").click(no_wait_after=True)
    page.get_by_label("Code from the e-mail").fill(right(page))

    scripts[0].continue_()

    page.wait_for_url("**/signed-out/?done")


def test_a_wrong_code_is_not_submitted_by_itself_again_until_it_changes(code_page: Any) -> None:
    bad = wrong(code_page)
    sent = []
    code_page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    fill_in(code_page.get_by_label("Code from the e-mail"), bad)
    code_page.get_by_text("You can try 4 more times").first.wait_for()
    code_page.wait_for_load_state()  # so that the script hears what is filled in
    assert code_page.title().startswith("Error: ")

    fill_in(code_page.get_by_label("Code from the e-mail"), bad)
    fill_in(code_page.get_by_label("Code from the e-mail"), f"{bad[:3]} {bad[3:]}")
    assert len(sent) == 1
    assert LoginCode.objects.get().tries_left == 4

    fill_in(code_page.get_by_label("Code from the e-mail"), right(code_page))
    code_page.wait_for_url("**/signed-out/?done")
    assert len(sent) == 2


@pytest.mark.parametrize("written", ["12345", "12345a", "1234567", "abcdef", ""])
def test_what_is_no_code_is_not_submitted(code_page: Any, written: str) -> None:
    sent = []
    code_page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)

    fill_in(code_page.get_by_label("Code from the e-mail"), written)

    assert code_page.evaluate("new Promise((done) => setTimeout(() => done(document.forms.length), 100))")
    assert sent == []


def test_the_page_reads_every_text_as_the_server_does(code_page: Any) -> None:
    """Each text is typed into the field; what the script would submit is compared."""
    chance = random.Random(39)  # noqa: S311 (the same texts in every run)
    scripts = [point for point in range(0x110000) if unicodedata.decimal(chr(point), None) == 0]
    every_digit = [chr(zero + digit) for zero in scripts for digit in range(10)]
    pieces = [*"0123456789" * 3, *" -.·,:'’“”()/+=aGé数ي²½①٣४\t", *UNSEEN, "123456", "code ", "１２３"]  # noqa: RUF001
    texts = ["".join(chance.choices(pieces, k=chance.randint(1, 14))) for _ in range(3000)]
    texts += ["".join(every_digit[start : start + 6]) for start in range(0, len(every_digit), 6)]
    texts += ["9" * 995 + " 123456", " " * 994 + "123456"]

    read = code_page.evaluate(
        """(texts) => {
            const form = document.querySelector("form[data-submits-itself]");
            const field = form.querySelector("input[autocomplete='one-time-code']");
            form.requestSubmit = () => form.dispatchEvent(new Event("submit"));
            return texts.map((text) => {
                sessionStorage.clear();
                field.value = text;
                field.dispatchEvent(new Event("input", { bubbles: true }));
                return sessionStorage.getItem(`code:${location.pathname}`) ?? "";
            });
        }""",
        texts,
    )

    differ = {
        t: (page, six_digits(t)) for t, page in zip(texts, read, strict=True) if page != (six_digits(t) or "")
    }
    assert differ == {}
    assert len(set(read)) > 100


def test_the_next_code_has_a_countdown_and_a_time(code_page: Any) -> None:
    button = code_page.get_by_role("button", name="Send a new code")
    sentence = code_page.get_by_text("You can ask for a new code at")
    assert re.fullmatch(r"Send a new code \([01]:\d\d\)", button.inner_text())
    expect(button).to_have_attribute("aria-disabled", "true")
    expect(sentence).to_be_visible()

    RedirectTask.objects.update(code_sent_at=timezone.now() - timedelta(minutes=2))
    code_page.evaluate("Date.now = () => new Date().getTime() + 60_000")

    expect(button).to_have_text("Send a new code")
    expect(sentence).to_be_hidden()
    button.click()
    look(code_page, "code-new", "Enter the code")


def test_without_script_the_button_submits(browser: Any, visit: Any, live_server: Any) -> None:
    page = visit("wallet_sign_in")
    plain = browser.new_context(java_script_enabled=False)
    plain.add_cookies(page.context.cookies())
    page = plain.new_page()
    page.goto(f"{live_server.url}/wallet/errands/{visit.redirect_task.id}/sign-in/")
    page.get_by_role("button", name="Send me a code").click()
    assert not page.get_by_text("After the sixth digit").is_visible()
    page.get_by_label("Code from the e-mail").fill(right(page))
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url("**/signed-out/?done")
    plain.close()


def test_who_signs_in_gets_emails_with_the_times_of_their_browser(code_page: Any) -> None:
    code_page.get_by_label("Code from the e-mail").press_sequentially(right(code_page))
    code_page.wait_for_url("**/signed-out/?done")

    zone = code_page.evaluate("Intl.DateTimeFormat().resolvedOptions().timeZone")
    assert HolderSession.objects.get().time_zone == zone != ""
