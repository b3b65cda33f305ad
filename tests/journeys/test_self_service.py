"""A developer registers an application in real Chromium and sends a request with it."""

from typing import Any

import pytest
from playwright.sync_api import expect

from presentation.models import RelyingParty
from tests.code_page import enter_code
from tests.journeys.conftest import Application
from tests.narrow_and_wide_windows import look

pytestmark = pytest.mark.browser


def copied(page: Any, button: str) -> str:
    """Presses the button, and returns what the clipboard has then."""
    page.get_by_role("button", name=button).click()
    expect(page.get_by_role("button", name="Copied", exact=True)).to_be_visible()
    return page.evaluate("navigator.clipboard.readText()")


@pytest.fixture
def in_sandbox(service: Any, signing_key: Any, page: Any) -> Any:
    page.goto(f"{service.url}/")
    return page


def test_a_developer_registers_changes_asks_and_deletes(in_sandbox: Any, application: Application) -> None:
    page = in_sandbox
    page.get_by_role("link", name="Register your own application").click()
    look(page, "sign-in")
    page.get_by_label("Your e-mail address").fill("dev@shop.example")
    page.get_by_role("button", name="Send me a link").click()
    look(page, "link-sent")
    page.get_by_role("link", name="Continue").click()
    look(page, "new")
    page.get_by_text("More: DCQL").click()
    look(page, "new-further")
    page.get_by_label("Name of your application").fill("My Shop (verified)")
    page.get_by_label("Redirect URIs").fill("https://shop.example/callback")
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_role("alert")).to_contain_text("Use letters, digits")
    look(page, "mistake")
    page.get_by_label("Name of your application").fill("My Shop")
    page.get_by_label("Redirect URIs").fill(f"{application.origin}/callback")
    page.get_by_label("Approve a payment").check()
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("My Shop (sandbox, unverified)")
    look(page, "party")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    assert copied(page, "Copy: client_id") == RelyingParty.objects.get().client_id
    page.get_by_role("button", name="Make a client secret").click()
    look(page, "secret")
    page.get_by_role("link", name="Back to your application").click()
    page.get_by_role("link", name="Back to your applications").click()
    look(page, "parties")
    page.get_by_role("link", name="My Shop").click()

    page.get_by_role("link", name="Open it").click()
    expect(page.locator(".who-asks")).to_contain_text("My Shop (sandbox, unverified) wants to confirm")
    page.get_by_role("button", name="Send me a code").click()
    enter_code(page)
    page.get_by_role("button", name="Agree and begin").click()
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("My Shop (sandbox, unverified)")
    look(page, "consent")
    page.get_by_role("button", name="Share these").click()
    page.wait_for_url(f"{application.origin}/callback#vp_token=*")

    page.go_back()
    service = page.url.split("/consent")[0].split("/verifiable")[0]
    party = RelyingParty.objects.get().client_id
    page.goto(f"{service}/verifiable-credentials/v1/presentation/authorize?client_id={party}")
    reference = page.locator("main strong").inner_text()
    page.goto(f"{service}/sandbox/relying-parties/")
    page.get_by_label("Reference on an error page").fill(reference)
    page.get_by_role("button", name="Find the request").click()
    expect(page.locator("main")).to_contain_text("redirect_uri is missing")
    page.locator("section").get_by_role("link", name="My Shop").click()
    expect(page.locator("main")).to_contain_text("completed")
    look(page, "desk")
    page.goto(f"{service}/sandbox/relying-parties/requests/?reference=00000000")
    look(page, "no-request")
    page.get_by_role("link", name="Back to your applications").click()
    page.get_by_role("link", name="My Shop").click()
    page.get_by_role("link", name="Delete this application").click()
    look(page, "delete")
    page.get_by_role("button", name="Delete it").click()
    expect(page.locator("main")).to_contain_text("You have not registered any yet.")
    assert not RelyingParty.objects.exists()


def test_a_link_from_elsewhere_leads_on(service: Any, page: Any) -> None:
    page.goto(f"{service.url}/sandbox/relying-parties/link/made-up/")

    look(page, "link-gone")
    page.get_by_role("link", name="Ask for a new link").click()

    expect(page.get_by_label("Your e-mail address")).to_be_visible()


def test_the_description_of_the_endpoints_can_be_read(service: Any, page: Any) -> None:
    page.goto(f"{service.url}/")
    page.get_by_role("link", name="API reference").click()
    for example in page.locator("main summary").all():
        example.click()

    look(page, "api")
    page.get_by_role("link", name="Let the sandbox play the person").click()

    expect(page.get_by_role("heading", name="Let the sandbox play the person")).to_be_in_viewport()


@pytest.mark.parametrize("address", ["/sandbox/guide/", "/sandbox/api/"])
def test_every_code_block_for_developers_can_be_copied(service: Any, page: Any, address: str) -> None:
    page.goto(service.url + address)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    for folded in page.locator("main summary").all():
        folded.click()
    blocks = page.locator("pre.code")
    assert blocks.count() > 3
    assert page.locator("pre.code + button").count() == blocks.count()

    page.locator("pre.code + button").nth(1).click()

    expect(page.get_by_role("button", name="Copied", exact=True)).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == blocks.nth(1).text_content().rstrip()
