"""The playground in real Chromium: a first use, refusals, tampered tokens, no JavaScript."""

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from presentation.models import RelyingParty as Registered
from presentation.models import ResponseURI, Scope
from sandbox.models import PlaygroundAnswer
from sandbox.playground import examples, posted_answers
from sandbox.playground.sample_request import encode_transaction
from tests.barriers import assert_no_barriers
from tests.journeys.conftest import Holder
from tests.page_looks import assert_no_sideways_scroll
from tests.people import ALICE, NORA, register
from tests.relying_party import RelyingParty
from wallet.models import StatusList
from wallet.status_lists import endpoints

pytestmark = pytest.mark.browser

NUMBER_OF_CHECKS = 28
MEMORY = "playground-request"


class Newcomer(Holder):
    """A person who is both the relying party on the playground and the holder at the wallet."""

    def asks(self, *, email: str = ALICE, party: str = "Acme Bank", transaction: str = "") -> "Newcomer":
        """Fills in the playground and presses Go."""
        self.opens()
        self.page.get_by_role("radio", name=party).check()
        self.page.locator("#login_hint").fill(email)
        if transaction:
            self.page.locator("#transaction").select_option(transaction)
        self.page.locator("#go").click()
        return self

    def opens(self) -> "Newcomer":
        self.page.goto(f"{self.bank.base_url}/playground/")
        return self

    def is_back(self) -> "Newcomer":
        self.sees("The answer")
        return self

    def remembered(self) -> str:
        """The request that this tab has stored."""
        return str(self.page.evaluate(f"sessionStorage.getItem('{MEMORY}')"))

    def is_answered_with(self, fragment: str, *, remembering: str) -> "Newcomer":
        """Opens the playground with an answer to the stored request."""
        self.page.goto("about:blank")
        self.opens()
        self.page.evaluate("([name, value]) => sessionStorage.setItem(name, value)", [MEMORY, remembering])
        self.page.goto(f"{self.bank.base_url}/playground/callback/#{fragment}")
        return self.is_back()

    def failed_checks(self) -> list[str]:
        expect(self.page.locator("#result")).to_be_visible()
        return [item.get_attribute("data-check") for item in self.page.locator("li.fail").all()]

    def passed_checks(self) -> int:
        expect(self.page.locator("#verdict-good")).to_be_visible()
        return int(self.page.locator("li.pass").count())


@pytest.fixture
def newcomer(service: Any, signing_key: Any, page: Any) -> Newcomer:
    """A new developer in a sandbox with its two demo relying parties."""
    callback = f"{service.url}/playground/callback/"
    bank = register("Acme Bank", callback, purpose="To open your account.")
    register("Corner Shop", callback, purpose="To sell you wine.", wire_format="openid4vp-1.0")
    return Newcomer(page, RelyingParty(bank.client_id, callback, service.url))


@pytest.mark.usefixtures("rsa_key")  # which is in the key set too
def test_a_newcomer_asks_is_verified_shares_and_sees_every_check_pass(newcomer: Newcomer) -> None:
    newcomer.asks(email=NORA).signs_in().is_verified_as("adult").sees("Share these").clicks("Share these")

    assert newcomer.is_back().passed_checks() == NUMBER_OF_CHECKS
    claims = newcomer.page.locator("#claims").inner_text()
    assert [line for line in claims.splitlines() if line] == [
        "Given name",
        "Alice",
        "Family name",
        "Example",
        "Aged 18 or over",
        "Yes",
    ]
    assert "#" not in newcomer.page.url
    assert newcomer.remembered() == "None"
    assert_no_barriers(newcomer.page)


def test_the_token_does_not_stay_in_the_history(newcomer: Newcomer, alice: Any) -> None:
    newcomer.is_signed_in().asks().sees("Share these").clicks("Share these")
    newcomer.is_back().passed_checks()
    newcomer.page.goto("about:blank")
    newcomer.page.go_back(wait_until="commit")
    expect(newcomer.page.locator("#empty")).to_be_visible()
    assert "vp_token" not in newcomer.page.url


@pytest.mark.parametrize("party", ["Acme Bank", "Corner Shop"])
def test_a_payment_is_bound_in_both_wire_formats(newcomer: Newcomer, alice: Any, party: str) -> None:
    urn = "urn:service:params:vc:transaction-data:payment-itemized:v1"
    newcomer.is_signed_in().asks(party=party, transaction=urn)
    newcomer.sees("Approve a payment").clicks("Approve 34.20")

    assert newcomer.is_back().passed_checks() == NUMBER_OF_CHECKS
    assert "Rioja" in newcomer.page.locator("#transactions").inner_text()
    assert "transaction_data_hashes" in newcomer.page.locator("#binding-payload").inner_text()
    newcomer.clicks("See the receipt in the wallet").sees("Your receipts")


def test_from_the_answer_the_newcomer_goes_on_asking(newcomer: Newcomer, alice: Any) -> None:
    newcomer.is_signed_in().asks().sees("Share these").clicks("Share these")
    newcomer.is_back().passed_checks()

    newcomer.clicks("Ask something else").sees("Ask somebody")
    newcomer.clicks("Identity wallet").sees("Your wallet")


def test_declining_is_explained_in_plain_words(newcomer: Newcomer, alice: Any) -> None:
    newcomer.is_signed_in().asks().sees("Share these").clicks("Don’t share")

    newcomer.is_back()
    expect(newcomer.page.locator("[data-error=access_denied]")).to_be_visible()
    expect(newcomer.page.locator("#error-details")).to_contain_text("access_denied")
    expect(newcomer.page.locator("#result")).to_be_hidden()
    newcomer.clicks("Try again").sees("Ask somebody")
    assert_no_barriers(newcomer.page)


def test_every_mistake_that_comes_back_is_explained(newcomer: Newcomer) -> None:
    for position in range(5):
        newcomer.opens().page.get_by_text("See it go wrong").click()
        newcomer.page.locator(f'[data-mistake="{position}"]').click()
        newcomer.is_back()
        expect(newcomer.page.locator(".refusal:visible")).to_have_count(1)
        expect(newcomer.page.locator(".refusal:visible")).not_to_have_attribute("data-error", "")


@pytest.fixture
def answered(newcomer: Newcomer, alice: Any) -> Callable[..., list[str]]:
    """Replays a finished flow with another token or another stored request; returns the failed checks."""
    newcomer.is_signed_in().asks().sees("Share these")
    memory = newcomer.remembered()
    newcomer.clicks("Share these")
    newcomer.is_back().passed_checks()
    token = newcomer.page.locator("#token").text_content()

    def answered(change: Callable[[str], str] = str, **memories: Any) -> list[str]:
        remembering = json.loads(memory) | memories
        fragment = f"vp_token={change(token)}&state={remembering['state']}"
        newcomer.is_answered_with(fragment, remembering=json.dumps(remembering))
        return newcomer.failed_checks()

    return answered


def without_first_disclosure(token: str) -> str:
    issuer, _first, *others = token.split("~")
    return "~".join([issuer, *others])


def test_a_tampered_or_replayed_token_is_refused(
    newcomer: Newcomer, answered: Callable[..., list[str]]
) -> None:
    assert answered() == []
    assert answered(nonce="another-nonce-of-ours") == ["kb-nonce"]
    assert answered(clientId="somebody-else") == ["kb-aud"]
    assert answered(transactionData=["e30"]) == ["transaction-data"]
    assert answered(wireFormat="openid4vp-1.0") == ["wire-format", "response-iss"]
    assert answered(claims=[["given_name"]]) == ["claims"]
    assert answered(without_first_disclosure)[-1:] == ["kb-sd-hash"]
    expect(newcomer.page.locator("#verdict-bad")).to_contain_text("Do not trust this answer")
    expect(newcomer.page.locator("#claims")).to_be_hidden()
    assert answered(lambda token: token[: token.rindex("~") + 1]) == ["structure"]
    assert_no_barriers(newcomer.page)


def test_what_its_holder_takes_back_is_not_believed_any_more(
    newcomer: Newcomer, answered: Callable[..., list[str]]
) -> None:
    newcomer.page.goto(f"{newcomer.bank.base_url}/wallet/history/")
    newcomer.clicks("Take back the details I shared with Acme Bank").sees(
        "Take back the details you shared with Acme Bank?"
    )
    assert_no_barriers(newcomer.page)
    newcomer.page.get_by_role("button", name="Take back").click()
    newcomer.sees("Your receipts")
    expect(newcomer.page.locator("article")).to_contain_text("Shared, no longer valid")
    StatusList.objects.update(checked_at=None)  # as if some seconds had passed
    endpoints.lists.refresh()

    assert answered() == ["status"]


def test_an_answer_this_tab_did_not_ask_for_is_refused(newcomer: Newcomer) -> None:
    newcomer.page.goto(f"{newcomer.bank.base_url}/playground/callback/#vp_token=a~b&state=stolen")
    newcomer.is_back()
    expect(newcomer.page.locator("#foreign")).to_be_visible()
    expect(newcomer.page.locator("#result")).to_be_hidden()


def test_an_answer_that_is_none_is_refused(newcomer: Newcomer) -> None:
    newcomer.page.goto(f"{newcomer.bank.base_url}/playground/callback/#something=else")
    expect(newcomer.page.locator("#broken")).to_be_visible()


def built(page: Any) -> str:
    """The address on the page, without random values."""
    return re.sub(r"(nonce|state)=[^&]+", r"\1=", page.locator("#authorize-url").inner_text())


def test_the_browser_builds_the_same_address_as_the_server(newcomer: Newcomer, browser: Any) -> None:
    without = browser.new_context(java_script_enabled=False).new_page()
    page = newcomer.opens().page
    for transaction in [
        option.get_attribute("value") for option in page.locator("#transaction option").all()
    ]:
        page.locator("#login_hint").fill("o'neil+x@example.org")
        page.locator("#transaction").select_option(transaction)
        without.goto(f"{newcomer.bank.base_url}/playground/")
        without.locator("#login_hint").fill("o'neil+x@example.org")
        without.locator("#transaction").select_option(transaction)
        without.get_by_role("button", name="Build the request").click()
        if "unit_cost" not in page.locator("#transaction_text").input_value():
            assert built(page) == built(without)
        assert page.locator("#go").get_attribute("href") == page.locator("#authorize-url").inner_text()
    without.context.close()


def test_the_browser_makes_an_edited_transaction_one_for_the_chosen_scopes(
    newcomer: Newcomer,
) -> None:
    scope = Scope(urn="urn:example:age-query", title="Age", required_claims=["age_equal_or_over.18"])
    scope.save()
    page = newcomer.opens().page
    urn = examples.URNS[0]
    page.locator("#transaction").select_option(urn)
    text = page.locator("#transaction_text")
    text.fill(text.input_value().replace("laptop-42", "laptop-43"))

    page.locator(f"input[value='{scope.urn}']").check()
    page.get_by_role("checkbox").nth(0).uncheck()
    page.locator("#login_hint").fill(NORA)

    assert text.input_value() == examples.example(urn, [scope.urn]).replace("laptop-42", "laptop-43")
    sent = parse_qs(urlsplit(str(page.locator("#go").get_attribute("href"))).query)
    assert sent["transaction_data"] == [encode_transaction(text.input_value())]


def test_a_transaction_that_is_no_json_is_pointed_out(newcomer: Newcomer) -> None:
    page = newcomer.opens().page
    page.locator("#transaction").select_option(index=1)
    page.locator("#transaction_text").fill("{no")
    expect(page.locator("#transaction-problem")).to_be_visible()
    page.locator("#transaction_text").fill("{}")
    expect(page.locator("#transaction-problem")).to_be_hidden()


def test_coming_back_makes_a_new_nonce(newcomer: Newcomer) -> None:
    page = newcomer.opens().page
    nonce = page.locator("dd [data-parameter=nonce]").inner_text()
    page.locator("#go").click()
    newcomer.sees("Confirm your e-mail address")
    page.go_back(wait_until="commit")
    newcomer.sees("Ask somebody")
    expect(page.locator("dd [data-parameter=nonce]")).not_to_have_text(nonce)
    assert page.locator("dd [data-parameter=nonce]").inner_text() in newcomer.remembered()


def test_without_javascript_the_last_step_is_explained(newcomer: Newcomer, alice: Any, browser: Any) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    person = Newcomer(page, newcomer.bank)
    person.opens().clicks("Go: send the person").signs_in().sees("Share these").clicks("Share these")
    person.is_back()
    expect(page.locator("noscript h2")).to_be_visible()
    expect(page.locator("noscript h2")).to_have_text("The last step needs JavaScript")
    assert newcomer.bank.base_url in page.url
    assert "#vp_token=" in page.url
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_fit_a_narrow_phone_and_are_accessible(newcomer: Newcomer, alice: Any, scheme: Any) -> None:
    page = newcomer.page
    page.set_viewport_size({"width": 320, "height": 640})
    page.emulate_media(color_scheme=scheme)
    newcomer.opens()
    for summary in page.locator("summary").all():
        summary.click()
    page.locator("#transaction").select_option(index=3)
    assert_no_barriers(page)
    assert_no_sideways_scroll(page)
    newcomer.is_signed_in().asks().sees("Share these").clicks("Share these")
    newcomer.is_back().passed_checks()
    for summary in page.locator("details:not([open]) summary").all():
        summary.click()
    assert_no_barriers(page)
    assert_no_sideways_scroll(page)


@pytest.mark.parametrize(
    ("party", "mode"), [("Acme Bank", "direct_post.jwt"), ("Corner Shop", "direct_post")]
)
def test_a_posted_answer_is_verified_as_one_in_the_fragment(
    newcomer: Newcomer, alice: Any, mode: str, party: str
) -> None:
    for registered in Registered.objects.all():
        ResponseURI.objects.create(relying_party=registered, uri=posted_answers.response_uri())
    newcomer.is_signed_in().opens()
    newcomer.page.get_by_role("radio", name=party).check()
    newcomer.page.locator("#response_mode").select_option(mode)
    newcomer.page.locator("#go").click()
    newcomer.clicks("Share these").is_back()

    assert newcomer.failed_checks() == []
    assert newcomer.passed_checks() == NUMBER_OF_CHECKS
    assert "response_code" not in newcomer.page.url
    assert not PlaygroundAnswer.objects.exists()
    newcomer.page.reload()
    expect(newcomer.page.locator("#empty")).to_be_visible()


def test_a_response_code_in_another_tab_is_refused(newcomer: Newcomer, alice: Any) -> None:
    newcomer.opens()
    form = urlencode({"error": "access_denied", "state": "of-the-attackers-tab"})
    code = posted_answers.store(form.encode(), now=timezone.now())

    newcomer.page.goto(f"{newcomer.bank.base_url}/playground/callback/?response_code={code}")

    newcomer.is_back()
    expect(newcomer.page.locator("#empty")).to_be_visible()
    assert PlaygroundAnswer.objects.count() == 1
