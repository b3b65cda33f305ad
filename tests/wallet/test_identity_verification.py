"""The state machine: every move there is, every move there is not, and what comes with each."""

import itertools
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from infra.limits import LimitReachedError
from infra.sealing import SealError
from tests.wallet.attempts import NORA_NEW, SEEN, attempt_in, in_review, log_of
from tests.wallet.browser_redirect_tasks import make_redirect_task
from tests.wallet.conftest import together
from tests.wallet.operators import claimed, reviewer
from wallet.credential import credentials
from wallet.identity import attempts, progress, review, state_machine
from wallet.identity.attempts import COOL_DOWN, CoolDownError
from wallet.identity.enrollment import HeldError, enroll
from wallet.identity.settling import settle
from wallet.identity.state_machine import FINAL, MOVES, OPEN, ForbiddenMoveError, State, move_to, submit
from wallet.models import Credential, IdentityVerification, IdentityVerificationTransition, Wallet
from wallet.providers.findings import Failed, NeedsReview, Pending, Refused, SubmitAgain, Verified

HOUR = timedelta(hours=1)
# The diagram of the product once more, by hand: a test that reads MOVES would agree with any MOVES.
ALLOWED = {
    ("created", "started"),
    ("created", "abandoned"),
    ("created", "cancelled"),
    ("started", "submitted"),
    ("started", "abandoned"),
    ("started", "cancelled"),
    ("submitted", "processing"),
    ("submitted", "error"),
    ("processing", "approved"),
    ("processing", "resubmit"),
    ("processing", "declined"),
    ("processing", "review"),
    ("processing", "error"),
    ("processing", "cancelled"),
    ("resubmit", "started"),
    ("resubmit", "abandoned"),
    ("resubmit", "cancelled"),
    ("review", "approved"),
    ("review", "resubmit"),
    ("review", "declined"),
    ("error", "started"),
    ("approved", "expired"),
}
ALL = [state.value for state in State]


@pytest.mark.parametrize(("before", "after"), sorted(ALLOWED))
def test_each_move_of_the_diagram_is_made_and_logged(nora, now, before, after):
    verification = attempt_in(before, nora, now - HOUR)
    move_to(verification, State(after), actor="tester", reason="unsure", now=now)
    stored = IdentityVerification.objects.get()
    assert (stored.state, stored.changed_at, stored.reason) == (after, now, "unsure")
    assert log_of(stored) == [(before, after, "tester", "unsure")]


@pytest.mark.parametrize(("before", "after"), sorted(set(itertools.product(ALL, ALL)) - ALLOWED))
def test_every_other_move_is_refused_and_changes_nothing(nora, now, before, after):
    verification = attempt_in(before, nora, now - HOUR)
    with pytest.raises(ForbiddenMoveError):
        move_to(verification, State(after), actor="tester", now=now)
    stored = IdentityVerification.objects.get()
    assert (stored.state, stored.changed_at) == (before, now - HOUR)
    assert log_of(stored) == []


def test_every_state_is_in_the_table():
    assert set(MOVES) == set(State)
    assert {state.value for state in FINAL} == {"declined", "abandoned", "cancelled", "expired"}


@pytest.mark.parametrize("state", ["nonsense", ""])
def test_the_database_knows_the_states_too(nora, now, state):
    with pytest.raises(IntegrityError), transaction.atomic():
        attempt_in(state, nora, now)


@pytest.mark.parametrize("state", ALL)
def test_a_wallet_has_one_open_attempt_by_constraint(nora, now, state):
    attempt_in("created", nora, now)
    if State(state) in OPEN:
        with pytest.raises(IntegrityError), transaction.atomic():
            attempt_in(state, nora, now)
    else:
        attempt_in(state, nora, now)


def test_a_move_looks_at_the_row_and_not_at_what_was_read(nora, now):
    first = attempt_in("started", nora, now)
    second = IdentityVerification.objects.get()
    state_machine.cancel(first, now=now)
    with pytest.raises(ForbiddenMoveError):
        submit(second, now=now)
    assert IdentityVerification.objects.get().state == "cancelled"


def test_a_move_as_seen_is_refused_when_anything_happened_since(nora, now):
    verification = attempt_in("started", nora, now - HOUR)
    IdentityVerification.objects.update(changed_at=now)
    with pytest.raises(ForbiddenMoveError):
        move_to(verification, State.ABANDONED, actor="sweep", now=now, as_seen=True)


# --- Beginning ---------------------------------------------------------------------------------------------


def test_the_first_visit_makes_an_attempt_and_the_next_goes_on_with_it(nora, redirect_task, now, client):
    first = attempts.attempt(nora, redirect_task, "simulated", now=now)
    assert log_of(first) == [("", "created", "holder", "")]
    other_redirect_task = make_redirect_task(client, now=now)
    second = attempts.attempt(nora, other_redirect_task, "simulated", now=now)
    assert second == first
    assert IdentityVerification.objects.get().redirect_task == other_redirect_task


@pytest.mark.parametrize("state", ["abandoned", "cancelled", "expired"])
def test_after_an_attempt_that_came_to_nothing_a_new_one_begins(nora, redirect_task, now, state):
    old = attempt_in(state, nora, now - HOUR)
    assert attempts.attempt(nora, redirect_task, "simulated", now=now) != old


def test_an_attempt_that_the_provider_failed_is_taken_up_again(nora, redirect_task, now):
    failed = attempt_in("error", nora, now - HOUR)
    assert attempts.attempt(nora, redirect_task, "simulated", now=now) == failed
    progress.begin(failed, now=now)
    assert failed.state == State.STARTED


def test_a_declined_person_cools_down_before_a_new_attempt(nora, redirect_task, now):
    attempt_in("declined", nora, now)
    with pytest.raises(CoolDownError):
        attempts.attempt(nora, redirect_task, "simulated", now=now + COOL_DOWN - timedelta(seconds=1))

    assert attempts.attempt(nora, redirect_task, "simulated", now=now + COOL_DOWN).state == State.CREATED


def test_a_suspended_credential_is_not_replaced_by_a_new_check(alice, client, now):
    Credential.objects.update(state=Credential.State.SUSPENDED)
    with pytest.raises(HeldError):
        attempts.attempt(alice, make_redirect_task(client, now=now), "simulated", now=now)


@pytest.mark.parametrize("state", ["submitted", "processing", "review", "approved", "declined", "cancelled"])
def test_what_is_under_way_or_decided_cannot_be_begun(nora, now, state):
    with pytest.raises(ForbiddenMoveError):
        progress.begin(attempt_in(state, nora, now), now=now)


# --- Submitting --------------------------------------------------------------------------------------------


def test_submitting_charges_a_try_and_hands_over(nora, now):
    verification = attempt_in("started", nora, now, submissions=0)
    submit(verification, now=now)
    assert (verification.state, verification.submissions) == ("processing", 1)
    assert attempts.tries_left(verification, now=now) == 4
    assert log_of(verification) == [
        ("started", "submitted", "holder", ""),
        ("submitted", "processing", "provider", ""),
    ]


def test_five_submissions_in_six_hours_and_then_a_break(nora, now):
    verification = attempt_in("started", nora, now, submissions=0)
    for _ in range(5):
        submit(verification, now=now)
        settle(verification, SubmitAgain("blurry"), now=now)
        progress.begin(verification, now=now)
    assert attempts.tries_left(verification, now=now) == 0
    with pytest.raises(LimitReachedError) as limit:
        submit(verification, now=now)
    stored = IdentityVerification.objects.get()
    assert (stored.state, stored.submissions) == ("started", 5)
    submit(stored, now=limit.value.retry_at)


def test_the_limit_is_the_wallets_and_not_the_attempts(nora, redirect_task, now):
    for _ in range(5):
        verification = attempts.attempt(nora, redirect_task, "simulated", now=now)
        progress.begin(verification, now=now)
        submit(verification, now=now)
        settle(verification, SubmitAgain("blurry"), now=now)
        state_machine.cancel(verification, now=now)
    verification = attempts.attempt(nora, redirect_task, "simulated", now=now)
    progress.begin(verification, now=now)
    with pytest.raises(LimitReachedError):
        submit(verification, now=now)


def test_the_ninth_submission_that_does_not_do_ends_the_attempt(nora, now):
    verification = attempt_in("started", nora, now, submissions=0)
    for number in range(9):
        moment = now + number * timedelta(hours=6)
        submit(verification, now=moment)
        settle(verification, SubmitAgain("blurry"), now=moment)
        if number < 8:
            assert verification.state == State.RESUBMIT
            progress.begin(verification, now=moment)
    assert (verification.state, verification.reason) == ("declined", "too_many_tries")


def test_a_failing_provider_costs_no_try(nora, now):
    verification = attempt_in("started", nora, now, submissions=0)
    submit(verification, now=now)
    settle(verification, Failed(), now=now + timedelta(seconds=9))
    assert (verification.state, verification.submissions) == ("error", 0)
    assert attempts.tries_left(verification, now=now) == 5


# --- Settling ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("finding", "state", "reason"),
    [
        (Pending(), "processing", ""),
        (Verified(NORA_NEW, SEEN), "approved", ""),
        (SubmitAgain("blurry"), "resubmit", "blurry"),
        (NeedsReview("unsure"), "review", "unsure"),
        (NeedsReview("unsure", NORA_NEW, SEEN), "review", "unsure"),
        (Refused("not_verified"), "declined", "not_verified"),
        (Failed(), "error", "provider_failed"),
    ],
)
def test_each_finding_leads_to_its_state(nora, now, finding, state, reason):
    verification = attempt_in("processing", nora, now)
    settle(verification, finding, now=now)
    stored = IdentityVerification.objects.get()
    assert (stored.state, stored.reason) == (state, reason)
    assert Credential.objects.count() == (state == "approved")


def test_an_approval_gives_the_wallet_its_credential(nora, now):
    settle(attempt_in("processing", nora, now), Verified(NORA_NEW, SEEN), now=now)
    credential = credentials.valid_credential(Wallet.objects.get(), now=now)
    [given] = credentials.preview(credential, [("given_name",)], today=now.date())
    assert given.value == "Nora"


def test_an_approval_and_its_credential_come_together_or_not_at_all(nora, now, settings):
    verification = attempt_in("processing", nora, now)
    settings.KEY_SEALING_KEYS = []  # the credential cannot be sealed
    with pytest.raises(SealError):
        settle(verification, Verified(NORA_NEW, SEEN), now=now)
    assert IdentityVerification.objects.get().state == "processing"
    assert not Credential.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_nobody_is_enrolled_outside_the_transaction_that_approves(now):
    wallet = Wallet.objects.create(email="o@example.org", created_at=now)
    with pytest.raises(RuntimeError):
        enroll(attempt_in("approved", wallet, now), NORA_NEW, SEEN, now=now)


def test_a_new_proof_takes_the_place_of_the_old_one_and_not_before(alice, client, now):
    redirect_task = make_redirect_task(client, now=now)
    old = alice.credential.verification
    verification = attempts.attempt(alice, redirect_task, "simulated", now=now)
    progress.begin(verification, now=now)
    submit(verification, now=now)
    assert credentials.valid_credential(Wallet.objects.get(), now=now)
    settle(verification, Verified(NORA_NEW, SEEN), now=now)
    old.refresh_from_db()
    assert old.state == State.EXPIRED
    assert Credential.objects.get().verification == verification


@pytest.mark.parametrize("suspended", ["wallet", "credential"])
def test_a_verified_person_whom_an_operator_holds_goes_to_review(alice, now, suspended):
    verification = attempt_in("processing", alice, now)
    model = {"wallet": Wallet, "credential": Credential}[suspended]
    model.objects.update(state="suspended")
    settle(verification, Verified(NORA_NEW, SEEN), now=now)
    verification.refresh_from_db()
    assert (verification.state, verification.reason) == ("review", "held")
    assert review.claims(claimed(verification)) == (NORA_NEW, SEEN)
    with pytest.raises(HeldError):
        review.approve(verification, NORA_NEW, SEEN, operator=reviewer(), reason="seen", now=now)
    assert IdentityVerification.objects.get(id=verification.id).state == "review"
    model.objects.update(state="active" if suspended == "wallet" else "valid")
    review.approve(verification, NORA_NEW, SEEN, operator=reviewer(), reason="seen", now=now)


@pytest.mark.parametrize("state", ["declined", "abandoned", "cancelled", "expired", "error"])
def test_a_late_approval_is_recorded_and_not_acted_on(nora, now, state):
    verification = attempt_in(state, nora, now - HOUR)
    settle(verification, Verified(NORA_NEW, SEEN), now=now)
    stored = IdentityVerification.objects.get()
    assert (stored.state, stored.changed_at) == (state, now - HOUR)
    assert log_of(stored) == [(state, state, "provider", "late, not acted on: Verified")]
    assert not Credential.objects.exists()


def test_a_late_refusal_does_not_undo_an_approval_but_is_recorded(nora, now):
    verification = attempt_in("processing", nora, now)
    settle(verification, Verified(NORA_NEW, SEEN), now=now)
    settle(verification, Refused("not_verified"), now=now)
    assert IdentityVerification.objects.get().state == "approved"
    assert log_of(verification)[-1][3] == "late, not acted on: Refused"
    settle(verification, Verified(NORA_NEW, SEEN), now=now)
    assert len(log_of(verification)) == 2


def test_a_result_of_a_provider_that_is_no_longer_configured_is_not_asked_for(nora, now):
    verification = attempt_in("processing", nora, now)
    IdentityVerification.objects.update(provider="somewhere.Else")
    verification.refresh_from_db()
    progress.refresh(verification, now=now)
    assert (verification.state, verification.reason) == ("error", "provider_changed")


# --- Reviewing ---------------------------------------------------------------------------------------------


def test_claims_in_review_are_sealed_and_gone_with_the_decision(nora, now):
    verification = in_review(nora, now)
    assert b"Nora" not in bytes(IdentityVerification.objects.get().sealed_claims)
    assert review.claims(verification) == (NORA_NEW, SEEN)
    review.decline(verification, operator=reviewer(), reason="not her", now=now)
    assert IdentityVerification.objects.get().sealed_claims is None


def test_sealed_claims_open_in_their_own_row_only(nora, bob, now):
    hers, his = in_review(nora, now), in_review(bob, now)
    his.sealed_claims = hers.sealed_claims
    with pytest.raises(SealError):
        review.claims(his)


def test_the_database_keeps_claims_nowhere_but_in_review(nora, now):
    with pytest.raises(IntegrityError), transaction.atomic():
        attempt_in("declined", nora, now, sealed_claims=b"x")


def test_an_operator_approves_what_they_typed_and_the_log_says_who_and_why(nora, now):
    verification = in_review(nora, now, identity=None)
    review.approve(verification, NORA_NEW, SEEN, operator=reviewer(), reason="Passport seen", now=now)
    assert Credential.objects.get().wallet == nora
    assert log_of(verification)[-1] == ("review", "approved", "olga", "Passport seen")


def test_an_operator_declines_and_the_person_reads_nothing_of_the_reason(nora, now):
    verification = in_review(nora, now)
    review.decline(verification, operator=reviewer(), reason="Forged", now=now)
    assert (verification.state, verification.reason) == ("declined", "not_verified")
    assert log_of(verification)[-1] == ("review", "declined", "olga", "Forged")


@pytest.mark.parametrize("state", [state for state in ALL if state != "review"])
def test_an_operator_decides_only_what_is_in_review(nora, now, state):
    verification = attempt_in(state, nora, now)
    with pytest.raises(ForbiddenMoveError):
        review.approve(verification, NORA_NEW, SEEN, operator=reviewer(), reason="seen", now=now)
    with pytest.raises(ForbiddenMoveError):
        review.decline(verification, operator=reviewer(), reason="seen", now=now)


@pytest.mark.parametrize("approved", [True, False])
def test_the_person_hears_of_the_decision_once_it_stands(
    nora, now, mailoutbox, django_capture_on_commit_callbacks, approved
):
    verification = in_review(nora, now)
    with django_capture_on_commit_callbacks(execute=True):
        if approved:
            review.approve(verification, NORA_NEW, SEEN, operator=reviewer(), reason="seen", now=now)
        else:
            review.decline(verification, operator=reviewer(), reason="Forged", now=now)
        assert mailoutbox == []
    [letter] = mailoutbox
    assert letter.to == [nora.email]
    assert ("is confirmed" in letter.body) == approved
    assert "Forged" not in letter.body


def test_nothing_personal_in_how_things_are_called(nora, now):
    verification = in_review(nora, now)
    for row in (nora, verification, verification.transitions.first()):
        assert "nora" not in f"{row!r} {row}".lower()


# --- Races -------------------------------------------------------------------------------------------------


@pytest.fixture
def newcomer(transactional_db, now):
    return Wallet.objects.create(email="newcomer@example.org", created_at=now)


def fresh(verification):
    return IdentityVerification.objects.get(id=verification.id)


@pytest.mark.postgresql
def test_eight_tabs_open_one_attempt(newcomer, now):
    redirect_task = make_redirect_task(Client(), now=now)
    begun = together(lambda number: attempts.attempt(newcomer, redirect_task, "simulated", now=now))
    assert len({attempt.id for attempt in begun}) == 1
    assert IdentityVerificationTransition.objects.count() == 1


@pytest.mark.postgresql
def test_eight_clicks_submit_once_and_charge_once(newcomer, now):
    verification = attempt_in("started", newcomer, now, submissions=0)
    results = together(lambda number: submit(fresh(verification), now=now))
    assert results.count(None) == 1
    assert {type(result) for result in results} == {type(None), ForbiddenMoveError}
    assert fresh(verification).submissions == 1
    assert attempts.tries_left(fresh(verification), now=now) == 4


@pytest.mark.postgresql
def test_eight_results_at_once_approve_once(newcomer, now):
    verification = attempt_in("processing", newcomer, now)
    results = together(lambda number: settle(fresh(verification), Verified(NORA_NEW, SEEN), now=now))
    assert results == [None] * 8
    assert [row[:2] for row in log_of(verification)] == [("processing", "approved")]
    assert Credential.objects.count() == 1


@pytest.mark.postgresql
def test_operators_who_decide_at_once_decide_once(newcomer, now):
    verification = in_review(newcomer, now)

    operator = reviewer()

    def decide(number):
        if number % 2:
            review.approve(fresh(verification), NORA_NEW, SEEN, operator=operator, reason="r", now=now)
        else:
            review.decline(fresh(verification), operator=operator, reason="r", now=now)

    results = together(decide)
    assert results.count(None) == 1
    assert [type(result) for result in results].count(ForbiddenMoveError) == 7
    assert len([row for row in log_of(verification) if row[0] == "review"]) == 1
    assert Credential.objects.count() == (fresh(verification).state == "approved")


@pytest.mark.postgresql
def test_cancelling_and_submitting_at_once_end_in_one_of_both(newcomer, now):
    verification = attempt_in("started", newcomer, now, submissions=0)

    def act(number):
        work = submit if number % 2 else state_machine.cancel
        work(fresh(verification), now=now)

    results = together(act)
    assert results.count(None) == 1
    assert fresh(verification).state in ("cancelled", "processing")
