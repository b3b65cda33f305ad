"""Operators in real Chromium: the admin under the strict CSP, from sign-in to suspension."""

import os
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from infra import second_factors
from infra.outbound.calls import Outbound
from presentation.models import Interaction, RelyingParty
from tests.barriers import CONTRAST, EVERY_RULE, TARGET_SIZE, assert_no_barriers
from tests.consent.questions import put
from tests.journeys.virtual_authenticators import Device
from tests.operators.one_time_codes import SECRET, code
from tests.people import register
from tests.presentation.webhooks import deliver, waiting

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def look(page: Any, name: str, rules: dict[str, Any] = EVERY_RULE) -> None:
    """Checks the page for accessibility; takes a screenshot if SCREENSHOTS names a folder."""
    page.get_by_role("main").wait_for()
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=f"{folder}/admin-{name}.png", full_page=True)
    assert_no_barriers(page, rules)


@pytest.fixture
def signed_in(live_server: Any, page: Any) -> Any:
    User.objects.create_superuser("olga", password="a long enough one")
    page.goto(f"{live_server.url}/admin/")
    look(page, "sign-in")
    page.get_by_label("Username").fill("olga")
    page.get_by_label("Password").fill("a long enough one")
    page.get_by_role("button", name="Log in").click()
    return page


def unfold(page: Any) -> None:
    """Opens what the form of a relying party folds."""
    page.wait_for_load_state()
    page.evaluate("document.querySelectorAll('fieldset details').forEach(each => { each.open = true })")


def test_an_operator_registers_integrates_and_suspends(signed_in: Any) -> None:
    page = signed_in
    look(page, "index")
    register("Corner Shop", "https://shop.example/callback")
    page.get_by_role("link", name="Relying parties").first.click()
    look(page, "relying-parties")
    page.get_by_role("link", name="Add relying party").click()
    page.get_by_label("Name:").fill("Bookshop")
    page.get_by_label("urn:service:params:scope:verifiable-credentials:basic").check()
    page.get_by_label("urn:service:params:vc:transaction-data:session-data").check()
    page.locator("[name=redirect_uris-0-uri]").fill("https://books.example/callback")
    page.get_by_role("button", name="Add another redirect URI").click()
    page.locator("[name=redirect_uris-1-uri]").fill("http://books.example/")
    look(page, "register")
    page.get_by_role("button", name="Save and continue editing").click()
    page.get_by_text("Plain http is only for").wait_for()
    look(page, "mistake")
    page.locator("[name=redirect_uris-1-uri]").fill("com.example.books:/callback")
    page.get_by_role("button", name="Save and continue editing").click()
    page.get_by_text("was added successfully").wait_for()
    look(page, "relying-party")
    page.set_viewport_size({"width": 1280, "height": 900})
    look(page, "relying-party-wide")
    assert_no_barriers(page, TARGET_SIZE)

    page.get_by_role("link", name="Client secrets").click()
    look(page, "client-secrets")
    page.get_by_role("button", name="Make a new secret").click()
    page.get_by_label("works for seven more days").check()
    page.get_by_role("button", name="Make a new secret").click()
    secret = page.locator("#new-secret").inner_text()
    look(page, "new-client-secret")
    page.get_by_role("link", name="Back").click()
    unfold(page)
    page.get_by_role("cell", name="never").first.wait_for()
    assert secret not in page.content()
    look(page, "relying-party-with-secret")

    page.get_by_role("link", name="Suspend").click()
    look(page, "suspend")
    page.get_by_label("Reason").fill("Complaints")
    page.get_by_role("button", name="Suspend").click()
    page.get_by_text("Bookshop: Suspended: Complaints").wait_for()
    page.get_by_role("link", name="History").click()
    page.get_by_text("Suspended: Complaints").wait_for()
    look(page, "history")

    party = RelyingParty.objects.get(name="Bookshop")
    assert (party.state, party.suspension_reason) == ("suspended", "Complaints")
    assert party.redirect_uris.count() == 2


def test_an_operator_sets_up_webhooks_for_a_relying_party(signed_in: Any) -> None:
    page = signed_in
    party = register("Bookshop", "https://books.example/callback")
    page.goto(page.url + f"presentation/relyingparty/{party.pk}/change/")
    unfold(page)
    page.get_by_label("Address:").fill("http://books.example/told")
    page.get_by_label("credential.revoked").check()
    page.get_by_label("presentation.completed").check()
    page.get_by_role("button", name="Save and continue editing").click()
    page.get_by_text("Enter an address that begins with https://.").wait_for()
    page.get_by_label("Address:").fill("https://books.example/told")
    page.get_by_role("button", name="Save and continue editing").click()
    page.get_by_text("was changed successfully").wait_for()
    unfold(page)
    page.get_by_text("There is no secret yet").wait_for()
    look(page, "webhooks")

    page.get_by_role("link", name="Webhook secret").click()
    look(page, "webhook-secret")
    page.get_by_role("button", name="Make a new secret").click()
    assert page.locator("#new-secret").inner_text().startswith("whsec_")
    look(page, "new-webhook-secret")
    page.get_by_role("link", name="Back").click()
    unfold(page)
    page.get_by_text("Signed with a secret of").wait_for()

    (event,) = waiting(party)
    deliver(outbound=Outbound(resolve=lambda host, port: ["192.0.2.1"]))
    page.get_by_role("link", name="Delivery log").click()
    page.get_by_text("The host is not on the public Internet.").wait_for()
    look(page, "webhook-log")
    page.set_viewport_size({"width": 1280, "height": 800})
    cut_off = "table => table.scrollWidth - table.closest('.results').clientWidth"
    assert page.locator("#result_list").evaluate(cut_off) <= 0
    page.get_by_role("checkbox").last.check()
    page.get_by_label("Action:").select_option("Send again")
    page.get_by_role("button", name="Go").click()
    page.get_by_text("1 webhook will be sent now.").wait_for()

    event.refresh_from_db()
    assert (event.state, event.attempts) == ("waiting", 0)


def test_an_operator_adds_a_passkey_and_signs_in_with_it_by_keyboard(
    service: Any, page: Any, browser: Any, settings: Any
) -> None:
    settings.OPERATOR_SECOND_FACTOR = True
    olga = User.objects.create_superuser("olga", password="a long enough one")
    before = timezone.now() - timedelta(minutes=2)
    second_factors.set_up(olga, SECRET, code(before), now=before)
    device = Device(page)

    def shows_password(page: Any) -> None:
        page.goto(f"{service.url}/admin/second-factor/passkeys/")
        page.get_by_label("Username").fill("olga")
        page.get_by_label("Password").fill("a long enough one")
        page.keyboard.press("Enter")
        page.get_by_label("Code").wait_for()

    def presses(name: str) -> None:
        page.get_by_role("button", name=name).focus()
        page.keyboard.press("Enter")

    shows_password(page)
    page.get_by_label("Code").fill(code())
    page.keyboard.press("Enter")
    presses("Add a passkey")
    page.get_by_role("button", name="Remove the passkey").wait_for()
    look(page, "own-passkeys")
    presses("Remove the authenticator app")
    page.get_by_text("Your second factor is changed.").wait_for()
    assert not page.get_by_role("button", name="Remove the authenticator app").is_visible()
    presses("Log out")
    page.get_by_role("heading", name="Logged out").wait_for()

    shows_password(page)
    look(page, "second-step-passkey")
    assert not page.get_by_text("No passkey was used.").is_visible()
    device.verifies_user(False)
    presses("Use your passkey")
    page.get_by_text("No passkey was used.").wait_for()
    device.verifies_user(True)
    presses("Use your passkey")
    page.get_by_role("button", name="Add a passkey").wait_for()

    without = browser.new_context(java_script_enabled=False)
    shows_password(other := without.new_page())
    other.get_by_text("Without it, use a code.").wait_for()
    assert not other.get_by_role("button", name="Use your passkey").is_visible()
    without.close()


SMALLEST = 24  # CSS pixels of each side (WCAG 2.2, 2.5.8)
TARGETS = "#changelist-filter a, #changelist-filter summary, .toplinks a, .paginator a"
MEASURED = """links => links.map(link => {
  const box = link.getBoundingClientRect();
  return [link.innerText.trim(), Math.min(box.width, box.height), link.matches('#changelist-filter *')];
})"""


@pytest.fixture
def lists(live_server: Any, page: Any, alice: Any, signing_key: Any) -> Iterator[Any]:
    """Opens a model's list as a signed-in operator; most lists have rows to filter."""
    client, now = Client(), timezone.now()
    client.force_login(User.objects.create_superuser("olga"))
    Group.objects.get_or_create(name="Auditors")
    bank = register("Acme Bank", "https://bank.example/callback")
    put(alice)
    for error in ("", "access_denied", "server_error"):
        Interaction.objects.create(
            relying_party=bank,
            redirect_uri="https://bank.example/callback",
            parameters={},
            outcome=Interaction.Outcome.ERROR if error else Interaction.Outcome.NONE,
            error=error,
            answered_at=now if error else None,
            created_at=now,
            expires_at=now,
        )
    (name, cookie), *_ = client.cookies.items()
    page.context.add_cookies([{"name": name, "value": cookie.value, "url": live_server.url}])

    def visit(model: Any) -> Any:
        page.goto(live_server.url + reverse(f"admin:{model._meta.label_lower.replace('.', '_')}_changelist"))
        return page

    return visit


@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1280)])
def test_every_link_that_filters_a_list_is_large_enough_and_has_a_name(
    lists: Any, page: Any, scheme: Any, width: int
) -> None:
    rules = CONTRAST if scheme == "dark" else EVERY_RULE
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    filtered = 0
    for model in admin.site._registry:
        visited = lists(model)
        found = visited.locator(TARGETS).evaluate_all(MEASURED)
        assert all(name and side >= SMALLEST for name, side, _filter in found), (model, found)
        filtered += any(is_filter for _name, _side, is_filter in found)
        look(visited, f"list-{model._meta.model_name}-{scheme}-{width}", rules)
    assert filtered >= 6


def test_an_operator_helps_somebody_by_keyboard(signed_in: Any, live_server: Any, alice: Any) -> None:
    page = signed_in
    page.get_by_role("link", name="Help somebody").click()
    page.get_by_label("E-mail address, receipt number").fill(alice.email)
    page.keyboard.press("Tab")
    page.keyboard.type("Ticket 4711")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Found").wait_for()
    look(page, "support")
    assert alice.email not in page.url
