"""What Stripe keeps of a check is erased there, once the result is committed here."""

from datetime import timedelta

import pytest
from django.test import Client

from tests.wallet.conftest import together
from tests.wallet.providers.refreshing import refreshed
from tests.wallet.providers.stripe_play import NAME
from wallet.account.closing import closures
from wallet.account.closing.sweeping import sweep as sweep_closings
from wallet.identity import attempts, progress, state_machine
from wallet.identity.forgetting import FAILED_FOR, RETRY
from wallet.identity.state_machine import State
from wallet.identity.sweeping import IDLE, sweep
from wallet.models import Credential, IdentityVerification, RedirectTask, Wallet, WalletClosure

pytestmark = pytest.mark.slow

MINUTE = timedelta(minutes=1)


def redaction(play, verification):
    return play.server.sessions[verification.provider_reference]["redaction"]


def test_a_verified_persons_data_are_erased_at_stripe_after_the_credential_is_there(
    verification, address, play, now
):
    play.person_ends(verification, address, "verified")
    refreshed(verification, now)
    assert redaction(play, verification) is None
    assert sweep(now=now + MINUTE) == {"forgotten": 1}
    assert redaction(play, verification) == {"status": "processing"}
    assert Credential.objects.count() == 1
    assert sweep(now=now + 2 * RETRY) == {}
    assert play.server.made("POST", "/redact") == 1


@pytest.mark.parametrize(
    ("kind", "state"), [("not_here", State.CANCELLED), ("review", State.REVIEW), ("again", State.RESUBMIT)]
)
def test_only_what_is_decided_is_erased(verification, address, play, now, kind, state):
    play.person_ends(verification, address, kind)
    assert refreshed(verification, now).state == state
    over = state in state_machine.FINAL
    assert sweep(now=now + MINUTE) == ({"forgotten": 1} if over else {})
    assert bool(redaction(play, verification)) is over


def test_a_check_that_nobody_finished_is_erased_when_it_is_abandoned(begun, play, now):
    verification, _address = begun
    moved = sweep(now=now + IDLE)
    assert (moved[State.ABANDONED], moved["forgotten"]) == (1, 1)
    assert redaction(play, verification)


def test_an_attempt_that_failed_can_be_taken_up_for_a_day_before_it_is_erased(
    verification, address, play, now
):
    play.person_ends(verification, address, "failed")
    assert refreshed(verification, now).state == State.ERROR
    assert sweep(now=now + FAILED_FOR - MINUTE) == {}
    assert sweep(now=now + FAILED_FOR)["forgotten"] == 1
    address = progress.begin(verification, now=now + FAILED_FOR)
    play.person_ends(verification, address, "verified")
    assert refreshed(verification, now + FAILED_FOR).state == State.APPROVED
    assert sweep(now=now + FAILED_FOR + MINUTE)["forgotten"] == 1


def test_while_stripe_still_checks_nothing_is_erased_and_an_hour_later_it_is_tried_again(
    verification, address, play, now
):
    state_machine.cancel(verification, now=now)
    play.server.submit(play.server.open_page(address))
    assert sweep(now=now + MINUTE) == {}
    assert play.server.made("POST", "/redact") == 0
    play.server.verify(verification.provider_reference)
    assert sweep(now=now + 2 * MINUTE) == {}
    assert sweep(now=now + MINUTE + RETRY) == {"forgotten": 1}


def test_an_erasure_that_was_not_written_down_is_repeated_without_harm(begun, play, now):
    verification, _address = begun
    state_machine.cancel(verification, now=now)
    sweep(now=now + MINUTE)
    IdentityVerification.objects.update(kept_by_provider=True)
    assert sweep(now=now + MINUTE + RETRY) == {"forgotten": 1}
    assert play.server.made("POST", "/redact") == 1


@pytest.mark.parametrize("end", ["canceled in the dashboard", "unknown to this account"])
def test_what_is_not_there_any_more_counts_as_erased(begun, play, now, end):
    verification, _address = begun
    state_machine.cancel(verification, now=now)
    if end == "unknown to this account":
        del play.server.sessions[verification.provider_reference]
    else:
        play.server.sessions[verification.provider_reference]["status"] = "canceled"
    assert sweep(now=now + MINUTE) == {"forgotten": 1}


def people_who_stopped(play, now, count):
    for number in range(count):
        wallet = Wallet.objects.create(email=f"person{number}@example.org", created_at=now)
        redirect_task = RedirectTask.objects.create(email=wallet.email, created_at=now, expires_at=now)
        verification = state_machine.create(wallet, redirect_task, provider=NAME, now=now)
        progress.begin(verification, now=now)
        IdentityVerification.objects.filter(id=verification.id).update(
            state=State.CANCELLED, redirect_task=None
        )


def test_a_provider_in_trouble_is_left_alone_until_the_next_sweep(play, db, now):
    people_who_stopped(play, now, 3)
    before = len(play.server.calls)
    with play.server.failing("500"):
        assert sweep(now=now + MINUTE) == {}
    assert len(play.server.calls) == before + 1
    assert sweep(now=now + 2 * MINUTE) == {"forgotten": 2}
    assert sweep(now=now + MINUTE + RETRY) == {"forgotten": 1}


def test_one_attempt_in_trouble_does_not_stop_the_others(play, db, now):
    people_who_stopped(play, now, 3)
    broken = IdentityVerification.objects.order_by("id").first()
    play.server.sessions[broken.provider_reference]["status"] = "done"
    total = sum(sweep(now=now + number * MINUTE)["forgotten"] for number in range(1, 4))
    assert total == 2


def test_batches_are_limited(play, db, now):
    people_who_stopped(play, now, 5)
    assert [sweep(now=now + n * MINUTE, batch=2)["forgotten"] for n in range(1, 5)] == [2, 2, 1, 0]


def test_after_the_erasure_began_nothing_is_read_although_stripe_says_verified(
    verification, address, play, now
):
    play.person_ends(verification, address, "verified")
    play.server._redact(verification.provider_reference)
    assert refreshed(verification, now).state == State.ERROR
    assert Credential.objects.count() == 0


def test_events_after_the_erasure_change_nothing(verification, address, play, now):
    play.person_ends(verification, address, "verified")
    refreshed(verification, now)
    sweep(now=now + MINUTE)
    before = len(play.server.calls)
    for kind in ("verified", "redacted"):
        call = play._call(play.server.event(verification.provider_reference, kind))
        answer = Client().post(
            call.path, data=call.body, content_type="application/json", headers=call.headers
        )
        assert answer.status_code == 200
    assert len(play.server.calls) == before
    assert refreshed(verification, now).state == State.APPROVED


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_sweeps_at_once_erase_each_check_once(play, now):
    people_who_stopped(play, now, 6)
    counts = together(lambda number: sweep(now=now + MINUTE)["forgotten"], 4)
    # A sweep that finds no thread free for Stripe leaves the rest to the next one.
    assert sum(counts) + sweep(now=now + MINUTE + RETRY)["forgotten"] == 6
    assert play.server.made("POST", "/redact") == 6


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_an_erasure_that_meets_a_person_who_begins_again_leaves_their_new_data_to_be_erased(
    play,
    nora,
    redirect_task,
    now,
):
    verification = attempts.attempt(nora, redirect_task, NAME, now=now)
    play.person_ends(verification, progress.begin(verification, now=now), "failed")
    assert refreshed(verification, now).state == State.ERROR
    later = now + FAILED_FOR

    def come(number: int) -> None:
        if number % 2:
            sweep(now=later)
        else:
            progress.begin(IdentityVerification.objects.get(), now=later)

    together(come, 2)
    verification.refresh_from_db()
    assert (verification.state, verification.kept_by_provider) == (State.STARTED, True)
    refreshed(verification, later)  # if the erasure came first, this session is over
    address = (progress.begin if verification.state == State.ERROR else progress.go_on)(
        verification, now=later
    )
    play.person_ends(verification, address, "verified")
    assert refreshed(verification, later).state == State.APPROVED
    assert sweep(now=later + 2 * RETRY)["forgotten"] == 1
    assert redaction(play, verification)


def test_the_row_stays_until_the_provider_has_erased_what_it_keeps(begun, play, now):
    verification, _address = begun
    then, hour = now + timedelta(days=1), timedelta(hours=1)
    closures.ask(verification.wallet, now=now)

    with play.server.failing("500"):
        for hours in range(3):
            sweep_closings(now=then + hours * hour)
    assert IdentityVerification.objects.get().kept_by_provider
    assert (Wallet.objects.count(), WalletClosure.objects.get().finished_at) == (1, None)

    sweep_closings(now=then + 3 * hour)
    assert not IdentityVerification.objects.exists()
    assert not Wallet.objects.exists()
    assert WalletClosure.objects.get().finished_at == then + 3 * hour
