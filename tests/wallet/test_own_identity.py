"""A holder sees their verified identity, renews it early and changes their name."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from sandbox.models import PickedOutcome
from tests.wallet.attempts import NORA_NEW, SEEN
from tests.wallet.conftest import together
from tests.wallet.operators import claimed, reviewer
from tests.wallet.presented_claims import first_claims
from wallet.credential import credentials
from wallet.identity import review
from wallet.models import Credential, IdentityVerification, RedirectTask, Wallet

pytestmark = pytest.mark.slow

HOME = "/wallet/"
OWN = "/wallet/identity/"  # its form begins a check; a visit leads home
NAME = (("given_name",), ("family_name",))


@pytest.fixture
def holder(client, alice, sign_in):
    """Alice, signed in; her identity was verified an hour ago."""
    Credential.objects.update(issued_at=alice.credential.issued_at - timedelta(hours=1))
    sign_in(alice)
    return client


def renew(client):
    """The address of the page of the check that renews."""
    response = client.post(OWN)
    assert response.status_code == 303
    return response.url


@pytest.fixture
def hub(holder):
    return renew(holder)


def submit(client, hub, outcome):
    """Begin the check, choose the outcome at the simulated provider, and come back."""
    provider = client.post(f"{hub}start/").url
    client.get(client.post(provider, {"outcome": outcome}).url)
    return client.get(hub)


def usable(wallet, now):
    return credentials.valid_credential(Wallet.objects.get(id=wallet.id), now=now) is not None


def test_a_visit_to_the_address_of_the_form_leads_home(holder):
    response = holder.get(OWN)
    assert (response.status_code, response.url) == (303, HOME)


def test_the_page_is_for_the_holder_who_is_signed_in(client, db):
    for response in (client.get(OWN), client.post(OWN)):
        assert (response.status_code, response.url) == (303, reverse("wallet_front_door"))
    assert not RedirectTask.objects.exists()


def test_who_has_none_yet_is_verified_from_there(client, nora, sign_in, now):
    sign_in(nora)
    assert "You need to prove who you are once" in client.get(HOME).content.decode()
    assert submit(client, renew(client), "adult").url == OWN
    assert usable(nora, now)


def test_a_holder_renews_and_changes_their_name(holder, alice, now, hub):
    text = holder.get(hub).content.decode()
    assert "<h1>Renew or change your verified identity</h1>" in text
    assert "stays as it is until the new check is approved" in text
    assert first_claims(alice, *NAME) == ["Alice", "Archer"]
    response = submit(holder, hub, "non-latin")
    assert (response.status_code, response.url) == (303, OWN)
    assert "佐々木" in first_claims(alice, *NAME)
    states = IdentityVerification.objects.order_by("created_at").values_list("state", flat=True)
    assert list(states) == ["expired", "approved"]


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ("declined", "could not be confirmed"),
        ("review", "Your check needs a closer look"),
        ("resubmit", "Please try again"),
        ("slow", "Checking your identity"),
        ("error", "had a problem"),
    ],
)
def test_until_a_new_one_is_approved_the_old_one_stays_valid(holder, alice, now, outcome, words, hub):
    assert words in submit(holder, hub, outcome).content.decode()
    assert usable(alice, now)
    assert first_claims(alice, *NAME) == ["Alice", "Archer"]
    assert "Valid until the end of" in holder.get(HOME).content.decode()


def test_a_renewal_that_an_operator_approves_takes_the_place_of_the_old_one(holder, alice, now, hub):
    submit(holder, hub, "review")
    assert "A person is looking at your identity check" in holder.get(HOME).content.decode()
    waiting = claimed(IdentityVerification.objects.get(state="review"))
    later = RedirectTask.objects.get().created_at + timedelta(minutes=1)
    review.approve(waiting, NORA_NEW, SEEN, operator=reviewer(), reason="Passport seen", now=later)
    assert first_claims(alice, *NAME) == ["Nora", "New"]
    assert holder.get(hub).url == OWN


def test_stopping_a_renewal_leads_back_to_the_page_and_changes_nothing(holder, alice, now, hub):
    assert f'href="{OWN}"' in holder.get(hub).content.decode()
    holder.post(f"{hub}start/")
    holder.post(f"{hub}cancel/")
    assert "You stopped the last check" in holder.get(hub).content.decode()
    assert usable(alice, now)


def test_a_suspended_identity_is_not_renewed(holder, alice, hub):
    Credential.objects.update(state="suspended")
    assert "suspended" in holder.get(hub).content.decode()
    holder.post(f"{hub}start/")
    assert IdentityVerification.objects.count() == 1


def test_clicks_share_one_way_to_the_check_until_it_is_done(holder, now, hub):
    assert renew(holder) == hub
    assert submit(holder, hub, "adult").url == OWN
    assert renew(holder) != hub
    assert RedirectTask.objects.count() == 2


def test_a_renewal_is_not_begun_from_another_site(holder):
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = holder.cookies
    assert strict.post(OWN).status_code == 403
    assert not RedirectTask.objects.exists()


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_renewals_in_two_tabs_issue_one_identity_each_check(holder, alice, now, hub):
    provider = holder.post(f"{hub}start/").url
    holder.post(provider, {"outcome": "slow"})
    IdentityVerification.objects.filter(state="started").update(changed_at=now - timedelta(hours=2))
    PickedOutcome.objects.update(picked_at=now - timedelta(hours=1))

    def look(number):
        browser = Client()
        browser.cookies = holder.cookies
        return browser.get(hub).status_code

    assert set(together(look, 4)) <= {200, 303}
    assert holder.get(hub).url == OWN
    assert IdentityVerification.objects.filter(state="approved").count() == 1
    assert Credential.objects.count() == 1
