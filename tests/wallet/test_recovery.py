"""Recovery after a lost mailbox: who gets their wallet moved, who does not, and who can stop it."""

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.management import call_command
from django.urls import reverse

from consent.models import Consent
from infra.limits import LimitReachedError
from infra.mail.models import OutgoingEmail
from infra.models import AuditLine
from tests.emails import send_waiting
from tests.people import ALICE, BOB
from tests.wallet import mail_server
from tests.wallet.attempts import attempt_in
from tests.wallet.conftest import code_in, masked, passkey_of, together
from tests.wallet.operators import address, operate, reviewer
from tests.wallet.recovering import DAY, EIDAS, NEW, PASSPORT, PERSON, recover, verify, wait
from tests.wallet.statuses import presented
from wallet.account.address import changes
from wallet.account.closing import closures
from wallet.account.closing import sweeping as closing
from wallet.account.recovery import moving, stopping, sweeping
from wallet.account.recovery.moving import NotNowError
from wallet.credential import credentials, revocation
from wallet.credential.details import of_evidence
from wallet.credential.evidence import Assurance
from wallet.identity import duplicates, recoveries, review
from wallet.identity.erasure import ATTEMPTS_KEPT
from wallet.identity.recoveries import RecoveryOverError
from wallet.identity.settling import settle
from wallet.identity.state_machine import to_review
from wallet.models import (
    Credential,
    FormerAddress,
    HolderSession,
    IdentityMark,
    IdentityVerification,
    Passkey,
    Recovery,
    StopLink,
    Wallet,
    WalletClosure,
)
from wallet.operations import suspension
from wallet.providers.findings import Verified

pytestmark = pytest.mark.slow

SUBJECT = replace(PASSPORT, document_number="", subject="oidc:one")
BEGIN, ASK, STATE = (reverse(f"wallet_recovery{name}") for name in ("", "_ask", "_state"))
STOP_HERE = reverse("wallet_recovery_stop_here")


def as_enrolled(evidence=PASSPORT):
    """The person as their credential says it: with the document that they showed."""
    return replace(PERSON, details=of_evidence(evidence), verification=evidence.verification())


@pytest.fixture
def waiting(old, new, now):
    """The recovery of the old wallet, which waits for its move to the new one."""
    return recover(new, now)


def subjects(*, to):
    return [message.subject for message in mail.outbox if message.to == [to]]


def secret_in(message):
    (found,) = re.findall(r"/wallet/move-stop/([\w-]+)/", message.body)
    return found


# --- Who gets a wallet moved ----------------------------------------------------------------------------


@pytest.mark.parametrize("evidence", [PASSPORT, SUBJECT], ids=["document", "subject"])
def test_the_same_proof_moves_the_wallet_after_seven_days(new, now, evidence):
    old = Wallet.objects.create(email=ALICE, created_at=now - DAY)
    before = verify(old, now - DAY, evidence)
    waiting = recover(new, now, evidence)
    assert (waiting.state, waiting.old, waiting.due_at) == ("waiting", old, now + 7 * DAY)
    wait(now, 6.5)
    old.refresh_from_db()
    assert old.email == ALICE
    wait(now + 7 * DAY, 0)
    waiting.refresh_from_db()
    old.refresh_from_db()
    assert (waiting.state, old.email) == ("moved", NEW)
    assert not Wallet.objects.filter(id=new.id).exists()
    after = Credential.objects.get()
    assert (after.id, after.wallet) == (before.id, old)
    assert credentials.holds(after, as_enrolled(replace(evidence, verified_at=now)))


def test_a_higher_level_than_before_is_enough(old, new, now):
    assert recover(new, now, replace(PASSPORT, assurance=Assurance(EIDAS, "high"))).state == "waiting"


@pytest.mark.parametrize(
    ("evidence", "why"),
    [
        (replace(PASSPORT, document_number=""), "no wallet"),  # the same name and birth date only
        (replace(PASSPORT, document_number="P7654321"), "no wallet"),
        (replace(PASSPORT, issuing_country="GB"), "no wallet"),
        (replace(PASSPORT, document_kind="idcard"), "no wallet"),
        (replace(PASSPORT, issuing_country=""), "no wallet"),
        (replace(PASSPORT, document_number="", subject="P1234567"), "no wallet"),
        (replace(PASSPORT, assurance=Assurance(EIDAS, "low")), "lower"),
        (replace(PASSPORT, assurance=Assurance(EIDAS)), "lower"),
        (replace(PASSPORT, assurance=Assurance("nist_800_63A", "ial3")), "lower"),
    ],
)
def test_everything_else_leaves_a_new_wallet(old, new, now, evidence, why):
    refused = recover(new, now, evidence)
    assert (refused.state, refused.old) == ("refused", None)
    assert why in refused.reason
    wait(now, 8)
    assert mail.outbox == []
    assert Wallet.objects.count() == 2
    assert Credential.objects.get(wallet=new).state == "valid"


def test_a_subject_of_another_provider_is_somebody_else(new, now):
    old = Wallet.objects.create(email=ALICE, created_at=now - DAY)
    verify(old, now - DAY, SUBJECT)
    assert recover(new, now, replace(SUBJECT, subject="oidc:other")).state == "refused"


def test_documents_without_a_kind_or_country_match_nothing(new, now):
    nowhere = replace(PASSPORT, issuing_country="")
    old = Wallet.objects.create(email=ALICE, created_at=now - DAY)
    verify(old, now - DAY, nowhere)
    assert recover(new, now, nowhere).state == "refused"


@pytest.mark.parametrize("named", [BOB, "nobody@example.org"])
def test_the_address_has_to_be_named_too(old, new, bob, now, named):
    assert recover(new, now, named=named).state == "refused"


def test_the_address_that_was_left_a_few_days_ago_may_be_named(old, new, now):
    FormerAddress.objects.create(wallet=old, email="older@example.org", left_at=now, expires_at=now + DAY)
    assert recover(new, now, named="older@example.org").state == "waiting"


def test_of_several_wallets_that_fit_none_moves(old, new, now):
    """The person has two wallets, and both have or had the address: nobody knows which of them they mean."""
    second = Wallet.objects.create(email="second@example.org", created_at=now - 20 * DAY)
    verify(second, now - 20 * DAY)
    FormerAddress.objects.create(wallet=second, email=ALICE, left_at=now - DAY, expires_at=now + DAY)

    refused = recover(new, now)

    assert (refused.state, refused.old, refused.reason) == ("refused", None, "several wallets fit")


def test_nobody_is_moved_who_did_not_ask(old, new, now):
    verify(new, now)
    assert not Recovery.objects.exists()


def test_a_check_from_before_the_question_does_not_count(old, new, now):
    attempt = attempt_in("processing", new, now - DAY)
    asked = recoveries.ask(new, ALICE, now=now)
    settle(attempt, Verified(PERSON, PASSPORT), now=now)
    asked.refresh_from_db()
    assert asked.state == "asked"
    IdentityVerification.objects.filter(id=attempt.id).update(changed_at=now)
    verify(new, now + timedelta(minutes=1))
    asked.refresh_from_db()
    assert asked.state == "waiting"


def test_a_question_is_forgotten_after_seven_days(old, new, now):
    recoveries.ask(new, ALICE, now=now - 7 * DAY)
    verify(new, now)
    assert Recovery.objects.get().state == "asked"
    call_command("clear_expired")
    assert not Recovery.objects.exists()


def test_what_an_operator_approves_counts_like_what_a_provider_found(old, new, now):
    asked = recoveries.ask(new, ALICE, now=now)
    attempt = attempt_in("processing", new, now)
    to_review(attempt, "unsure", PERSON, PASSPORT, now=now)
    review.claim(attempt, operator=reviewer(), now=now)
    review.approve(attempt, PERSON, PASSPORT, operator=reviewer(), reason="seen", now=now)
    asked.refresh_from_db()
    assert asked.state == "waiting"


def test_an_operator_who_corrects_the_identity_drops_the_subject_of_the_provider(new, now):
    old = Wallet.objects.create(email=ALICE, created_at=now - DAY)
    verify(old, now - DAY, SUBJECT)
    asked = recoveries.ask(new, ALICE, now=now)
    attempt = attempt_in("processing", new, now)
    to_review(attempt, "unsure", PERSON, SUBJECT, now=now)
    review.claim(attempt, operator=reviewer(), now=now)
    other = replace(PERSON, given_name="Alicia")
    review.approve(attempt, other, SUBJECT, operator=reviewer(), reason="seen", now=now)
    asked.refresh_from_db()
    assert asked.state == "refused"


def test_the_named_address_is_kept_as_a_keyed_digest_and_only_until_it_is_decided(old, new, now):
    asked = recoveries.ask(new, ALICE, now=now)
    assert re.fullmatch("[0-9a-f]{64}", asked.named)
    verify(new, now)
    assert Recovery.objects.get().named == ""


@pytest.mark.parametrize("what", ["wallet", "credential", "revoked", "erased"])
def test_what_an_operator_has_suspended_or_revoked_cannot_be_recovered(old, new, now, what):
    held = Credential.objects.get()
    if what == "wallet":
        suspension.suspend(old, actor="olga", reason="stolen", now=now)
    elif what == "credential":
        revocation.suspend(held, actor="olga", reason="stolen", now=now)
    elif what == "revoked":
        revocation.revoke(held, actor="olga", reason="stolen", now=now)
    else:
        Credential.objects.update(sealed_identity=b"", erased_at=now)
    refused = recover(new, now)
    assert refused.state == "refused"
    assert "suspended" in refused.reason or "lower" in refused.reason


def test_a_wallet_that_is_suspended_meanwhile_does_not_move(waiting, old, now):
    wait(now, 6.5)
    suspension.suspend(old, actor="olga", reason="stolen", now=now)
    wait(now + 7 * DAY, 1)
    waiting.refresh_from_db()
    old.refresh_from_db()
    assert (waiting.state, waiting.decided_by, old.email) == ("stopped", "sweep", ALICE)


def test_a_new_wallet_that_is_suspended_or_verified_anew_gets_nothing(waiting, new, now):
    wait(now, 6.5)
    verify(new, now + 6 * DAY, replace(PASSPORT, document_number="other"), replace(PERSON, given_name="Eve"))
    wait(now + 7 * DAY, 1)
    waiting.refresh_from_db()
    assert (waiting.state, waiting.reason) == ("stopped", "the new wallet was verified anew since")


def test_a_wallet_that_is_about_to_close_cannot_be_recovered(old, new, now):
    closures.ask(old, now=now)
    asked = recover(new, now)
    assert (asked.state, "about to be closed" in asked.reason) == ("refused", True)


def test_nothing_moves_to_a_new_wallet_that_is_about_to_close(waiting, old, new, now):
    wait(now, 6.5)
    closures.ask(new, now=now + 6.5 * DAY)
    wait(now + 7 * DAY, 0)
    waiting.refresh_from_db()
    old.refresh_from_db()
    assert (waiting.state, "about to be closed" in waiting.reason) == ("stopped", True)
    assert old.email == ALICE


@pytest.mark.parametrize("hours", [1, 25], ids=["asked", "done"])
def test_a_wallet_that_is_closed_while_it_waits_for_its_move_does_not_move(waiting, old, new, now, hours):
    wait(now, 6.5)
    closures.ask(old, now=now + 7 * DAY - timedelta(hours=hours))
    closing.sweep(now=now + 7 * DAY)
    wait(now + 7 * DAY, 1)
    old.refresh_from_db()
    new.refresh_from_db()
    assert new.email == NEW
    assert old.email in (ALICE, f"closed:{old.id}")
    stopped = Recovery.objects.filter(id=waiting.id).first()
    assert stopped is None or (stopped.state, stopped.decided_by) == ("stopped", "sweep")
    assert Credential.objects.get(wallet=new).state == "valid"


def test_closing_a_wallet_ends_the_moves_of_it_and_to_it_at_once(waiting, old, now):
    other = Wallet.objects.create(email="other@example.net", created_at=now)
    asked = recoveries.ask(other, ALICE, now=now)

    for wallet in (old, other):
        assert closures.close(closures.ask(wallet, now=now - DAY), now=now)

    for recovery in (waiting, asked):
        recovery.refresh_from_db()
    assert (waiting.state, waiting.reason, waiting.ended_at) == ("stopped", "the wallet was closed", now)
    assert (asked.state, asked.named, asked.ended_at) == ("refused", "", now)


def test_a_wallet_that_was_closed_cannot_be_recovered(old, new, now):
    closures.ask(old, now=now - DAY)
    assert closures.close(WalletClosure.objects.get(), now=now)
    refused = recover(new, now)
    assert (refused.state, refused.old) == ("refused", None)


def test_a_wallet_that_moved_has_no_passkey_left(old, new, now):
    for wallet in (old, new):
        passkey_of(wallet, "Phone", now)
    recover(new, now)
    wait(now, 7)
    assert Wallet.objects.get().email == NEW
    assert not Passkey.objects.exists()
    assert not HolderSession.objects.exists()


def test_an_old_wallet_that_rose_to_a_higher_level_meanwhile_does_not_move(waiting, old, now):
    wait(now, 6.5)
    verify(old, now + 6 * DAY, replace(PASSPORT, assurance=Assurance(EIDAS, "high")))
    wait(now + 7 * DAY, 1)
    waiting.refresh_from_db()
    assert waiting.state == "stopped"


# --- What moves -----------------------------------------------------------------------------------------


def consent_of(wallet, now):
    facts: dict[str, Any] = {"requester_id": "acme", "requester": {}, "claims": [], "transactions": []}
    return Consent.objects.create(
        wallet=wallet,
        request_hash="h" * 64,
        return_to="/x/",
        decision="granted",
        asked_at=now,
        expires_at=now,
        decided_at=now,
        **facts,
    )


def test_receipts_presentations_and_checks_of_both_wallets_are_in_the_one_that_stays(
    old, new, now, sign_in, signing_key
):
    before = consent_of(old, now)
    recover(new, now)
    since = consent_of(new, now)
    entry = presented(Wallet.objects.get(id=new.id))
    sign_in(old)
    sign_in(new)
    wait(now)
    assert {before, since} == set(Consent.objects.filter(wallet=old))
    entry.refresh_from_db()
    assert entry.credential.wallet == old
    assert not HolderSession.objects.exists()
    assert set(IdentityVerification.objects.values_list("wallet", "state")) == {
        (old.id, "expired"),
        (old.id, "approved"),
    }
    assert IdentityMark.objects.filter(credential__wallet=old).exists()
    assert duplicates.with_the_same_proof(Wallet(email="x"), PASSPORT) == [old]


def test_after_the_move_nothing_finds_the_wallet_by_a_name_that_the_person_had_before(old, new, now):
    married = replace(PERSON, family_name="Baker")
    recoveries.ask(new, ALICE, now=now)
    verify(new, now, identity=married)
    wait(now)

    assert duplicates.others(Wallet(email="x"), PERSON, None) == []
    assert duplicates.others(Wallet(email="x"), married, None) == [old]


def test_a_check_that_somebody_began_in_the_old_wallet_ends(waiting, old, now):
    begun = attempt_in("started", old, now)
    seen = wait(now)
    begun.refresh_from_db()
    assert begun.state == "cancelled"
    settle(begun, Verified(replace(PERSON, given_name="Eve"), PASSPORT), now=seen)
    assert credentials.holds(Credential.objects.get(), as_enrolled(replace(PASSPORT, verified_at=now)))


def test_a_check_that_is_just_handed_in_puts_the_move_off(waiting, old, now):
    wait(now, 6.5)
    attempt = attempt_in("submitted", old, now)
    later = now + 7 * DAY
    with pytest.raises(NotNowError):
        moving.move(Recovery.objects.get(), now=later)
    assert Recovery.objects.get().state == "waiting"
    IdentityVerification.objects.filter(id=attempt.id).update(state="error")
    wait(later, 0)
    waiting.refresh_from_db()
    assert waiting.state == "moved"


def test_the_old_address_can_neither_undo_an_earlier_change_nor_sign_in_to_the_wallet(old, new, now):
    FormerAddress.objects.create(
        wallet=old, email="older@example.org", undo_digest="d" * 64, left_at=now, expires_at=now + 9 * DAY
    )
    recover(new, now)
    wait(now)
    assert FormerAddress.objects.get().closed_at is not None
    assert not Wallet.objects.filter(email=ALICE).exists()


def test_a_wallet_moves_at_the_instant_at_which_it_is_due_and_not_before(waiting, old, now):
    with pytest.raises(NotNowError):
        moving.move(waiting, now=now + 7 * DAY - timedelta(microseconds=1))
    old.refresh_from_db()
    assert (old.email, Recovery.objects.get().state) == (ALICE, "waiting")

    assert moving.move(waiting, now=now + 7 * DAY) == (ALICE, NEW)


def test_a_move_that_was_stopped_does_not_happen_and_stays_as_it_was_decided(waiting, old, now):
    stopping.by_holder(old, now=now)
    count = len(mail.outbox)

    with pytest.raises(NotNowError):
        moving.move(waiting, now=now + 7 * DAY)
    with pytest.raises(RecoveryOverError):
        stopping.by_operator(waiting, operator=reviewer(), reason="a call", now=now)

    stopped = Recovery.objects.get()
    assert (stopped.state, stopped.decided_by, stopped.reason) == (
        "stopped",
        "holder",
        "stopped in the wallet",
    )
    old.refresh_from_db()
    assert old.email == ALICE
    assert len(mail.outbox) == count


def test_a_second_sweep_changes_nothing(waiting, now):
    later = wait(now)
    count = len(mail.outbox)
    assert sweeping.sweep(now=later) == {}
    with pytest.raises(NotNowError):
        moving.move(Recovery.objects.get(), now=later)
    assert len(mail.outbox) == count


def test_the_command_that_sweeps_sends_the_first_email(waiting, capsys):
    call_command("sweep_identity_verifications")
    assert "1 e-mails about moves" in capsys.readouterr().out
    assert subjects(to=ALICE) == ["Your wallet is to move to another e-mail address"]


# --- E-mails --------------------------------------------------------------------------------------------


def test_the_old_address_is_told_at_the_beginning_midway_and_a_day_before_and_afterwards(waiting, now):
    told = []
    for hours in range(0, 8 * 24, 6):
        before = len(subjects(to=ALICE))
        sweeping.sweep(now=now + timedelta(hours=hours))
        if len(subjects(to=ALICE)) > before:
            told.append(hours / 24)
    assert told == [0, 3.5, 6, 7]
    assert subjects(to=ALICE) == [
        "Your wallet is to move to another e-mail address",
        "Your wallet is still to move to another e-mail address",
        "Last notice: your wallet moves to another e-mail address",
        "Your wallet has moved to another e-mail address",
    ]
    assert subjects(to=NEW) == ["Your wallet has moved to this e-mail address"]
    assert all(NEW not in message.body for message in mail.outbox if message.to == [ALICE])


def test_a_sweep_that_did_not_run_for_weeks_does_not_move_without_having_told(waiting, now):
    late = now + 20 * DAY
    for number in range(3):
        sweeping.sweep(now=late + number * timedelta(minutes=1))
    assert len(subjects(to=ALICE)) == 3
    assert Recovery.objects.get().state == "waiting"
    sweeping.sweep(now=late + DAY + timedelta(minutes=2))
    assert Recovery.objects.get().state == "moved"


def test_while_one_of_the_emails_waits_to_be_sent_nothing_moves(waiting, now, settings):
    sweeping.sweep(now=now)
    settings.EMAILS_SENT_AT_ONCE = False
    wait(now, 9)
    assert (Recovery.objects.get().state, Recovery.objects.get().notices) == ("waiting", 1)


def test_while_the_mail_server_cannot_be_reached_nothing_moves(waiting, now, settings):
    mail_server.point_at(settings, port=1)  # nobody listens there
    wait(now, 8)
    assert (Recovery.objects.get().state, Recovery.objects.get().notices) == ("waiting", 0)


def test_a_mailbox_that_does_not_exist_any_more_counts_as_told(waiting, now, settings):
    with mail_server.running(settings) as server:
        server.refusing = "550 no such user"
        wait(now)
    assert Recovery.objects.get().state == "moved"


def test_refused_content_does_not_count_as_told_and_the_next_sweep_tries_again(waiting, now, settings):
    with mail_server.running(settings) as server:
        server.refusing_content = "554 spam"
        sweeping.sweep(now=now)
        assert (Recovery.objects.get().notices, Recovery.objects.get().outgoing) == (0, None)
        server.refusing_content = ""
        sweeping.sweep(now=now)
    assert Recovery.objects.get().notices == 1


def test_an_email_counts_when_it_was_sent_and_not_when_it_was_written(old, new, now, settings):
    settings.EMAILS_SENT_AT_ONCE = False
    recover(new, now)
    for _ in range(3):
        sweeping.sweep(now=now)
    assert OutgoingEmail.objects.filter(purpose="move_begun").count() == 1
    assert Recovery.objects.get().notices == 0
    send_waiting()
    sweeping.sweep(now=now + timedelta(hours=1))
    recovery = Recovery.objects.get()
    assert (recovery.notices, recovery.notified_at, recovery.outgoing) == (1, now + timedelta(hours=1), None)


def test_nobody_can_flood_a_mailbox_with_recoveries(old, new, now):
    for _ in range(5):
        recoveries.ask(new, ALICE, now=now)
    with pytest.raises(LimitReachedError):
        recoveries.ask(new, ALICE, now=now)
    assert mail.outbox == []  # nothing is sent before the identity is verified


def test_after_a_stop_only_an_operator_helps_for_thirty_days(waiting, new, now):
    wait(now, 0)
    stopping.by_link(secret_in(mail.outbox[-1]), now=now)
    verify(new, now + DAY)
    again = recover(new, now + 2 * DAY)
    assert (again.state, again.reason) == ("refused", "a move of this wallet was stopped lately")
    assert recover(new, now + 31 * DAY).state == "waiting"


def test_who_closes_the_new_wallet_does_not_erase_that_its_move_was_stopped(waiting, old, new, now):
    stopping.by_holder(old, now=now)
    closures.ask(new, now=now)
    for hours in (24, 26):
        closing.sweep(now=now + timedelta(hours=hours))
    assert not Wallet.objects.filter(id=new.id).exists()
    assert (Recovery.objects.get().old, Recovery.objects.get().new) == (old, None)

    another = Wallet.objects.create(email="another@example.net", created_at=now)

    assert recover(another, now + 2 * DAY).reason == "a move of this wallet was stopped lately"


# --- Stopping -------------------------------------------------------------------------------------------


def test_opening_the_link_stops_nothing_and_posting_stops(waiting, client, old, now):
    wait(now, 6)
    for message in [message for message in mail.outbox if message.to == [ALICE]]:  # every e-mail has one
        assert client.get(reverse("wallet_recovery_stop", args=[secret_in(message)])).status_code == 200
    assert Recovery.objects.get().state == "waiting"
    link = reverse("wallet_recovery_stop", args=[secret_in(mail.outbox[0])])
    assert client.head(link).status_code == 200
    response = client.post(link, follow=True)
    assert response.redirect_chain == [(link, 303)]
    assert "The move is stopped" in response.content.decode()
    assert (Recovery.objects.get().state, Recovery.objects.get().decided_by) == ("stopped", "old mailbox")
    wait(now + 7 * DAY, 1)
    old.refresh_from_db()
    assert old.email == ALICE
    for again in (client.get(link), client.post(link)):  # also in another language
        assert again.status_code == 200
        assert "The move is stopped" in again.content.decode()
    Recovery.objects.update(state="moved")
    for again in (client.get(link), client.post(link)):
        assert again.status_code == 410


def test_a_link_stops_the_move_until_the_instant_at_which_it_expires(waiting, now):
    wait(now, 0)
    secret = secret_in(mail.outbox[-1])
    with pytest.raises(RecoveryOverError):
        stopping.by_link(secret, now=now + sweeping.LINKS_KEPT)
    assert Recovery.objects.get().state == "waiting"

    stopping.by_link(secret, now=now + sweeping.LINKS_KEPT - timedelta(microseconds=1))

    assert Recovery.objects.get().state == "stopped"


def test_what_was_stopped_is_remembered_and_what_waits_is_not_cleared(waiting, old, now):
    """Otherwise somebody who was stopped could ask again at once, or clearing would stop a move."""
    assert sweeping.clear(now=now + 9 * DAY, batch=1) == 0
    stopping.by_holder(old, now=now)

    assert sweeping.clear(now=now + ATTEMPTS_KEPT - timedelta(microseconds=1), batch=1) == 0
    assert sweeping.clear(now=now + ATTEMPTS_KEPT, batch=1) == 1


@pytest.mark.parametrize("secret", ["x", "x" * 22, "x" * 300, "ü"])
def test_an_unknown_link_stops_nothing(client, db, secret):
    assert client.post(f"/wallet/move-stop/{secret}/").status_code == 410


def test_a_sign_in_to_the_old_wallet_shows_a_banner_that_stops_it(waiting, client, old, sign_in):
    sign_in(old)
    page = client.get(reverse("wallet_security")).content.decode()
    assert "This wallet is to move to another e-mail address." in page
    assert NEW not in page
    response = client.post(STOP_HERE, follow=True)
    assert response.redirect_chain == [(reverse("wallet_recovery_state"), 303)]
    assert "The move is stopped" in response.content.decode()
    assert Recovery.objects.get().decided_by == "holder"
    assert "is to move" not in client.get(reverse("wallet_security")).content.decode()
    assert client.post(STOP_HERE).status_code == 410


def test_a_form_of_another_site_stops_nothing(waiting, old, client, sign_in):
    sign_in(old)
    assert client.post(STOP_HERE, headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert Recovery.objects.get().state == "waiting"


def test_another_wallet_shows_no_banner_and_stops_nothing(waiting, client, bob, sign_in):
    sign_in(bob)
    assert "is to move" not in client.get(reverse("wallet_security")).content.decode()
    assert client.post(STOP_HERE).status_code == 410
    assert Recovery.objects.get().state == "waiting"


def test_the_person_who_asked_can_withdraw_and_ask_again(waiting, client, new, now, sign_in):
    sign_in(new)
    response = client.post(STOP_HERE)
    assert (response.status_code, response.url) == (303, STATE)
    assert "does not move" in client.get(STATE).content.decode()
    assert recover(new, now + timedelta(minutes=1)).state == "waiting"


def test_an_operator_finds_and_stops_a_move_with_a_reason_and_an_audit_entry(waiting, olga):
    listed = olga.get(reverse("admin:wallet_recovery_changelist"), {"q": ALICE})
    assert str(waiting.id)[:8] in listed.content.decode()
    assert olga.get(address(waiting)).status_code == 200
    operate(olga, waiting, "stop", reason="The holder called")
    waiting.refresh_from_db()
    assert (waiting.state, waiting.decided_by, waiting.reason) == ("stopped", "olga", "The holder called")
    entry = AuditLine.objects.get(action="stop")
    assert entry.about == f"wallet.recovery:{waiting.id}"
    assert "The holder called" in entry.text
    assert entry.operator_id == User.objects.get(username="olga").pk
    operate(olga, waiting, "stop")
    assert AuditLine.objects.filter(action="stop").count() == 1


@pytest.mark.parametrize("who", ["link", "holder", "operator"])
def test_who_asked_for_a_move_is_told_that_somebody_else_stopped_it(waiting, olga, old, now, who):
    sweeping.sweep(now=now)
    if who == "link":
        stopping.by_link(secret_in(mail.outbox[-1]), now=now)
    elif who == "holder":
        stopping.by_holder(old, now=now)
    else:
        stopping.by_operator(waiting, operator=User.objects.get(), reason="a call", now=now)
    assert (mail.outbox[-1].to, mail.outbox[-1].subject) == ([NEW], "Your wallet does not move")


def test_an_auditor_sees_moves_and_stops_none(waiting, audrey):
    assert audrey.get(address(waiting)).status_code == 200
    assert operate(audrey, waiting, "stop").status_code == 403
    waiting.refresh_from_db()
    assert waiting.state == "waiting"


def test_changing_the_address_of_the_old_wallet_stops_it(waiting, old, now):
    changes.ask(old, "third@example.net", browser="b" * 64, client="192.0.2.1", now=now)
    code = code_in(mail.outbox[-1].body)
    changes.confirm(old, code, browser="b" * 64, client="192.0.2.1", now=now)
    assert Recovery.objects.get().state == "stopped"


# --- The pages ------------------------------------------------------------------------------------------


def test_the_sign_in_pages_lead_there(client, redirect_task):
    for page in (reverse("wallet_front_door"), reverse("wallet_sign_in", args=[redirect_task.id])):
        assert f'href="{BEGIN}"' in client.get(page).content.decode()


def test_the_way_from_the_sign_in_page_to_the_identity_check(client, old):
    response = client.post(BEGIN, {"email": NEW})
    response = client.post(response.url)
    response = client.post(response.url, {"code": code_in(mail.outbox[-1].body)})
    assert (response.status_code, response.url) == (303, ASK)
    response = client.post(ASK, {"email": ALICE.upper()})
    assert response.status_code == 303
    assert re.fullmatch(r"/wallet/errands/[\w-]+/identity/", response.url)
    assert "Confirm your identity" in client.get(STATE).content.decode()
    assert client.post(reverse("wallet_recovery_check")).url.endswith("/identity/")
    assert "move" not in "".join(subjects(to=ALICE))


def test_before_the_check_nothing_says_whether_the_old_wallet_exists(client, old, new, now, sign_in):
    sign_in(new)
    pages = []
    for named in (ALICE, "nobody@example.org"):
        response = client.post(ASK, {"email": named})
        pages.append((response.status_code, masked(client.get(STATE)), masked(client.get(ASK))))
    assert pages[0] == pages[1]
    assert mail.outbox == []


def test_naming_a_wallet_costs_the_same_queries_whether_it_exists_or_not(old, new, now):
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    counts = []
    recoveries.ask(new, "first@example.org", now=now)
    for named in (ALICE, "nobody@example.org"):
        with CaptureQueriesContext(connection) as queries:
            recoveries.ask(new, named, now=now)
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_each_state_has_its_words(client, old, new, now, sign_in):
    sign_in(new)
    assert client.get(STATE).url == ASK
    recover(new, now, replace(PASSPORT, document_number="other"))
    text = client.get(STATE).content.decode()
    assert "We found no wallet to move" in text
    assert "suspended" not in text
    recover(new, now + timedelta(minutes=1))
    assert "Your old wallet is going to move here" in client.get(STATE).content.decode()
    response = client.post(ASK, {"email": ALICE})  # not a second time
    assert (response.status_code, response.url) == (303, STATE)


def test_the_pages_need_a_sign_in_and_a_signed_in_holder_skips_the_first(client, new, sign_in):
    for page in (ASK, STATE):
        assert client.get(page).url == reverse("wallet_front_door")
    assert client.post(STOP_HERE).url == reverse("wallet_front_door")
    sign_in(new)
    assert client.get(BEGIN).url == ASK


def test_what_is_no_lost_address_is_refused(client, new, sign_in):
    sign_in(new)
    for email in ("", "x", NEW):
        response = client.post(ASK, {"email": email})
        assert response.status_code == 422
        assert "<title>Error:" in response.content.decode()


# --- Races ----------------------------------------------------------------------------------------------


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_stop_and_the_move_at_once_have_one_winner(waiting, old, now):
    wait(now, 6.5)
    link = secret_in(mail.outbox[-1])
    later = now + 7 * DAY

    def act(number: int) -> Any:
        if number:
            return stopping.by_link(link, now=later)
        return moving.move(Recovery.objects.get(), now=later)

    moved, stopped = together(act, 2)
    state, email = Recovery.objects.get().state, Wallet.objects.get(id=old.id).email
    if state == "moved":
        assert isinstance(stopped, RecoveryOverError)
        assert (email, moved) == (NEW, (ALICE, NEW))
    else:
        assert (state, email) == ("stopped", ALICE)
        assert isinstance(moved, NotNowError)


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_sweeps_at_once_send_each_email_once_and_move_once(waiting, now):
    for days in (0, 3.5, 6, 7):
        together(lambda _, days=days: sweeping.sweep(now=now + days * DAY), 4)
    assert len(subjects(to=ALICE)) == 4
    assert len(subjects(to=NEW)) == 1
    assert Wallet.objects.get().email == NEW
    assert StopLink.objects.count() == 3


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_questions_at_once_in_one_wallet_one_stays(old, new, now):
    results = together(lambda _: recoveries.ask(new, ALICE, now=now), 4)
    assert all(isinstance(result, Recovery) for result in results)
    assert Recovery.objects.count() == 1


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_two_recoveries_of_one_wallet_at_once_leave_one_that_waits(old, new, now):
    second = Wallet.objects.create(email="second@example.net", created_at=now)
    for wallet in (new, second):
        recoveries.ask(wallet, ALICE, now=now)
    attempts = [attempt_in("processing", wallet, now) for wallet in (new, second)]
    together(lambda number: settle(attempts[number], Verified(PERSON, PASSPORT), now=now), 2)
    assert sorted(Recovery.objects.values_list("state", flat=True)) == ["refused", "waiting"]
    assert Credential.objects.count() == 3  # both are verified


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_renewal_and_the_move_at_once_leave_one_identity(waiting, old, now):
    wait(now, 6.5)
    attempt = attempt_in("processing", old, now)
    later = now + 7 * DAY

    def act(number: int) -> Any:
        if number:
            return settle(attempt, Verified(replace(PERSON, given_name="Eve"), PASSPORT), now=later)
        return moving.move(Recovery.objects.get(), now=later)

    together(act, 2)
    assert IdentityVerification.objects.filter(wallet=old, state="approved").count() == 1
    moved = Recovery.objects.get().state == "moved"
    if moved:
        assert Wallet.objects.get().email == NEW
        assert not credentials.holds(Credential.objects.get(), replace(as_enrolled(), given_name="Eve"))
