"""The pages of identity verification: every state has one, every page has a way on and a way back."""

import re
import uuid
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from infra.templatetags.moments import moment
from sandbox.models import PickedOutcome
from tests.people import NORA
from tests.wallet.attempts import attempt_in
from tests.wallet.browser_redirect_tasks import make_redirect_task
from tests.wallet.presented_claims import first_claims
from wallet.identity.attempts import COOL_DOWN, STARTS
from wallet.identity.state_machine import SUBMISSIONS
from wallet.models import Credential, IdentityVerification, RedirectTask
from wallet.providers.contract import Provider, ProviderError, Started

State = IdentityVerification.State


@pytest.fixture
def holder(client, nora, redirect_task, sign_in):
    """Nora, signed in, on Acme Bank's redirect task."""
    sign_in(nora)
    return client


def page(name, redirect_task):
    return reverse(name, args=[redirect_task.id])


def hub(client, redirect_task):
    return client.get(page("wallet_identity", redirect_task))


def begin(client, redirect_task):
    """To the provider's page; its address."""
    response = client.post(page("wallet_identity_start", redirect_task))
    assert response.status_code == 303
    verification = IdentityVerification.objects.latest("created_at")
    assert response.url == reverse("sandbox_identity", args=[verification.id])
    return response.url


def hand_in(client, redirect_task, outcome):
    """Pick an outcome at the provider and come back; what the hub then says."""
    response = client.post(begin(client, redirect_task), {"outcome": outcome})
    assert response.status_code == 303
    response = client.get(response.url)
    assert (response.status_code, response.url) == (303, page("wallet_identity", redirect_task))
    return client.get(response.url)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (None, "Confirm your identity"),
        ("created", "Confirm your identity"),
        ("started", "Continue the identity check"),
        ("submitted", "Checking your identity"),
        ("processing", "Checking your identity"),
        ("resubmit", "Please try again"),
        ("review", "Your check needs a closer look"),
        ("declined", "Your identity could not be confirmed"),
        ("error", "The identity check had a problem"),
        ("abandoned", "Confirm your identity"),
        ("cancelled", "Confirm your identity"),
        ("expired", "Confirm your identity"),
        ("approved", "Confirm your identity"),
    ],
)
def test_every_state_has_a_page_with_a_way_back(holder, redirect_task, nora, now, state, words):
    if state:
        attempt_in(state, nora, now, redirect_task=redirect_task)
    response = hub(holder, redirect_task)
    text = response.content.decode()
    assert response.status_code == 200
    assert f"<h1>{words}</h1>" in text
    assert 'href="/left/"' in text
    assert "Acme Bank" in text
    assert "no-store" in response.headers["Cache-Control"]


@pytest.mark.parametrize("state", [None, "error", "resubmit"])
def test_no_level_of_headings_is_left_out_where_there_are_several_ways(
    holder, redirect_task, nora, now, state, settings
):
    settings.IDENTITY_PROVIDERS = {**settings.IDENTITY_PROVIDERS, "in_person": {}}
    if state:
        attempt_in(state, nora, now)
    text = hub(holder, redirect_task).content.decode()
    levels = [int(level) for level in re.findall(r"<h([1-6])", text)]
    assert levels.count(3) == 2
    assert all(deeper - level <= 1 for level, deeper in pairwise([0, *levels]))


def test_who_is_verified_already_goes_on(client, alice, sign_in, now):
    redirect_task = make_redirect_task(client, now=now, email=alice.email)
    sign_in(alice)
    response = hub(client, redirect_task)
    assert (response.status_code, response.url) == (303, "/done/")


@pytest.mark.parametrize("name", ["wallet_identity", "wallet_identity_in_person"])
def test_who_is_not_signed_in_signs_in_first(client, redirect_task, name):
    response = client.get(page(name, redirect_task))
    assert (response.status_code, response.url) == (303, page("wallet_sign_in", redirect_task))


def test_somebody_else_cannot_go_on_with_it(client, redirect_task, bob, sign_in):
    sign_in(bob)
    assert hub(client, redirect_task).url == page("wallet_sign_in", redirect_task)
    assert client.post(page("wallet_identity_start", redirect_task)).url == page(
        "wallet_sign_in", redirect_task
    )
    assert not IdentityVerification.objects.filter(state="created").exists()


# --- The sandbox's outcomes --------------------------------------------------------------------------------


APPROVED = ("adult", "under-18", "turns-18-tomorrow", "non-latin", "one-word", "year-of-birth", "long-name")


@pytest.mark.parametrize("outcome", APPROVED)
def test_an_approved_persona_goes_straight_on(holder, redirect_task, nora, outcome):
    response = hand_in(holder, redirect_task, outcome)
    assert (response.status_code, response.url) == (303, "/done/")
    assert Credential.objects.get().wallet == nora


@pytest.mark.parametrize(
    ("outcome", "name"),
    [
        ("non-latin", "佐々木"),
        ("long-name", "Wolfeschlegelsteinhausenbergerdorff-Oberhuber von Altenstein"),
    ],
)
def test_unusual_names_arrive_whole(holder, redirect_task, nora, outcome, name):
    hand_in(holder, redirect_task, outcome)
    assert first_claims(nora, ("family_name",)) == [name]


def test_a_declined_person_reads_when_to_come_back(holder, redirect_task):
    text = hand_in(holder, redirect_task, "declined").content.decode()
    assert "couldn’t confirm that the document is yours" in text
    until = IdentityVerification.objects.get().changed_at + COOL_DOWN
    assert f"You can begin a new check from {moment(until)}." in text
    assert 'href="/left/"' in text
    response = holder.post(page("wallet_identity_start", redirect_task))
    assert (response.status_code, response.url) == (303, page("wallet_identity", redirect_task))
    assert IdentityVerification.objects.count() == 1


def test_after_the_cool_down_the_first_page_is_back(holder, redirect_task, nora, now):
    attempt_in("declined", nora, now - timedelta(hours=6))
    assert "<h1>Confirm your identity</h1>" in hub(holder, redirect_task).content.decode()
    assert begin(holder, redirect_task)


def test_a_slow_check_waits_by_itself_says_so_and_ends(holder, redirect_task):
    response = hand_in(holder, redirect_task, "slow")
    assert "You can leave this page" in response.content.decode()
    assert "Check again" in response.content.decode()
    assert "Refresh" not in response.headers
    assert '<noscript><meta http-equiv="refresh" content="5"></noscript>' in response.content.decode()
    PickedOutcome.objects.update(picked_at=timezone.now() - timedelta(seconds=61))
    IdentityVerification.objects.update(changed_at=timezone.now() - timedelta(seconds=61))
    response = hub(holder, redirect_task)
    assert "Still checking your identity" in response.content.decode()
    assert '<noscript><meta http-equiv="refresh" content="20"></noscript>' in response.content.decode()
    PickedOutcome.objects.update(picked_at=timezone.now() - timedelta(seconds=91))
    response = hub(holder, redirect_task)
    assert (response.status_code, response.url) == (303, "/done/")


def test_who_left_while_it_was_slow_is_verified_when_they_come_back(
    holder, redirect_task, nora, sign_in, now
):
    hand_in(holder, redirect_task, "slow")
    PickedOutcome.objects.update(picked_at=timezone.now() - timedelta(seconds=91))
    later = make_redirect_task(holder, now=now, return_to="/later/")
    response = hub(holder, later)
    assert (response.status_code, response.url) == (303, "/later/")


# --- Stopping, breaks, holds -------------------------------------------------------------------------------


def test_stopping_leads_to_a_page_that_says_so_and_a_new_beginning(holder, redirect_task):
    begin(holder, redirect_task)
    response = holder.post(page("wallet_identity_cancel", redirect_task))
    assert (response.status_code, response.url) == (303, page("wallet_identity", redirect_task))
    text = hub(holder, redirect_task).content.decode()
    assert "You stopped the last check" in text
    assert 'href="/left/"' in text
    assert IdentityVerification.objects.get().state == "cancelled"
    begin(holder, redirect_task)


@pytest.mark.parametrize("state", ["started", "resubmit"])
def test_each_page_of_a_check_has_one_exit_and_another_way_only_where_there_is_one(
    holder, redirect_task, nora, now, settings, state
):
    attempt_in(state, nora, now, redirect_task=redirect_task)
    alone = hub(holder, redirect_task).content.decode()
    settings.IDENTITY_PROVIDERS = {**settings.IDENTITY_PROVIDERS, "from_afar": {"verified_by": "Example Ltd"}}
    several = hub(holder, redirect_task).content.decode()

    for text in (alone, several):
        assert text.count("Cancel and return to Acme Bank") == 1
        assert "Stop this check" not in text
    assert "Choose another way" not in alone
    assert ("Choose another way" in several) == (state == "started")  # elsewhere the ways are on the page
    assert ('aria-label="Choose: ' in several) == (state == "resubmit")


@pytest.mark.parametrize(("reason", "tips"), [("blurry", True), ("selfie_unclear", True), ("too_low", False)])
def test_who_sends_pictures_again_reads_how_to_take_good_ones(holder, redirect_task, nora, now, reason, tips):
    attempt_in("resubmit", nora, now, redirect_task=redirect_task)
    IdentityVerification.objects.update(reason=reason)

    assert ("Get all four corners in the picture" in hub(holder, redirect_task).content.decode()) == tips


def test_what_was_handed_in_cannot_be_stopped(holder, redirect_task):
    hand_in(holder, redirect_task, "slow")
    assert holder.post(page("wallet_identity_cancel", redirect_task)).status_code == 303
    assert IdentityVerification.objects.get().state == "processing"


def test_stopping_nothing_does_no_harm(holder, redirect_task):
    assert holder.post(page("wallet_identity_cancel", redirect_task)).status_code == 303


def test_beginning_twice_goes_on_with_the_first(holder, redirect_task):
    begin(holder, redirect_task)
    response = holder.post(page("wallet_identity_start", redirect_task))
    assert response.url == page("wallet_identity", redirect_task)
    assert IdentityVerification.objects.get().state == "started"


@pytest.mark.parametrize("state", [None, "created", "started", "resubmit", "error"])
def test_who_has_no_tries_left_is_told_until_when(holder, redirect_task, nora, now, state):
    if state:
        attempt_in(state, nora, now, redirect_task=redirect_task)
    for _ in range(5):
        SUBMISSIONS.take(str(nora.id), now=now)
    text = hub(holder, redirect_task).content.decode()
    assert "<h1>Too many attempts</h1>" in text
    assert "You can try again from <time datetime=" in text
    assert 'href="/left/"' in text


def test_a_check_beyond_the_limit_is_neither_begun_nor_gone_on_with_and_shows_the_break(
    holder, redirect_task, nora, now
):
    begin(holder, redirect_task)
    for _ in range(5):
        SUBMISSIONS.take(str(nora.id), now=now)
    assert holder.get(page("wallet_identity_continue", redirect_task)).url == page(
        "wallet_identity", redirect_task
    )
    holder.post(page("wallet_identity_cancel", redirect_task))
    assert holder.post(page("wallet_identity_start", redirect_task)).url == page(
        "wallet_identity", redirect_task
    )
    assert "<h1>Too many attempts</h1>" in hub(holder, redirect_task).content.decode()
    assert IdentityVerification.objects.get().state == "cancelled"


def test_a_suspended_credential_says_so_and_leads_back(client, alice, sign_in, now):
    redirect_task = make_redirect_task(client, now=now, email=alice.email)
    sign_in(alice)
    Credential.objects.update(state=Credential.State.SUSPENDED)
    text = hub(client, redirect_task).content.decode()
    assert "<h1>Your verified identity is suspended</h1>" in text
    assert 'href="/left/"' in text
    assert client.post(page("wallet_identity_start", redirect_task)).url == page(
        "wallet_identity", redirect_task
    )


ENDED = {"expires_at": datetime(2026, 5, 4, tzinfo=UTC)}
REVOKED = {"state": "revoked", "revoked_at": datetime(2026, 5, 4, 12, tzinfo=UTC)}


@pytest.mark.parametrize(
    ("change", "heading", "words"),
    [
        (ENDED, "Your verified identity has expired", "was valid until the end of 3 May 2026"),
        (REVOKED, "Your verified identity was revoked", "revoked your verified identity on 4 May 2026"),
        ({"state": "revoked"}, "Your verified identity was revoked", "It cannot be shared any more"),
        ({"sealed_identity": b""}, "Your verified identity cannot be read", "This is our fault"),
        ({**ENDED, "sealed_identity": b""}, "Your verified identity has expired", "3 May 2026"),
        ({**REVOKED, "sealed_identity": b""}, "Your verified identity was revoked", "4 May 2026"),
    ],
    ids=[
        "expired",
        "revoked",
        "revoked before the time was kept",
        "lost",
        "expired, erased",
        "revoked, erased",
    ],
)
def test_who_lost_their_credential_reads_why_and_is_verified_anew(
    client, alice, sign_in, now, change, heading, words
):
    redirect_task = make_redirect_task(client, now=now, email=alice.email)
    sign_in(alice)
    Credential.objects.update(**change)
    text = hub(client, redirect_task).content.decode()
    assert f"<h1>{heading}</h1>" in text
    assert words in text
    assert "To share again, prove who you are once more." in text
    assert "You need to prove who you are once." not in text
    assert hand_in(client, redirect_task, "adult").url == "/done/"


# --- The provider's page -----------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", ["", "everything", "adult'--"])
def test_an_outcome_that_is_none_is_refused(holder, redirect_task, outcome):
    assert holder.post(begin(holder, redirect_task), {"outcome": outcome}).status_code == 422
    assert IdentityVerification.objects.get().state == "started"


def test_nobody_picks_for_somebody_else(holder, redirect_task, bob, sign_in):
    address = begin(holder, redirect_task)
    stranger = Client()
    response = stranger.post(address, {"outcome": "adult"})
    assert response.status_code == 303
    assert "begun in another browser" in stranger.get(response.url).content.decode()
    sign_in(bob, browser=stranger)
    assert stranger.post(address, {"outcome": "adult"}).status_code == 404
    assert IdentityVerification.objects.get(wallet__email=NORA).state == "started"


def test_the_providers_page_is_over_once_handed_in(holder, redirect_task):
    address = begin(holder, redirect_task)
    holder.post(address, {"outcome": "slow"})
    assert holder.post(address, {"outcome": "adult"}).status_code == 303
    hub(holder, redirect_task)
    for response in (holder.get(address), holder.post(address, {"outcome": "adult"})):
        assert response.status_code == 303
    assert PickedOutcome.objects.get().outcome == "slow"
    assert IdentityVerification.objects.get().submissions == 1


def test_coming_back_in_another_browser_says_where_to_go_on(holder, redirect_task):
    begin(holder, redirect_task)
    verification = IdentityVerification.objects.get()
    back = reverse("wallet_identity_return", args=[verification.id])
    elsewhere = Client().get(back)
    assert "Go back to the browser in which you began" in elsewhere.content.decode()
    assert IdentityVerification.objects.get().returned_at is None
    assert holder.get(reverse("wallet_identity_return", args=[uuid.uuid4()])).url == reverse(
        "wallet_front_door"
    )
    assert holder.get(back).url == page("wallet_identity", redirect_task)
    RedirectTask.objects.all().delete()
    assert holder.get(back).url == reverse("wallet_front_door")


def test_coming_back_signed_out_asks_for_a_sign_in_and_then_goes_on(holder, redirect_task):
    holder.post(begin(holder, redirect_task), {"outcome": "slow"})
    del holder.cookies[settings.HOLDER_COOKIE_NAME]
    back = holder.get(reverse("wallet_identity_return", args=[IdentityVerification.objects.get().id]))
    assert holder.get(back.url).url == page("wallet_sign_in", redirect_task)


def test_an_open_check_goes_on_for_the_redirect_task_the_person_comes_with_now(holder, redirect_task, now):
    address = begin(holder, redirect_task)
    RedirectTask.objects.update(expires_at=now)
    later = make_redirect_task(holder, now=now, return_to="/later/")
    onward = page("wallet_identity_continue", later)
    assert f'href="{onward}"' in hub(holder, later).content.decode()
    assert holder.get(onward).url == address
    response = holder.post(address, {"outcome": "adult"})
    response = holder.get(response.url)
    assert response.url == page("wallet_identity", later)
    assert holder.get(response.url).url == "/later/"


# --- The operator's check ----------------------------------------------------------------------------------


@pytest.fixture
def in_person(settings):
    settings.IDENTITY_PROVIDERS = {"in_person": {}}


def test_an_in_person_check_goes_to_review(holder, redirect_task, in_person):
    response = holder.post(page("wallet_identity_start", redirect_task))
    address = page("wallet_identity_in_person", redirect_task)
    assert (response.status_code, response.url) == (303, address)
    text = holder.get(address).content.decode()
    assert "passport or identity card" in text
    assert 'href="/left/"' in text
    response = holder.post(address)
    assert (response.status_code, response.url) == (303, page("wallet_identity", redirect_task))
    verification = IdentityVerification.objects.get()
    assert (verification.state, verification.reason) == ("review", "in_person")
    assert verification.sealed_claims is None
    assert "Visit us with your document" in hub(holder, redirect_task).content.decode()
    assert holder.get(address).url == page("wallet_identity", redirect_task)
    assert holder.post(address).status_code == 303
    assert IdentityVerification.objects.get().submissions == 1


def test_the_in_person_page_is_not_there_for_other_providers(holder, redirect_task):
    begin(holder, redirect_task)
    address = page("wallet_identity_in_person", redirect_task)
    assert holder.get(address).status_code == 404
    assert holder.post(address).status_code == 404
    assert IdentityVerification.objects.get().state == "started"


class Elsewhere(Provider):
    """A provider on another host, which is down now and then."""

    label, needs, takes = "Elsewhere", "Nothing.", "No time."
    down = False

    def start(self, check, *, now):
        if self.down:
            raise ProviderError
        return Started("https://provider.example/check?id=1&lang=en", reference="their-reference")

    def result(self, check, *, now):
        raise ProviderError


def test_a_provider_elsewhere_is_reached_by_a_link_that_says_nothing_of_where_from(
    holder, redirect_task, settings
):
    settings.IDENTITY_PROVIDERS = {"elsewhere": {"type": f"{__name__}.Elsewhere"}}
    response = holder.post(page("wallet_identity_start", redirect_task))
    assert response.url == page("wallet_identity", redirect_task)
    address = page("wallet_identity_continue", redirect_task)
    assert f'href="{address}" rel="noreferrer"' in hub(holder, redirect_task).content.decode()
    response = holder.get(address)
    assert (response.status_code, response.url) == (302, "https://provider.example/check?id=1&lang=en")
    assert response.headers["Referrer-Policy"] in ("no-referrer", "same-origin")
    assert IdentityVerification.objects.get().provider_reference == "their-reference"


def test_a_provider_that_is_down_at_the_beginning_costs_nothing(holder, redirect_task, settings, monkeypatch):
    settings.IDENTITY_PROVIDERS = {"elsewhere": {"type": f"{__name__}.Elsewhere"}}
    monkeypatch.setattr(Elsewhere, "down", True)
    response = holder.post(page("wallet_identity_start", redirect_task))
    assert response.status_code == 502
    assert response.headers["Retry-After"] == "60"
    assert "Try again" in response.content.decode()
    assert IdentityVerification.objects.get().state == "created"


def test_a_provider_that_is_down_later_keeps_the_person_waiting(holder, redirect_task, nora, now, settings):
    settings.IDENTITY_PROVIDERS = {"elsewhere": {"type": f"{__name__}.Elsewhere"}}
    attempt_in("processing", nora, now, redirect_task=redirect_task)
    IdentityVerification.objects.update(provider="elsewhere")
    assert "<h1>Checking your identity</h1>" in hub(holder, redirect_task).content.decode()
    assert IdentityVerification.objects.get().state == "processing"


@pytest.mark.slow
@pytest.mark.usefixtures("windows_just_begun")
def test_nobody_makes_this_service_call_a_provider_without_end(holder, redirect_task):
    begin(holder, redirect_task)
    address = page("wallet_identity_continue", redirect_task)
    for _each in range(STARTS.most - 1):
        assert holder.get(address).status_code == 302
    response = holder.get(address)
    assert response.status_code == 429
    assert int(response["Retry-After"]) > 0
    assert holder.post(page("wallet_identity_start", redirect_task)).status_code == 429
    assert IdentityVerification.objects.get().state == State.STARTED
