"""The simulated provider of the sandbox: signed callbacks, and results that come early, late or never."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from sandbox.identity_provider import views
from sandbox.identity_provider.personas import EARLY, OUTCOMES
from sandbox.identity_provider.provider import NAME, SIGNATURE, SimulatedProvider, signature
from sandbox.models import PickedOutcome
from tests.wallet.browser_redirect_tasks import make_redirect_task
from tests.wallet.looking_at_pages import look
from tests.wallet.signing_in import sign_in as sign_in_to
from wallet.identity.sweeping import IDLE, sweep
from wallet.models import Credential, IdentityVerification, RedirectTask
from wallet.providers.contract import Message, MessageRefusedError
from wallet.providers.options import Options

pytestmark = pytest.mark.slow


@pytest.fixture
def redirect_task(client: Client, nora: Any, sign_in: Any, now: Any) -> RedirectTask:
    """Nora, signed in and sent to the simulated provider."""
    redirect_task = make_redirect_task(client, now=now)
    sign_in(nora)
    client.post(reverse("wallet_identity_start", args=[redirect_task.id]))
    return redirect_task


def pick(client: Client, outcome: str) -> Any:
    attempt = IdentityVerification.objects.get()
    return client.post(reverse("sandbox_identity", args=[attempt.id]), {"outcome": outcome})


def hub(client: Client, redirect_task: RedirectTask) -> Any:
    return client.get(reverse("wallet_identity", args=[redirect_task.id]))


def test_the_result_can_come_before_the_return(client: Client, redirect_task: RedirectTask) -> None:
    response = pick(client, "result-first")
    attempt = IdentityVerification.objects.get()
    assert attempt.state == "approved"  # nobody has come back yet
    back = reverse("wallet_identity_return", args=[attempt.id])
    assert f'href="{back}"' in response.content.decode()
    assert client.get(back).url == reverse("wallet_identity", args=[redirect_task.id])
    assert hub(client, redirect_task).url == "/done/"


def test_the_person_can_be_back_before_the_result(client: Client, redirect_task: RedirectTask) -> None:
    client.get(pick(client, "early").url)
    assert "Checking your identity" in hub(client, redirect_task).content.decode()
    assert IdentityVerification.objects.get().state == "started"
    earlier = timezone.now() - EARLY
    IdentityVerification.objects.update(changed_at=earlier - timedelta(seconds=1))
    PickedOutcome.objects.update(picked_at=earlier)
    assert hub(client, redirect_task).url == "/done/"


def test_a_result_that_never_comes_ends_as_abandoned_and_uncharged(
    client: Client, redirect_task: RedirectTask
) -> None:
    client.get(pick(client, "never").url)
    IdentityVerification.objects.update(changed_at=timezone.now() - IDLE)
    assert sweep(now=timezone.now()) == {"abandoned": 1}
    assert IdentityVerification.objects.get().submissions == 0


def test_who_does_not_agree_reads_so_and_chooses_again(client: Client, redirect_task: RedirectTask) -> None:
    client.get(pick(client, "elsewhere").url)
    text = hub(client, redirect_task).content.decode()
    assert "You did not agree to how this check works" in text
    assert "Agree and begin" in text
    assert IdentityVerification.objects.get().submissions == 0


@pytest.mark.parametrize("outcome", sorted(key for key in OUTCOMES if not OUTCOMES[key].calls_back))
def test_the_other_outcomes_do_not_call(client: Client, redirect_task: RedirectTask, outcome: str) -> None:
    assert pick(client, outcome).status_code == 303
    assert IdentityVerification.objects.get().state == "started"


def test_the_callback_goes_through_the_view_of_every_provider(
    client: Client, redirect_task: RedirectTask
) -> None:
    pick(client, "adult")
    reference = IdentityVerification.objects.get().provider_reference
    assert views.send_callback(reference).status_code == 200
    assert views.send_callback("unknown").status_code == 200
    assert Credential.objects.count() == 1


def test_a_result_that_was_seen_is_not_that_of_the_next_try(
    client: Client, redirect_task: RedirectTask
) -> None:
    client.get(pick(client, "resubmit").url)
    hub(client, redirect_task)
    client.post(reverse("wallet_identity_start", args=[redirect_task.id]))
    hub(client, redirect_task)
    attempt = IdentityVerification.objects.get()
    assert (attempt.state, attempt.submissions) == ("started", 1)


def message(body: bytes, **headers: str) -> Message:
    return Message(from_browser=False, method="POST", path="", query={}, headers=headers, body=body)


@given(body=st.binary(max_size=60) | st.builds(json.dumps, st.text() | st.lists(st.none())).map(str.encode))
def test_whatever_is_signed_names_a_check_or_is_refused(body: bytes) -> None:
    provider = SimulatedProvider(NAME, Options("", {}, own_framework="https://id.example/assurance"))
    with pytest.raises(MessageRefusedError):
        provider.receive(message(body), lambda reference: None, now=timezone.now())
    signed = message(body, **{SIGNATURE: signature(body)})
    with pytest.raises(MessageRefusedError):
        provider.receive(signed, lambda reference: None, now=timezone.now())


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_a_page_that_waits_shows_the_result_as_soon_as_the_provider_calls(
    visit: Any, live_server: Any
) -> None:
    page = sign_in_to(visit)
    visit("wallet_identity")
    page.get_by_role("button", name="Agree and begin").click()
    page.wait_for_url("**/sandbox/identity/**")
    attempt = IdentityVerification.objects.get()
    waiting = page.context.new_page()
    waiting.goto(live_server.url + reverse("wallet_identity_return", args=[attempt.id]))
    look(waiting, "identity-back-early", "Checking your identity")
    page.get_by_text("Result before the return").click()
    page.get_by_role("button", name="Submit").click()
    look(page, "sandbox-identity-sent", "The result was sent")
    waiting.wait_for_url("**/signed-out/?done", timeout=60_000)
    page.get_by_role("link", name="Go back").click()
    page.wait_for_url("**/signed-out/?done")


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_a_check_that_comes_back_in_another_browser_says_where_to_go_on(
    visit: Any, live_server: Any, page: Any
) -> None:
    sign_in_to(visit)
    visit("wallet_identity")
    page.get_by_role("button", name="Agree and begin").click()
    page.wait_for_url("**/sandbox/identity/**")
    attempt = IdentityVerification.objects.get()
    phone = page.context.browser.new_context(viewport={"width": 320, "height": 640}).new_page()
    phone.goto(live_server.url + reverse("wallet_identity_return", args=[attempt.id]))
    look(phone, "identity-elsewhere", "This check was begun in another browser")
    phone.get_by_text("Go back to the browser in which you began").wait_for()
    phone.context.close()
