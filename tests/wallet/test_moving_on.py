"""What moves an attempt on: leases, providers that raise or talk nonsense, messages, and other providers."""

import threading
from datetime import timedelta

import pytest
from django.conf import settings as configured
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.people import BOB, evidence_of
from tests.wallet.attempts import NORA_NEW, attempt_in, log_of
from tests.wallet.browser_redirect_tasks import make_redirect_task
from tests.wallet.conftest import together
from wallet.identity import attempts, progress, state_machine, sweeping
from wallet.identity.settling import settle
from wallet.identity.state_machine import SUBMISSIONS, ForbiddenMoveError
from wallet.identity.views import messages
from wallet.models import Credential, IdentityVerification, Wallet
from wallet.providers.contract import (
    MessageRefusedError,
    Provider,
    ProviderError,
    Received,
    Reply,
    Started,
)
from wallet.providers.findings import (
    Failed,
    NeedsReview,
    NotHere,
    Pending,
    Refused,
    SubmitAgain,
    Verified,
)

SECOND = timedelta(seconds=1)


class Told(Provider):
    """Does what a test tells it, and counts how often it is asked."""

    label, needs, takes = "Told", "A bank login.", "A minute."
    started, found, received = Started("https://told.example/", "r1"), Pending(), Received(("r1",))
    asked = 0

    def _do(self, act, *facts):
        if isinstance(act, BaseException):
            raise act
        return act(*facts) if callable(act) else act

    def start(self, check, *, now):
        return self._do(Told.started)

    def result(self, check, *, now):
        Told.asked += 1
        return self._do(Told.found)

    def receive(self, message, find, *, now):
        return self._do(Told.received, find)


@pytest.fixture
def told(settings, monkeypatch):
    """The provider, and how to tell it."""
    settings.IDENTITY_PROVIDERS = {
        "told": {"type": f"{__name__}.Told"},
        "other": {"type": f"{__name__}.Told"},
    }
    monkeypatch.setattr(Told, "asked", 0)

    def told(**acts):
        for name, act in acts.items():
            monkeypatch.setattr(Told, name, staticmethod(act) if callable(act) else act)

    return told


def begun(wallet, now, state="started", **facts):
    facts = {"provider_reference": "r1", "submissions": 0} | facts
    verification = attempt_in(state, wallet, now - timedelta(minutes=1), **facts)
    IdentityVerification.objects.filter(id=verification.id).update(provider="told")
    verification.refresh_from_db()
    return verification


# --- Leases ------------------------------------------------------------------------------------------------


def test_while_one_asks_nobody_else_does(nora, now, told):
    told(found=Verified(NORA_NEW, evidence_of()))
    verification = begun(nora, now, asking_until=now + SECOND)
    assert progress.refresh(verification, now=now) is False
    assert (Told.asked, verification.state) == (0, "started")
    assert progress.refresh(verification, now=now + SECOND) is True  # the lease has ended
    assert (Told.asked, verification.state) == (1, "approved")


@pytest.mark.parametrize("answer", [Pending(), ProviderError("down"), ZeroDivisionError(), None, "verified"])
def test_the_lease_is_given_back_whatever_the_provider_does(nora, now, told, answer):
    told(found=answer)
    verification = begun(nora, now)
    assert progress.refresh(verification, now=now) is isinstance(answer, Pending)
    stored = IdentityVerification.objects.get()
    assert (stored.state, stored.submissions, stored.asking_until) == ("started", 0, None)
    assert stored.asked_at == now


def test_who_lost_the_lease_does_not_give_back_that_of_another(nora, now, told):
    verification = begun(nora, now)

    def slow():
        later = now + progress.LEASE
        IdentityVerification.objects.update(asking_until=later + progress.LEASE)
        return Pending()

    told(found=slow)
    progress.refresh(verification, now=now)
    assert IdentityVerification.objects.get().asking_until == now + 2 * progress.LEASE


def test_an_old_answer_is_dropped_once_the_person_has_begun_again(nora, now, told):
    verification = begun(nora, now)

    def meanwhile():
        other = IdentityVerification.objects.get()
        settle(other, SubmitAgain("blurry"), now=now)
        told(found=Pending())
        progress.begin(other, now=now + SECOND)
        return SubmitAgain("blurry")

    told(found=meanwhile)
    progress.refresh(verification, now=now)
    stored = IdentityVerification.objects.get()
    assert (stored.state, stored.submissions) == ("started", 1)


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_one_asks(now, told):
    wallet = Wallet.objects.create(email="p@example.org", created_at=now)
    begun(wallet, now)
    entered = threading.Event()

    def slow():
        entered.set()
        threading.Event().wait(0.3)
        return Verified(NORA_NEW, evidence_of())

    told(found=slow)
    together(lambda number: progress.refresh(IdentityVerification.objects.get(), now=now), 6)
    assert entered.is_set()
    assert Told.asked == 1
    assert IdentityVerification.objects.get().submissions == 1
    assert Credential.objects.count() == 1


# --- What is charged ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("finding", [NotHere("stopped"), Failed()])
@pytest.mark.parametrize("state", ["started", "processing"])
def test_what_ends_without_a_result_is_not_charged(nora, now, state, finding):
    verification = begun(nora, now)
    if state == "processing":
        settle(verification, Pending(submitted=True), now=now)
        assert (verification.state, verification.submissions) == ("processing", 1)
    SUBMISSIONS.take(str(nora.id), now=now)  # an earlier try stays charged
    settle(verification, finding, now=now + SECOND)
    assert verification.submissions == 0
    assert verification.state == ("error" if isinstance(finding, Failed) else "cancelled")
    assert SUBMISSIONS.left(str(nora.id), now=now) == 4


def test_a_provider_that_knows_only_that_the_person_is_done_charges_once(nora, now):
    verification = begun(nora, now)
    for _ in range(2):
        settle(verification, Pending(submitted=True), now=now)
    assert (verification.state, verification.submissions) == ("processing", 1)
    with pytest.raises(ForbiddenMoveError):
        state_machine.cancel(verification, now=now)
    settle(verification, Verified(NORA_NEW, evidence_of()), now=now)
    assert (verification.state, verification.submissions) == ("approved", 1)
    settle(verification, Pending(submitted=True), now=now)
    assert len(log_of(verification)) == 3


@pytest.mark.parametrize("kind", [SubmitAgain, NeedsReview, Refused, NotHere, Failed])
def test_a_reason_for_which_there_are_no_words_is_a_mistake_of_the_provider(kind):
    with pytest.raises(ValueError):
        kind("because")


# --- Beginning ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "act",
    [
        ProviderError("down"),
        ZeroDivisionError(),
        None,
        lambda: Started("javascript:alert(1)"),
        lambda: Started("//elsewhere.example/"),
        lambda: Started("https:///x"),
        lambda: Started(""),
        lambda: Started("/x", reference="r" * 201),
        lambda: Started("/x", reference="r\n"),
        lambda: Started("/x", memory={"x": object()}),
    ],
)
def test_a_provider_that_cannot_begin_costs_nothing_and_shows_a_page(
    client, nora, redirect_task, sign_in, told, act
):
    told(started=act)
    sign_in(nora)
    response = client.post(reverse("wallet_identity_start", args=[redirect_task.id]), {"provider": "told"})
    assert response.status_code == 502
    assert "The identity check had a problem" in response.content.decode()
    assert IdentityVerification.objects.get().state == "created"


def test_two_wallets_that_got_one_reference_at_once_get_no_result_of_it(nora, bob, now, told):
    told(found=Verified(NORA_NEW, evidence_of()))
    for verification in (begun(nora, now), begun(bob, now)):
        assert verification.state == "started"
    for verification in IdentityVerification.objects.filter(provider="told"):
        assert progress.refresh(verification, now=now) is False
    assert IdentityVerification.objects.filter(state="started").count() == 2
    assert not Credential.objects.filter(wallet=nora).exists()


def test_two_wallets_never_have_one_reference(nora, bob, client, redirect_task, now, told):
    told(started=Started("https://told.example/", "same"))
    first = attempts.attempt(nora, redirect_task, "told", now=now)
    progress.begin(first, now=now)
    second = attempts.attempt(bob, make_redirect_task(client, now=now, email=BOB), "told", now=now)
    with pytest.raises(ProviderError, match="reference of another check"):
        progress.begin(second, now=now)
    second.refresh_from_db()
    assert (second.state, second.provider_reference) == ("created", "")


# --- Choosing another provider -----------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["created", "started", "resubmit"])
def test_another_provider_can_be_chosen_before_anything_waits_for_a_result(
    nora, redirect_task, now, told, state
):
    first = begun(nora, now, state)
    second = attempts.attempt(nora, redirect_task, "other", now=now)
    first.refresh_from_db()
    assert (first.state, second.state, second.provider) == ("cancelled", "created", "other")


@pytest.mark.parametrize("state", ["processing", "review"])
def test_what_waits_for_a_result_goes_on_whatever_is_chosen(nora, redirect_task, now, told, state):
    first = begun(nora, now, state)
    assert attempts.attempt(nora, redirect_task, "other", now=now) == first
    with pytest.raises(ForbiddenMoveError):
        progress.begin(first, now=now)


def test_after_a_failure_another_provider_begins_a_new_attempt(nora, redirect_task, now, told):
    first = begun(nora, now, "error")
    assert attempts.attempt(nora, redirect_task, "told", now=now) == first
    assert attempts.attempt(nora, redirect_task, "other", now=now) != first


def test_the_page_names_who_asks_for_what_and_every_way_with_what_it_needs(
    client, nora, sign_in, now, settings
):
    settings.IDENTITY_PROVIDERS = {"told": {"type": f"{__name__}.Told"}, "in_person": {}}
    redirect_task = make_redirect_task(client, now=now, asks_for=["given_name", "birth_date"])
    sign_in(nora)
    text = client.get(reverse("wallet_identity", args=[redirect_task.id])).content.decode()
    assert "Acme Bank</bdi> wants to confirm: " in text
    for said in ("Given name", "Date of birth", "Told", "A bank login.", "A minute.", "Visit us"):
        assert said.lower() in text.lower()
    assert text.index("A bank login.") < text.index("Visit us")
    assert text.count('name="provider"') == 2
    assert "Choose how to show who you are" in text


def test_with_one_provider_there_is_nothing_to_choose(client, nora, redirect_task, sign_in, settings):
    settings.IDENTITY_PROVIDERS = {"in_person": {}}
    sign_in(nora)
    text = client.get(reverse("wallet_identity", args=[redirect_task.id])).content.decode()
    assert text.count('name="provider"') == 1
    assert "Agree and begin" in text
    assert "Choose how to show who you are" not in text


@pytest.mark.parametrize("chosen", ["", "unknown", "in_person"])
def test_a_provider_that_is_not_offered_cannot_be_chosen(client, nora, redirect_task, sign_in, told, chosen):
    sign_in(nora)
    response = client.post(reverse("wallet_identity_start", args=[redirect_task.id]), {"provider": chosen})
    assert response.url == reverse("wallet_identity", args=[redirect_task.id])
    assert not IdentityVerification.objects.exists()


# --- Messages ----------------------------------------------------------------------------------------------


def address(name="told", end="callback/"):
    return reverse("wallet_identity_messages", args=[name]) + end


@pytest.mark.parametrize(
    ("act", "status"),
    [
        (Received(), 200),
        (Received(("r1", "unknown")), 200),
        (Received(reply=Reply(202, "text/plain", b"ok")), 202),
        (MessageRefusedError("forged", status=403), 403),
        (ZeroDivisionError(), 400),
    ],
)
def test_a_callback_gets_the_providers_answer(nora, now, told, act, status):
    told(received=act)
    begun(nora, now)
    assert Client().post(address(), b"{}", "application/json").status_code == status


@pytest.mark.parametrize(
    ("length", "status"), [(messages.LONGEST, 200), (messages.LONGEST + 1, 413), (300_000, 413)]
)
def test_a_callback_has_a_longest_body(db, told, length, status):
    assert Client().post(address(), b"x" * length, "application/octet-stream").status_code == status


@pytest.mark.parametrize("query", ["?a=1&a=2", "?" + "&".join(f"a{n}=1" for n in range(51))])
@pytest.mark.parametrize("end", ["callback/", "callback/further/down", "return/"])
def test_repeated_or_too_many_parameters_are_refused(db, told, end, query):
    response = Client().get(address(end=end) + query)
    assert response.status_code == (303 if end == "return/" else 400)
    assert Told.asked == 0


def test_only_the_callback_takes_posts_and_they_are_of_no_page(db, told):
    strict = Client(enforce_csrf_checks=True)
    assert strict.post(address()).status_code == 200
    assert strict.post(address(end="return/")).status_code in (403, 405)
    for method in ("put", "delete", "patch"):
        assert getattr(strict, method)(address()).status_code == 405
    for name in ("wallet_identity_start", "wallet_identity_cancel"):
        path = reverse(name, args=["00000000-0000-4000-8000-000000000000"])
        assert strict.post(path).status_code == 403


@pytest.mark.parametrize("end", ["callback/", "return/", ""])
def test_a_provider_that_is_not_configured_has_no_addresses(db, told, end):
    assert Client().get(address("nobody", end)).status_code in (303, 404)
    assert Client().post(address("nobody")).status_code == 404
    assert Client().get(address(end="")).status_code == 404


def test_a_browser_whose_return_is_refused_is_led_to_what_it_was_doing(
    client, nora, redirect_task, now, told
):
    verification = begun(nora, now, redirect_task=redirect_task)
    told(received=MessageRefusedError("read before"))
    hub = reverse("wallet_identity", args=[redirect_task.id])
    assert client.get(address(end="return/")).url == hub
    state_machine.cancel(verification, now=now)
    assert client.get(address(end="return/")).url == hub
    assert Client().get(address(end="return/")).url == reverse("wallet_front_door")
    stranger = Client()
    stranger.cookies[configured.BROWSER_COOKIE_NAME] = "x" * 43
    assert stranger.get(address(end="return/")).url == reverse("wallet_front_door")


@pytest.mark.parametrize("cookie", [None, "x" * 43])
def test_what_a_browser_brings_that_did_not_begin_ends_the_check(nora, redirect_task, now, told, cookie):
    told(received=Received(("r1",)), found=Verified(NORA_NEW, evidence_of()))
    verification = begun(nora, now, redirect_task=redirect_task)
    stranger = Client()
    if cookie:
        stranger.cookies[configured.BROWSER_COOKIE_NAME] = cookie
    response = stranger.get(address(end="return/") + "?code=1")
    assert response.status_code == 403
    assert "begun in another browser" in response.content.decode()
    verification.refresh_from_db()
    assert (verification.state, verification.reason) == ("cancelled", "other_browser")
    assert verification.submissions == Told.asked == 0


def test_of_two_messages_at_once_only_one_changes_what_the_provider_keeps(
    client, nora, redirect_task, now, told
):
    verification = begun(nora, now, redirect_task=redirect_task)

    def read_while_another_is_faster(find):
        find("r1")
        progress.remember(IdentityVerification.objects.get(), {"code": "first"})
        return Received(("r1",), memory={"code": "second"})

    told(received=read_while_another_is_faster)
    assert client.post(address()).status_code == 409
    verification.refresh_from_db()
    assert progress.check_of(verification).memory == {"code": "first"}


def test_following_the_link_again_does_not_spoil_a_message_that_arrives_meanwhile(nora, now, told):
    told(started=Started("https://told.example/", "r1", memory={"nonce": "n"}))
    verification = begun(nora, now, "created")
    progress.begin(verification, now=now)
    read_by_the_message = IdentityVerification.objects.get()
    progress.go_on(IdentityVerification.objects.get(), now=now)
    progress.remember(read_by_the_message, {"nonce": "n", "code": "c"})
    verification.refresh_from_db()
    assert progress.check_of(verification).memory == {"nonce": "n", "code": "c"}


def test_memory_sealed_under_a_key_that_is_gone_is_as_none(nora, now, told):
    verification = begun(nora, now, sealed_memory=b"not to be opened")
    assert progress.check_of(verification).memory == {}


# --- The sweep ---------------------------------------------------------------------------------------------


def aged(wallet, now, age, **facts):
    verification = begun(wallet, now, **facts)
    IdentityVerification.objects.update(changed_at=now - age)
    verification.refresh_from_db()
    return verification


@pytest.mark.parametrize(
    ("facts", "asked"),
    [
        ({}, 1),
        ({"asked_ago": sweeping.STALE_BEGUN - SECOND}, 0),
        ({"asked_ago": sweeping.STALE_BEGUN}, 1),
        ({"asked_ago": sweeping.STALE, "returned": True}, 1),
        ({"asked_ago": sweeping.STALE - SECOND, "returned": True}, 0),
        ({"asked_ago": sweeping.STALE, "state": "processing"}, 1),
        ({"asked_ago": sweeping.STALE - SECOND, "state": "processing"}, 0),
        ({"state": "resubmit"}, 0),
    ],
)
def test_the_sweep_asks_at_its_intervals(nora, now, told, facts, asked):
    row = {"asked_at": now - facts["asked_ago"]} if "asked_ago" in facts else {}
    row |= {"returned_at": now - sweeping.STALE} if facts.get("returned") else {}
    aged(nora, now, timedelta(hours=2), state=facts.get("state", "started"), **row)
    sweeping.sweep(now=now)
    assert Told.asked == asked


def test_nobody_is_abandoned_whom_the_provider_has_verified_a_moment_ago(nora, now, told):
    verification = aged(nora, now, sweeping.IDLE, asked_at=now - SECOND)
    told(found=Verified(NORA_NEW, evidence_of()))
    assert sweeping.sweep(now=now) == {"approved": 1}
    verification.refresh_from_db()
    assert verification.state == "approved"


def test_while_the_provider_cannot_be_asked_nobody_is_abandoned_for_a_week(nora, now, told):
    told(found=ProviderError("down"))
    aged(nora, now, sweeping.LONGEST_IDLE - SECOND)
    assert sweeping.sweep(now=now) == {}
    IdentityVerification.objects.update(changed_at=now - sweeping.LONGEST_IDLE)
    assert sweeping.sweep(now=now) == {"abandoned": 1}


def test_an_idle_attempt_whose_provider_knows_nothing_is_abandoned(nora, now, told):
    aged(nora, now, sweeping.IDLE, asked_at=now - SECOND)
    assert sweeping.sweep(now=now) == {"abandoned": 1}


def test_an_attempt_whose_provider_is_gone_ends_uncharged(nora, now, told, settings):
    aged(nora, now, timedelta(hours=1))
    settings.IDENTITY_PROVIDERS = {"in_person": {}}
    assert sweeping.sweep(now=timezone.now()) == {"cancelled": 1}
    assert IdentityVerification.objects.get().reason == "provider_changed"
