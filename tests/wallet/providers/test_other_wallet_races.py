"""Answers, returns and the sweep at the same moment: one of them counts, and once."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.wallet.conftest import together
from tests.wallet.providers.other_wallet_play import browser_of, link_on
from tests.wallet.providers.pids import NORA_TYPES, OtherPersonsWallet, fetched, posted, world
from tests.wallet.providers.plays import Call
from wallet.models import Credential, IdentityVerification, RedirectTask, Wallet

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]
State = IdentityVerification.State


@pytest.fixture
def nora_begins(
    settings: Any, client: Client, nora: Wallet, redirect_task: RedirectTask, sign_in: Any
) -> str:
    settings.IDENTITY_PROVIDERS = {"wallet": world().settings}
    sign_in(nora)
    return client.post(reverse("wallet_identity_start", args=[redirect_task.id])).url


def send(call: Call) -> int:
    return Client().post(call.path, call.body, content_type=call.headers["content-type"]).status_code


def attempt() -> IdentityVerification:
    return IdentityVerification.objects.get()


@pytest.mark.parametrize("device", ["this", "other"])
def test_of_answers_at_the_same_moment_one_counts(client: Client, nora_begins: str, device: str) -> None:
    if device == "other":
        client.post(nora_begins, {"device": device, **NORA_TYPES})
    request = fetched(Client(), link_on(client.get(nora_begins)))
    answers = [OtherPersonsWallet().answer(request) for _ in range(4)]
    statuses = together(lambda number: send(answers[number]), 4)
    assert statuses.count(200) == 1
    assert {status for status in statuses if status != 200} <= {400, 409}
    assert attempt().state == (State.APPROVED if device == "other" else State.STARTED)
    assert Credential.objects.count() == (device == "other")


def test_of_an_answer_and_a_stop_at_the_same_moment_one_counts(client: Client, nora_begins: str) -> None:
    client.post(nora_begins, {"device": "other", **NORA_TYPES})
    request = fetched(Client(), link_on(client.get(nora_begins)))
    stop = posted(request, error="access_denied", state=request["state"])
    calls = [OtherPersonsWallet().answer(request), stop]
    statuses = together(lambda number: send(calls[number]), 2)
    assert statuses.count(200) == 1
    counted = State.APPROVED if statuses[0] == 200 else State.CANCELLED
    assert attempt().state == counted


def test_a_new_request_and_an_answer_to_the_old_one_at_the_same_moment(
    client: Client, nora_begins: str
) -> None:
    """Either the old answer counts, or only the new request is there."""
    client.post(nora_begins, {"device": "other", **NORA_TYPES})
    request = fetched(Client(), link_on(client.get(nora_begins)))
    answer = OtherPersonsWallet().answer(request)
    browser = browser_of(attempt())
    status, _page = together(
        lambda number: browser.post(nora_begins, {"device": "this"}) if number else send(answer), 2
    )
    if status == 200:
        client.get(nora_begins)  # the answer leaves the asking to a page that asks at the same moment
        assert attempt().state == State.APPROVED
    else:
        assert status in (400, 409)
        assert attempt().state == State.STARTED
        assert fetched(Client(), link_on(client.get(nora_begins)))["nonce"] != request["nonce"]


def test_a_new_request_does_not_take_the_place_of_an_answer_that_is_being_settled(
    client: Client, nora_begins: str
) -> None:
    """The wallet was told that its answer counts, and another process asks for the result just then."""
    client.post(nora_begins, {"device": "other", **NORA_TYPES})
    request = fetched(Client(), link_on(client.get(nora_begins)))
    IdentityVerification.objects.update(asking_until=timezone.now() + timedelta(seconds=30))
    assert send(OtherPersonsWallet().answer(request)) == 200

    client.post(nora_begins, {"device": "this"})

    IdentityVerification.objects.update(asking_until=None)
    client.get(nora_begins)
    assert attempt().state == State.APPROVED
