"""Idle identity verifications and expired rows are moved or deleted, in batches, by concurrent sweeps."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command

import infra.retention
from infra.limits import Limit, RollingLimit
from infra.models import Allowance
from sandbox.models import PickedOutcome
from tests.wallet.attempts import attempt_in, log_of
from tests.wallet.browser_redirect_tasks import make_redirect_task
from tests.wallet.conftest import together
from wallet import retention
from wallet.identity.state_machine import SUBMISSIONS, State
from wallet.identity.sweeping import sweep
from wallet.models import (
    Credential,
    HolderSession,
    IdentityVerification,
    KnownBrowser,
    LoginCode,
    LoginLink,
    RedirectTask,
    Wallet,
)
from wallet.sign_in import known_browsers

DAY = timedelta(hours=24)
MINUTE = timedelta(minutes=1)


def wallets(count, now):
    return [Wallet.objects.create(email=f"person{n}@example.org", created_at=now) for n in range(count)]


@pytest.mark.parametrize("state", ["created", "started", "resubmit"])
def test_an_attempt_left_for_a_day_is_abandoned(nora, now, state):
    verification = attempt_in(state, nora, now - DAY)
    assert sweep(now=now) == {State.ABANDONED: 1}
    assert log_of(verification) == [(state, "abandoned", "sweep", "")]


@pytest.mark.parametrize("state", ["created", "started", "resubmit", "submitted", "processing"])
def test_an_attempt_is_left_alone_before_that(nora, now, state):
    attempt_in(state, nora, now - DAY + MINUTE)
    assert sweep(now=now) == {}


@pytest.mark.parametrize(
    "state", ["review", "approved", "declined", "error", "abandoned", "cancelled", "expired"]
)
def test_what_waits_for_an_operator_or_is_over_is_left_alone_for_ever(nora, now, state):
    attempt_in(state, nora, now - 100 * DAY)
    assert sweep(now=now) == {}


@pytest.mark.parametrize("state", ["submitted", "processing"])
def test_an_attempt_without_an_answer_for_a_day_is_an_error_and_costs_nothing(nora, now, state):
    submitted_at = now - DAY
    SUBMISSIONS.take(str(nora.id), now=submitted_at)
    verification = attempt_in(state, nora, submitted_at)
    assert sweep(now=now) == {State.ERROR: 1}
    verification.refresh_from_db()
    assert (verification.reason, verification.submissions) == ("no_answer", 0)
    assert SUBMISSIONS.left(str(nora.id), now=submitted_at) == 5


def test_a_result_that_nobody_came_back_for_is_fetched(nora, now):
    verification = attempt_in("processing", nora, now - 5 * MINUTE)
    PickedOutcome.objects.create(verification=verification, outcome="slow", picked_at=now - 5 * MINUTE)
    assert sweep(now=now) == {State.APPROVED: 1}
    assert Credential.objects.get().wallet == nora


def test_a_proof_that_has_run_out_expires(alice, now):
    Credential.objects.update(expires_at=now)
    assert sweep(now=now) == {State.EXPIRED: 1}
    assert sweep(now=now) == {}


def test_many_are_swept_in_small_batches_each_once(db, now):
    for wallet in wallets(7, now):
        attempt_in("started", wallet, now - DAY)
    assert sweep(now=now, batch=2) == {State.ABANDONED: 7}


def test_one_that_does_not_move_does_not_stop_the_others(db, now):
    for wallet in wallets(3, now):
        attempt_in("processing", wallet, now - 6 * MINUTE)
    assert sweep(now=now, batch=1) == {}


def test_one_in_trouble_does_not_stop_the_others(db, now):
    for wallet in wallets(3, now):
        verification = attempt_in("processing", wallet, now - 6 * MINUTE)
        PickedOutcome.objects.create(verification=verification, outcome="adult", picked_at=now)
    PickedOutcome.objects.filter(verification=verification).update(outcome="unheard of")
    assert sweep(now=now) == {State.APPROVED: 2}


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_sweeps_at_once_move_each_attempt_once(now):
    for wallet in wallets(12, now):
        attempt_in("started", wallet, now - DAY)
    counts = together(lambda number: sweep(now=now, batch=3), 4)
    assert sum(count[State.ABANDONED] for count in counts) == 12
    assert all(len(log_of(verification)) == 1 for verification in IdentityVerification.objects.all())


def test_the_command_says_what_it_did(nora, now):
    attempt_in("started", nora, now - DAY)
    for expected in ("1 abandoned", "nothing due"):
        out = StringIO()
        call_command("sweep_identity_verifications", stdout=out)
        assert out.getvalue().strip() == expected


def clear_expired(*, now, batch):
    """Run the clean-up of these apps' retention tables; returns the number of rows."""
    entries = (*retention.ENTRIES, *infra.retention.ENTRIES)
    return sum(entry.clear(now=now, batch=batch) for entry in entries if entry.clear)


def test_what_has_expired_is_forgotten_and_the_rest_kept(client, nora, now):
    old = now - 3 * DAY
    for moment in (old, now):
        redirect_task = make_redirect_task(client, now=moment)
        LoginCode.objects.create(
            redirect_task=redirect_task,
            digest="x",
            tries_left=5,
            sent_at=moment,
            expires_at=moment + 10 * MINUTE,
        )
        HolderSession.objects.create(
            digest=str(moment),
            wallet=nora,
            signed_in_at=moment,
            last_seen_at=moment,
            expires_at=moment + DAY / 2,
        )
        Limit("tests", most=3, window=timedelta(hours=1)).take("a", now=moment)
        LoginLink.objects.create(digest=str(moment), email=nora.email, expires_at=moment + DAY / 2)
        RollingLimit("tests", most=2, window=timedelta(hours=1)).take(str(moment), now=moment)
    known_browsers.remember("old", nora.email, now=now - known_browsers.KNOWN_FOR)
    known_browsers.remember("new", nora.email, now=now)
    assert clear_expired(now=now, batch=1) == 6
    assert [RedirectTask.objects.count(), LoginCode.objects.count()] == [1, 1]
    assert [HolderSession.objects.count(), Allowance.objects.count()] == [1, 2]
    assert [LoginLink.objects.count(), KnownBrowser.objects.count()] == [1, 1]
    assert clear_expired(now=now, batch=1) == 0


def test_a_redirect_task_shows_the_way_back_for_a_day_after_it_expired(client, db, now):
    make_redirect_task(client, now=now - DAY)
    assert clear_expired(now=now, batch=100) == 0


def test_an_attempt_outlives_its_redirect_task(client, nora, now):
    redirect_task = make_redirect_task(client, now=now - 3 * DAY)
    verification = attempt_in("review", nora, now, redirect_task=redirect_task)
    clear_expired(now=now, batch=100)
    verification.refresh_from_db()
    assert verification.redirect_task is None
