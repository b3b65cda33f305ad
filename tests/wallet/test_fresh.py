"""Tests of the fresh factor: what an open browser alone does not suffice for."""

import re
from datetime import timedelta

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.presentation.requests.deciding import SignIn
from wallet.account.fresh import FRESH_FOR, is_fresh
from wallet.models import HolderSession, RedirectTask, Wallet

pytestmark = pytest.mark.django_db
NEED_IT = ("wallet_data", "wallet_data_json", "wallet_close", "wallet_email_change", "wallet_passkey_add")


@pytest.mark.parametrize("name", NEED_IT)
def test_after_five_minutes_a_factor_is_asked_for_and_the_page_comes_back(
    client: Client, alice: Wallet, sign_in: SignIn, name: str
) -> None:
    sign_in(alice, ago=timedelta(minutes=4))
    assert client.get(reverse(name)).status_code == 200
    HolderSession.objects.update(signed_in_at=timezone.now() - FRESH_FOR)

    asked = client.get(reverse(name)).headers["Location"]
    page = client.get(asked).content.decode()
    assert "Confirm that it is you" in page
    assert 'data-passkey="get"' in page  # a passkey will do, as on any redirect task
    sent = client.post(asked).headers["Location"]
    code = re.search(r"\b\d{6}\b", str(mail.outbox[-1].body))
    assert code is not None
    back = client.post(sent, {"code": code[0]}).headers["Location"]

    assert back == reverse(name.removesuffix("_json"))
    assert client.get(back).status_code == 200


def test_an_earlier_confirmation_that_would_do_no_more_is_not_asked_for_again(
    client: Client, alice: Wallet, sign_in: SignIn
) -> None:
    sign_in(alice, ago=timedelta(minutes=20))
    first = client.get(reverse("wallet_data")).headers["Location"]
    assert client.get(reverse("wallet_data")).headers["Location"] == first
    # The holder confirms, and comes again when that is too old as well; the redirect task still stands.
    RedirectTask.objects.update(fresh_since=timezone.now() - timedelta(minutes=11))
    HolderSession.objects.update(signed_in_at=timezone.now() - timedelta(minutes=6))

    second = client.get(reverse("wallet_data")).headers["Location"]

    assert second != first
    assert client.get(second).status_code == 200  # and not back to the page, which would lead here


def test_exactly_five_minutes_are_fresh() -> None:
    now = timezone.now()
    assert is_fresh(HolderSession(signed_in_at=now - FRESH_FOR), now=now)
    assert not is_fresh(HolderSession(signed_in_at=now - FRESH_FOR - timedelta(microseconds=1)), now=now)
