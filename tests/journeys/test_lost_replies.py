"""A worker is killed after it committed an answer and before the browser has it: pages say what is known."""

import html
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from consent.models import Consent
from keys.rotation import due_steps
from presentation.models import Interaction
from tests.benchmarks import holders
from tests.benchmarks.browsers import ORIGIN, Answer, Browser
from tests.benchmarks.sites import Site
from tests.journeys.load import JWKS
from tests.processes import environment
from tests.relying_party import RelyingParty

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def mortal(settings: Any, tmp_path: Any) -> Iterator[Site]:
    """An instance whose only worker is killed before the reply to the next POST, and then replaced."""
    settings.BASE_URL = ORIGIN
    settings.HOLDER_COOKIE_NAME, settings.BROWSER_COOKIE_NAME = "__Host-holder", "__Host-browser"
    due_steps.rotate(now=timezone.now() - timedelta(days=100))
    armed = tmp_path / "armed"
    surroundings = {**environment(settings, tmp_path), "WEB_CONCURRENCY": "1", "KILLED_AT": str(armed)}
    with Site("tests.killed_before_reply", surroundings, ready=JWKS) as site:
        armed.touch()
        yield site
        assert not armed.exists(), "nothing was killed"


@pytest.fixture
def asked(mortal: Site) -> tuple[str, dict[str, str]]:
    """Where a signed-in holder is asked by Acme Bank, and the cookies of their browser."""
    party = RelyingParty(holders.register().client_id, holders.REDIRECT_URI, ORIGIN)
    email, cookies = holders.sign_in("holder@example.org", timezone.now())
    with Browser(mortal.port, cookies) as browser:
        begun = browser.get(party.authorize_url(login_hint=email).removeprefix(ORIGIN))
        assert begun.location
        return begun.location, dict(browser.cookies)


def token_of(page: Answer) -> str:
    found = re.search(rb'name="csrfmiddlewaretoken" value="([^"]+)"', page.body)
    assert found
    return found[1].decode()


def text_of(page: Answer) -> str:
    main = re.search(r"<main.*</main>", page.body.decode(), re.DOTALL)
    assert main
    return " ".join(html.unescape(re.sub("<[^>]+>", "", main[0])).split())


def decide_and_lose_the_reply(
    site: Site, asked: tuple[str, dict[str, str]], decision: str
) -> tuple[str, dict[str, str], dict[str, str]]:
    """The address of the interaction, the form as the browser still has it, and its cookies."""
    page, cookies = asked
    with Browser(site.port, cookies) as browser:
        form = {"csrfmiddlewaretoken": token_of(browser.get(page)), "decision": decision}
        cookies = dict(browser.cookies)
        hub = Consent.objects.get().return_to
        with pytest.raises(ConnectionError):
            browser.post(hub, form)
    return hub, form, cookies


@pytest.mark.parametrize("how", ["the page is opened again", "the form is sent again"])
def test_killed_before_the_answer_left_the_page_does_not_claim_that_it_arrived(
    mortal: Site, asked: Any, how: str
) -> None:
    hub, form, cookies = decide_and_lose_the_reply(mortal, asked, "share")
    assert Interaction.objects.get().outcome == Interaction.Outcome.TOKEN

    with Browser(mortal.port, cookies) as browser:
        page = browser.get(hub) if how == "the page is opened again" else browser.post(hub, form)

    text = text_of(page)
    assert page.status == 410
    assert "has your answer" not in text
    assert "You said yes to Acme Bank." in text
    assert "We give each answer only once, and we cannot see whether it arrived." in text
    assert "If Acme Bank does not have it, start again there." in text
    assert b'href="https://relying-party.example/"' in page.body
    assert Interaction.objects.count() == Consent.objects.count() == 1


def test_killed_before_a_no_left_the_page_says_that_nothing_was_shared(mortal: Site, asked: Any) -> None:
    hub, _form, cookies = decide_and_lose_the_reply(mortal, asked, "decline")
    assert Interaction.objects.get().outcome == Interaction.Outcome.ERROR

    with Browser(mortal.port, cookies) as browser:
        page = browser.get(hub)

    assert "You said no to Acme Bank, and nothing was shared." in text_of(page)
    assert b'href="https://relying-party.example/"' in page.body


def test_the_receipt_of_an_answer_whose_reply_was_lost_does_not_claim_that_it_arrived(
    mortal: Site, asked: Any
) -> None:
    _hub, _form, cookies = decide_and_lose_the_reply(mortal, asked, "share")

    with Browser(mortal.port, cookies) as browser:
        receipts = text_of(browser.get("/wallet/history/"))

    assert "You agreed to share" in receipts
    assert "We cannot always see whether the application received it" in receipts
