"""E-mails about the outcome of a check and the end of an identity: each once, and none is lost."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core import mail
from django.core.management import call_command
from django.urls import reverse

from infra.mail.models import OutgoingEmail
from sandbox.models import PickedOutcome
from tests.emails import send_waiting
from tests.people import ALICE, NORA
from tests.wallet import mail_server
from tests.wallet.attempts import NORA_NEW, SEEN, attempt_in
from tests.wallet.browser_redirect_tasks import make_redirect_task
from tests.wallet.conftest import together
from wallet.credential import credentials, revocation
from wallet.emails import holder_emails
from wallet.identity import notices, progress
from wallet.identity.settling import settle
from wallet.identity.sweeping import sweep
from wallet.models import Credential, IdentityVerification, Wallet
from wallet.providers.findings import Verified

pytestmark = pytest.mark.slow

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)


def ends(now, **in_):
    """Alice's identity ends then, and was valid for a year."""
    at = now + timedelta(**in_)
    Credential.objects.update(expires_at=at, issued_at=at - 365 * DAY)


def subjects():
    return [message.subject for message in mail.outbox]


# --- The end of an identity --------------------------------------------------------------------------------


def test_its_end_is_announced_thirty_and_seven_days_before_and_told_once_each(alice, now):
    ends(now, days=31)
    sent = []
    for day in range(60):
        for hour in (0, 12):
            sent += [(day, notice) for notice in notices.send_due(now=now + day * DAY + hour * HOUR)]
    assert sent == [(1, "ends_30"), (24, "ends_7"), (31, "ended")]
    assert [message.to for message in mail.outbox] == [[ALICE]] * 3
    last = credentials.last_day(Credential.objects.get())
    day = f"{last.day} {last:%B %Y}"
    assert subjects() == [
        *[f"Your verified identity ends on {day}"] * 2,
        "Your verified identity has expired",
    ]
    assert f"valid until the end of {day}" in mail.outbox[0].body
    assert "Renew or change" in mail.outbox[0].body
    assert "the present one stays valid" in mail.outbox[0].body
    assert f"was valid until the end of {day}" in mail.outbox[2].body


def test_a_sweep_that_did_not_run_for_weeks_sends_only_what_is_still_true(alice, now):
    ends(now, days=3)
    assert notices.send_due(now=now) == {"ends_7": 1}
    assert notices.send_due(now=now + 2 * DAY) == {}
    assert notices.send_due(now=now + 11 * DAY) == {}, "too late to be news"


def test_an_identity_that_was_never_valid_for_long_is_not_announced_so_early(alice, now):
    Credential.objects.update(issued_at=now, expires_at=now + 20 * DAY)
    assert notices.send_due(now=now) == {}
    assert notices.send_due(now=now + 14 * DAY) == {"ends_7": 1}


def test_after_a_renewal_the_announcements_begin_anew(alice, now):
    ends(now, days=5)
    assert notices.send_due(now=now) == {"ends_7": 1}
    verification = attempt_in("processing", alice, now)
    settle(verification, Verified(NORA_NEW, SEEN), now=now)
    assert notices.send_due(now=now + 6 * DAY) == {}
    ends(now, days=29)
    assert notices.send_due(now=now) == {"ends_30": 1}


def test_who_is_revoked_is_told_once(alice, now):
    revocation.revoke(alice.credential, actor="olga", reason="Forged", now=now)
    assert notices.send_due(now=now) == {"revoked": 1}
    assert notices.send_due(now=now + HOUR) == {}
    assert subjects() == ["Your verified identity was revoked"]
    assert "Forged" not in mail.outbox[0].body


def test_who_had_an_identity_end_and_then_revoked_reads_of_both(alice, now):
    ends(now, days=5)
    notices.send_due(now=now)
    revocation.revoke(Credential.objects.get(), actor="olga", reason="Forged", now=now)
    assert notices.send_due(now=now + HOUR) == {"revoked": 1}
    assert notices.send_due(now=now + 6 * DAY) == {}, "what is revoked does not end as well"


@pytest.mark.parametrize(
    ("model", "change"),
    [
        (Credential, {"state": "suspended"}),
        (Wallet, {"state": "suspended"}),
        (Credential, {"sealed_identity": b""}),
    ],
)
def test_nobody_is_asked_to_renew_what_cannot_be_used(alice, now, model, change):
    model.objects.update(**change)
    for days in (20, 5, -1):
        ends(now, days=days)
        assert notices.send_due(now=now) == {}


# --- The outcome of a check --------------------------------------------------------------------------------


def decided(outcome, wallet, now, **facts):
    """An attempt that the provider has decided, and nobody has asked yet."""
    verification = attempt_in("processing", wallet, now - 10 * timedelta(minutes=1), **facts)
    PickedOutcome.objects.create(verification=verification, outcome=outcome, picked_at=now - DAY)
    return verification


@pytest.mark.parametrize(
    ("outcome", "subject"),
    [
        ("adult", ["Your identity check: approved"]),
        ("declined", ["Your identity check: not approved"]),
        ("resubmit", ["Your identity check: please try again"]),
        ("review", []),
        ("error", []),
    ],
)
def test_who_left_is_told_by_the_sweep_what_the_provider_decided(nora, now, outcome, subject):
    decided(outcome, nora, now)
    sweep(now=now)
    for _ in range(2):
        notices.send_due(now=now)
    assert subjects() == subject


def test_who_waits_on_the_page_gets_no_email(client, nora, now, sign_in):
    redirect_task = make_redirect_task(client, now=now)
    decided("adult", nora, now, redirect_task=redirect_task)
    sign_in(nora)
    assert client.get(reverse("wallet_identity", args=[redirect_task.id])).url == "/done/"
    assert notices.send_due(now=now) == {}


def test_who_sees_the_outcome_of_a_callback_before_the_sweep_gets_no_email(client, nora, now, sign_in):
    redirect_task = make_redirect_task(client, now=now)
    verification = decided("declined", nora, now, redirect_task=redirect_task)
    progress.refresh(verification, now=now, away=True)
    assert IdentityVerification.objects.get().notice_due == "declined"
    sign_in(nora)
    client.get(reverse("wallet_identity", args=[redirect_task.id]))
    assert notices.send_due(now=now) == {}


def test_a_result_that_comes_again_is_not_told_again(nora, now):
    verification = decided("adult", nora, now)
    progress.refresh(verification, now=now, away=True)
    notices.send_due(now=now)
    IdentityVerification.objects.update(asking_until=None)
    progress.refresh(IdentityVerification.objects.get(), now=now, away=True)
    assert notices.send_due(now=now) == {}


def test_an_outcome_that_changed_before_it_was_told_is_not_told(nora, now):
    verification = decided("resubmit", nora, now)
    sweep(now=now)
    progress.begin(IdentityVerification.objects.get(id=verification.id), now=now)
    assert notices.send_due(now=now) == {}


def test_the_command_sends_and_says_how_many(nora, alice, now):
    decided("adult", nora, now)
    ends(now, days=5)
    out = StringIO()
    call_command("sweep_identity_verifications", stdout=out)
    assert out.getvalue().strip() == "1 approved, 2 e-mails"
    assert sorted(message.to[0] for message in mail.outbox) == [ALICE, NORA]


# --- The mail server ---------------------------------------------------------------------------------------


@pytest.fixture
def smtp(settings):
    with mail_server.running(settings) as running:
        yield running


def test_while_the_mail_server_is_away_nothing_is_lost_and_nothing_doubled(alice, bob, now, settings):
    with mail_server.running(settings):
        pass  # it has stopped
    ends(now, days=5)
    assert notices.send_due(now=now) == {"ends_7": 2}
    assert notices.send_due(now=now) == {}
    with mail_server.running(settings) as smtp:
        OutgoingEmail.objects.update(due_at=now)
        send_waiting()
        send_waiting()
        assert len(smtp.envelopes) == 2


def test_a_mailbox_that_is_gone_is_not_tried_for_ever(alice, now, smtp):
    ends(now, days=5)
    smtp.refusing = "550 no such mailbox"
    notices.send_due(now=now)
    smtp.refusing = ""
    assert notices.send_due(now=now) == {}
    assert not smtp.envelopes


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_sweeps_at_once_send_each_email_once(alice, bob, nora, now):
    ends(now, days=5)
    progress.refresh(decided("declined", nora, now), now=now, away=True)
    counts = together(lambda number: notices.send_due(now=now, batch=1), 8)
    assert sum(count.total() for count in counts) == 3
    assert len(mail.outbox) == 3


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_renewal_while_an_email_is_sent_leaves_a_clean_row(alice, now, monkeypatch):
    """The e-mail went out for the old identity; the new one begins without any."""
    ends(now, days=5)

    def renewed_meanwhile(*args, **facts):
        Credential.objects.update(issued_at=now, expires_at=now + 365 * DAY, notice="", notice_until=None)

    monkeypatch.setattr(holder_emails, "send_notice", renewed_meanwhile)
    notices.send_due(now=now)
    credential = Credential.objects.get()
    assert (credential.notice, credential.notice_until) == ("", None)
