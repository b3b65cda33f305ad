"""A worker is killed after it committed an answer and before it replied: what the pages then say."""

import html
import os
import re
import signal
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import pytest
from django.utils import timezone

from consent.models import Consent
from keys.rotation import due_steps
from presentation.models import Delivery, Interaction, ResponseURI
from tests.journeys.load import JWKS
from tests.processes import environment
from tests.receiver import Receiver, listening
from tests.relying_party import RelyingParty
from tests.warm_start import WarmSite
from tools.benchmarks import holders
from tools.benchmarks.browsers import ORIGIN, Answer, Browser

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def mortal(settings: Any, tmp_path: Any) -> Iterator[WarmSite]:
    """An instance whose only worker is killed before it replies to the next POST, and is then replaced."""
    settings.BASE_URL = ORIGIN
    settings.HOLDER_COOKIE_NAME, settings.BROWSER_COOKIE_NAME = "__Host-holder", "__Host-browser"
    due_steps.rotate(now=timezone.now() - timedelta(days=100))
    armed = tmp_path / "armed"
    surroundings = {**environment(settings, tmp_path), "WEB_CONCURRENCY": "1", "KILLED_AT": str(armed)}
    with WarmSite("tests.killed_before_reply", surroundings, ready=JWKS) as site:
        armed.touch()
        yield site
        assert not armed.exists(), "nothing was killed"


@pytest.fixture
def asked(mortal: WarmSite) -> tuple[str, dict[str, str]]:
    """The address at which a signed-in holder is asked for consent, and the cookies of their browser."""
    party = RelyingParty(holders.register().client_id, holders.REDIRECT_URI, ORIGIN)
    email, cookies = holders.sign_in("holder@example.org", timezone.now())
    with Browser(mortal.port, cookies) as browser:
        page = browser.get(party.authorize_url(login_hint=email).removeprefix(ORIGIN))
        assert page.status == 200
        return f"/consent/{Consent.objects.get().id}/", dict(browser.cookies)


def text_of(page: Answer) -> str:
    main = re.search(r"<main.*</main>", page.body.decode(), re.DOTALL)
    assert main
    return " ".join(html.unescape(re.sub("<[^>]+>", "", main[0])).split())


def decide_and_lose_the_reply(
    site: WarmSite, asked: tuple[str, dict[str, str]], decision: str
) -> tuple[str, dict[str, str], dict[str, str]]:
    """The address of the interaction, the form in the browser, and its cookies."""
    page, cookies = asked
    with Browser(site.port, cookies) as browser:
        assert browser.get(page).status == 200
        form = {"page": page, "decision": decision}
        cookies = dict(browser.cookies)
        interaction_url = Consent.objects.get().return_to
        with pytest.raises(ConnectionError):
            browser.post(interaction_url, form)
    return interaction_url, form, cookies


@pytest.mark.parametrize("how", ["the page is opened again", "the form is sent again"])
def test_killed_before_the_answer_left_the_page_does_not_claim_that_it_arrived(
    mortal: WarmSite, asked: Any, how: str
) -> None:
    interaction_url, form, cookies = decide_and_lose_the_reply(mortal, asked, "share")
    assert Interaction.objects.get().outcome == Interaction.Outcome.TOKEN

    with Browser(mortal.port, cookies) as browser:
        page = (
            browser.get(interaction_url)
            if how == "the page is opened again"
            else browser.post(interaction_url, form)
        )

    text = text_of(page)
    assert page.status == 410
    assert "has your answer" not in text
    assert "You said yes to Acme Bank." in text
    assert "We give each answer only once, and we cannot see whether it arrived." in text
    assert "If Acme Bank does not have it, start again there." in text
    assert b'href="https://relying-party.example/"' in page.body
    assert Interaction.objects.count() == Consent.objects.count() == 1


def test_killed_before_a_no_left_the_page_says_that_nothing_was_shared(mortal: WarmSite, asked: Any) -> None:
    interaction_url, _form, cookies = decide_and_lose_the_reply(mortal, asked, "decline")
    assert Interaction.objects.get().outcome == Interaction.Outcome.ERROR

    with Browser(mortal.port, cookies) as browser:
        page = browser.get(interaction_url)

    assert "You said no to Acme Bank, and nothing was shared." in text_of(page)
    assert b'href="https://relying-party.example/"' in page.body


def test_the_receipt_of_an_answer_whose_reply_was_lost_does_not_claim_that_it_arrived(
    mortal: WarmSite, asked: Any
) -> None:
    _hub, _form, cookies = decide_and_lose_the_reply(mortal, asked, "share")

    with Browser(mortal.port, cookies) as browser:
        receipts = text_of(browser.get("/wallet/history/"))

    assert "You agreed to share" in receipts
    assert "We cannot always see whether the application received it" in receipts


# --- The answer is posted ---------------------------------------------------------------------------------

LOCALHOST = "localhost"  # the sandbox posts to loopback only if it is itself reached on loopback


class Lost(NamedTuple):
    """A posted answer whose worker was killed while the relying party had it and had not replied."""

    site: WarmSite
    receiver: Receiver
    interaction_url: str
    form: dict[str, str]
    cookies: dict[str, str]

    def browser(self) -> Browser:
        return Browser(self.site.port, self.cookies, host=LOCALHOST)

    def reloaded(self, how: str) -> Answer:
        """The page after all redirects."""
        with self.browser() as browser:
            answer = (
                browser.get(self.interaction_url)
                if how == "get"
                else browser.post(self.interaction_url, self.form)
            )
            while answer.location is not None and answer.location.startswith("/"):
                answer = browser.get(answer.location)
        return answer


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with listening() as running:
        yield running


@pytest.fixture
def local(settings: Any, tmp_path: Any) -> Iterator[WarmSite]:
    settings.BASE_URL = f"https://{LOCALHOST}"
    settings.HOLDER_COOKIE_NAME, settings.BROWSER_COOKIE_NAME = "__Host-holder", "__Host-browser"
    due_steps.rotate(now=timezone.now() - timedelta(days=100))
    surroundings = {**environment(settings, tmp_path), "WEB_CONCURRENCY": "1"}
    surroundings["BASE_URL"] = settings.BASE_URL
    with WarmSite("config.wsgi", surroundings, ready=JWKS) as site:
        yield site


@pytest.fixture
def lose(local: WarmSite, receiver: Receiver) -> Any:
    """Returns a function: the holder decides, and the worker is killed while it posts the answer."""

    def lose(decision: str) -> Lost:
        registered = holders.register()
        ResponseURI.objects.create(relying_party=registered, uri=receiver.uri)
        party = RelyingParty(registered.client_id, "", f"https://{LOCALHOST}")
        email, cookies = holders.sign_in("holder@example.org", timezone.now())
        direct = {"response_mode": "direct_post", "response_uri": receiver.uri, "redirect_uri": None}
        url = party.authorize_url(login_hint=email, **direct)
        with Browser(local.port, cookies, host=LOCALHOST) as browser:
            assert browser.get(url.removeprefix(f"https://{LOCALHOST}")).status == 200
            form = {"decision": decision}
            receiver.before = lambda: os.kill(local.worker, signal.SIGKILL)
            interaction_url, cookies = Consent.objects.get().return_to, dict(browser.cookies)
            with pytest.raises(ConnectionError):
                browser.post(interaction_url, form)
        receiver.before = lambda: None
        assert Delivery.objects.get().delivered_at is None
        return Lost(local, receiver, interaction_url, form, cookies)

    return lose


def the_killed_worker_could_be_done() -> None:
    """Moves the lease into the past, so that another request may post the answer."""
    Delivery.objects.update(taken_until=timezone.now())


@pytest.mark.parametrize("how", ["get", "post"], ids=["the page is opened again", "the form is sent again"])
def test_killed_while_it_posts_the_answer_the_page_does_not_claim_anything_and_nothing_is_posted_again(
    lose: Any, how: str
) -> None:
    lost = lose("share")
    at_once = text_of(lost.reloaded(how))
    the_killed_worker_could_be_done()
    later = lost.reloaded(how)

    assert "Your answer is on its way" in at_once
    assert "We do not know yet whether it arrived." in at_once
    text = text_of(later)
    assert "Acme Bank did not confirm your answer" in text
    assert "We give each answer only once, and we cannot see whether it arrived." in text
    assert "If Acme Bank does not have it, start again there." in text
    assert "could not reach" not in text
    assert "has your answer" not in text
    assert b'href="https://relying-party.example/"' in later.body
    assert len(lost.receiver.posted) == 1
    assert Interaction.objects.count() == Consent.objects.count() == 1


def test_the_holder_can_send_the_very_same_answer_again_on_purpose(lose: Any) -> None:
    lost = lose("share")
    the_killed_worker_could_be_done()
    assert b'value="again"' in lost.reloaded("get").body

    with lost.browser() as browser:
        again = browser.post(f"{lost.interaction_url}delivery/", {"choice": "again"})
        done = browser.get(again.location or "")

    assert "Acme Bank has your answer." in text_of(done)
    assert len(lost.receiver.posted) == 2
    assert len({posted.body for posted in lost.receiver.posted}) == 1


def test_killed_while_it_posts_a_no_the_page_says_that_nothing_was_shared(lose: Any) -> None:
    lost = lose("decline")
    the_killed_worker_could_be_done()

    text = text_of(lost.reloaded("get"))

    assert dict(parse_qsl(lost.receiver.posted[0].body))["error"] == "access_denied"
    assert "Acme Bank did not confirm your answer" in text
    assert "Nothing was shared." in text
    assert "If Acme Bank still waits for your answer, start again there." in text
    assert len(lost.receiver.posted) == 1


@pytest.mark.parametrize("decision", ["share", "decline"])
def test_once_such_an_answer_is_deleted_its_page_still_claims_nothing(lose: Any, decision: str) -> None:
    lost = lose(decision)
    the_killed_worker_could_be_done()
    Delivery.objects.update(expires_at=timezone.now())

    text = text_of(lost.reloaded("get"))

    assert "Acme Bank did not confirm your answer" in text
    assert "it is not kept any longer" in text
    assert ("They may have received it all the same." in text) == (decision == "share")
    assert ("Nothing was shared." in text) == (decision == "decline")
    assert "did not reach them" not in text
