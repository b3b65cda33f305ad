"""Downloading one’s data and closing one’s wallet in Chromium, with both files opened from the disk."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as configured
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from playwright.sync_api import expect

from presentation.models import RelyingParty
from sandbox.models import MailboxEmail
from tests.code_page import enter_code
from tests.people import ALICE
from tests.personal_data import TRANSACTION_DATA
from tests.presentation.requests.deciding import SignIn, ask, decide
from tests.wallet.looking_at_pages import look
from wallet.models import HolderSession, Wallet, WalletClosure

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def signed_in(
    page: Any,
    service: Any,
    client: Client,
    alice: Wallet,
    acme_bank: RelyingParty,
    sign_in: SignIn,
    signing_key: Any,
) -> Any:
    """Alice’s browser, after she approved a payment."""
    sign_in(alice)
    client.get(decide(client, ask(client, acme_bank, transaction_data=TRANSACTION_DATA)))
    _become(page, service, client)
    return page


def _become(page: Any, service: Any, client: Client) -> None:
    name = configured.HOLDER_COOKIE_NAME
    page.context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": service.url}])


def confirms(page: Any) -> None:
    """The page that asks who is there, and the code from the sandbox’s mailbox."""
    page.get_by_role("button", name="Send me a code").click()
    enter_code(page)


def saved(page: Any, link: str, folder: Path) -> Path:
    with page.expect_download() as begun:
        page.get_by_role("link", name=link).click()
    path = folder / begun.value.suggested_filename
    begun.value.save_as(path)
    return path


def test_data_is_downloaded_and_both_files_open(signed_in: Any, service: Any, tmp_path: Path) -> None:
    page = signed_in
    HolderSession.objects.update(signed_in_at=timezone.now() - timedelta(hours=1))
    page.goto(service.url + "/wallet/security/")
    page.get_by_role("link", name="My data").click()
    confirms(page)
    look(page, "data", "Download my data")

    document = json.loads(saved(page, "Download as JSON", tmp_path).read_text())
    file = saved(page, "Download as a page", tmp_path)

    assert document["wallet"][0]["email"] == ALICE
    assert document["complete"]
    requests: list[str] = []
    reader = page.context.new_page()
    reader.on("request", lambda request: requests.append(request.url))
    reader.goto(file.as_uri())
    look(reader, "data-file", "My data at localhost")
    expect(reader.get_by_text("DE02 1203 0000 0000 2020 51")).to_be_visible()
    assert requests == [file.as_uri()]


@pytest.mark.parametrize(("width", "scheme"), [(320, "dark"), (1280, "light")])
def test_the_pages_have_no_barriers(
    signed_in: Any, service: Any, tmp_path: Path, width: int, scheme: str
) -> None:
    page = signed_in
    page.set_viewport_size({"width": width, "height": 844})
    page.emulate_media(color_scheme=scheme)
    name = f"{width}-{scheme}"
    page.goto(service.url + "/wallet/data/")
    look(page, f"data-{name}", "Download my data")
    file = saved(page, "Download as a page", tmp_path)
    page.goto(service.url + "/what-is-kept/")
    look(page, f"kept-{name}", "What is kept, and for how long")
    page.goto(service.url + "/wallet/close/")
    look(page, f"close-{name}", "Close my wallet")
    page.get_by_role("button", name="Close my wallet").click()
    look(page, f"closing-{name}", "Your wallet will be closed")
    page.goto(service.url + "/wallet/security/")
    look(page, f"closing-notice-{name}", "Sign-in and security")
    page.goto(file.as_uri())
    look(page, f"data-file-{name}", "My data at localhost")


def test_a_wallet_is_closed_kept_closed_again_and_swept(signed_in: Any, service: Any, alice: Wallet) -> None:
    page = signed_in
    page.goto(service.url + "/wallet/close/")
    page.get_by_role("button", name="Close my wallet").click()
    page.get_by_role("heading", name="Your wallet will be closed").wait_for()
    page.goto(service.url + "/wallet/security/")
    page.get_by_role("button", name="Keep my wallet").click()
    page.wait_for_url("**/wallet/security/")
    expect(page.get_by_role("button", name="Keep my wallet")).to_have_count(0)
    page.goto(service.url + "/wallet/close/")
    page.get_by_role("button", name="Close my wallet").click()
    page.get_by_role("button", name="Keep my wallet").wait_for()
    subjects = MailboxEmail.objects.filter(recipient=ALICE).order_by("id").values_list("subject", flat=True)
    closing, kept = "Your wallet will be closed", "Your wallet stays open"
    assert list(subjects) == [closing, kept, closing]

    Wallet.objects.update(closes_at=timezone.now())
    WalletClosure.objects.update(closes_at=timezone.now())
    call_command("sweep_identity_verifications")

    page.goto(service.url + "/wallet/security/")
    page.wait_for_url("**/wallet/sign-in/")
    assert subjects.last() == "Your wallet is closed"
    page.get_by_label("E-mail address").fill(ALICE)
    page.get_by_role("button", name="Send me a code").click()
    enter_code(page)
    page.get_by_text("None yet").wait_for()
    assert Wallet.objects.get(email=ALICE).id != alice.id


def test_everything_works_without_scripts(browser: Any, service: Any, holder: Client) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": 320, "height": 640})
    page = context.new_page()
    _become(page, service, holder)
    try:
        page.goto(service.url + "/wallet/data/")
        with page.expect_download() as begun:
            page.get_by_role("link", name="Download as JSON").click()
        assert json.loads(Path(begun.value.path()).read_text())["complete"]
        page.get_by_role("link", name="Close my wallet").click()
        page.get_by_role("button", name="Close my wallet").click()
        page.get_by_role("button", name="Keep my wallet").click()
        page.wait_for_url("**/wallet/security/")
        page.get_by_role("link", name="What is kept").click()
        page.get_by_role("heading", name="What is kept, and for how long").wait_for()
    finally:
        context.close()
