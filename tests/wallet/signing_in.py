"""Signing in to a wallet in Chromium."""

from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.test import RequestFactory
from django.utils import timezone

from tests.code_page import enter_code
from tests.wallet.browser_redirect_tasks import SECRET
from tests.wallet.looking_at_pages import look
from wallet.models import Wallet
from wallet.sign_in import sessions


def sign_in(visit: Any) -> Any:
    """Sign in with a code from the page, after a wrong one; every page on the way is looked at."""
    page = visit("wallet_sign_in")
    look(page, "sign-in", "Confirm your e-mail address")
    page.get_by_role("button", name="Send me a code").click()
    look(page, "code", "Enter the code")
    code = page.locator(".banner-code").inner_text()
    enter_code(page, f"{(int(code) + 1) % 1_000_000:06}")
    page.get_by_text("You can try 4 more times").first.wait_for()
    look(page, "code-wrong", "Enter the code")
    # Typed after the field's content, so this also shows that the wrong code was removed.
    page.get_by_label("Code from the e-mail").press_sequentially(f"{code[:3]} {code[3:]}")
    page.wait_for_url("**/signed-out/?done")
    return page


def let_in(context: Any, nora: Wallet, live_server: Any) -> None:
    """Sign Nora in in the browser of her redirect task."""
    response = HttpResponse()
    sessions.start(RequestFactory().get("/"), response, nora, now=timezone.now())
    cookies = {
        settings.HOLDER_COOKIE_NAME: response.cookies[settings.HOLDER_COOKIE_NAME].value,
        settings.BROWSER_COOKIE_NAME: SECRET,
    }
    context.add_cookies(
        [{"name": name, "value": value, "url": live_server.url} for name, value in cookies.items()]
    )
