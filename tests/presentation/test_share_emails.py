"""“You shared …” e-mails: off by default, sent once after an answer was given, and never in its way."""

import secrets
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from consent.models import Consent
from infra.mail.models import OutgoingEmail
from infra.models import LastRun
from presentation import share_emails
from presentation.models import Delivery, Interaction, RelyingParty
from presentation.requests.interactions import path_of
from tests.consent.copies import add_copies, analyse
from tests.consent.questions import WIRE, put
from tests.drawn import without_drawn
from tests.emails import send_waiting
from tests.failing_rows import refusing
from tests.ports import free_port
from tests.presentation.requests.deciding import ask
from tests.wallet import mail_server
from tests.wallet.conftest import together
from wallet.models import Wallet

pytestmark = pytest.mark.usefixtures("signing_key")
HISTORY = "/wallet/history/"
SWITCH = "/wallet/share-emails/"


def send(**ahead: Any) -> int:
    return share_emails.send_due(now=timezone.now() + timedelta(**ahead))


def answer(client: Client, party: RelyingParty, decision: str = "share") -> Consent:
    """Alice answers the request on its page."""
    ask(client, party, nonce=secrets.token_urlsafe())
    interaction = Interaction.objects.order_by("-created_at")[0]
    response = client.post(path_of(interaction), {"decision": decision})
    assert response.headers["Location"].startswith("https://bank.example/")
    return Consent.objects.get(interaction=interaction)


@pytest.fixture
def holder(client: Client, alice: Wallet, sign_in: Any) -> Client:
    """Alice, signed in, with these e-mails on."""
    sign_in(alice)
    assert client.post(SWITCH, {"share_emails": "on"}).headers["Location"] == HISTORY
    return client


# --- The switch -------------------------------------------------------------------------------------------


def test_they_are_off_until_the_holder_switches_them_on(
    client: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: Any
) -> None:
    sign_in(alice)
    assert "They are off." in client.get(HISTORY).content.decode()
    answer(client, acme_bank)
    assert (send(), mail.outbox) == (0, [])

    client.post(SWITCH, {"share_emails": "on"})
    assert "They are on." in client.get(HISTORY).content.decode()
    assert send() == 0, "of answers from before nothing is sent"
    for value in ("off", "", "ON", "x"):
        client.post(SWITCH, {"share_emails": "on"})
        client.post(SWITCH, {"share_emails": value})
        assert not Wallet.objects.get(id=alice.id).share_emails


def test_only_the_signed_in_holder_switches_and_only_their_own(
    client: Client, alice: Wallet, bob: Wallet, sign_in: Any
) -> None:
    assert client.post(SWITCH, {"share_emails": "on"}).headers["Location"] == "/wallet/sign-in/"
    sign_in(bob)
    assert client.get(SWITCH).status_code == 405
    client.post(SWITCH, {"share_emails": "on", "wallet": str(alice.id)})
    assert not Wallet.objects.get(id=alice.id).share_emails
    assert Wallet.objects.get(id=bob.id).share_emails


# --- What is sent -----------------------------------------------------------------------------------------


def test_an_answer_is_followed_by_one_email_with_names_and_no_values(
    holder: Client, alice: Wallet, acme_bank: RelyingParty, settings: Any
) -> None:
    consent = answer(holder, acme_bank)
    assert mail.outbox == [], "nothing is sent while the relying party waits"
    assert [send(), send()] == [1, 0]

    (message,) = mail.outbox
    assert message.to == [alice.email]
    assert message.subject == "You shared your details with Acme Bank"
    html = message.alternatives[0][0]
    for text in (message.body, html):
        for words in ("Acme Bank", "bank.example", "UTC", "Given name", "Aged 18 or over"):
            assert words in text
        assert f"{settings.BASE_URL}{HISTORY}{consent.id}/" in text
        for value in ("Archer", "1990", "af0ifjsldkj"):
            assert value not in without_drawn(text)


def test_of_a_payment_the_title_is_sent_and_neither_amount_nor_account(holder: Client, alice: Wallet) -> None:
    alice.refresh_from_db()
    consent = put(alice, transactions=[WIRE])
    share_emails._send_once(consent, now=timezone.now())
    text = mail.outbox[0].body + mail.outbox[0].alternatives[0][0]
    assert "You also said yes to:\n\n* Wire transfer" in text
    for value in ("12,500", "DE89", "Invoice"):
        assert value not in text


def test_a_name_with_a_line_break_makes_no_second_header(holder: Client, alice: Wallet) -> None:
    alice.refresh_from_db()
    consent = put(alice)
    consent.requester["name"] = "Acme\r\nBcc: eve@example.org"
    share_emails._send_once(consent, now=timezone.now())
    (message,) = mail.outbox
    assert message.subject == "You shared your details with Acme Bcc: eve@example.org"
    assert message.recipients() == [alice.email]


def test_names_are_text_in_the_email(holder: Client, alice: Wallet) -> None:
    alice.refresh_from_db()
    consent = put(alice)
    consent.requester["name"] = '<img src="x">'
    share_emails._send_once(consent, now=timezone.now())
    assert '<img src="x">' not in mail.outbox[0].alternatives[0][0]


# --- When it is sent --------------------------------------------------------------------------------------


def test_a_no_and_a_yes_that_shared_nothing_are_followed_by_none(
    holder: Client, acme_bank: RelyingParty
) -> None:
    answer(holder, acme_bank, "decline")
    undelivered = answer(holder, acme_bank)
    Consent.objects.filter(id=undelivered.id).update(undelivered_at=timezone.now())
    ask(holder, acme_bank)  # without an answer
    assert send() == 0


def test_a_yes_that_was_not_answered_yet_waits_for_its_answer(
    holder: Client, acme_bank: RelyingParty
) -> None:
    consent = answer(holder, acme_bank)
    Interaction.objects.update(outcome="", answered_at=None)
    assert send() == 0
    Interaction.objects.update(outcome="token", answered_at=timezone.now())
    assert send() == 1
    assert not Consent.objects.get(id=consent.id).email_due


@pytest.mark.parametrize(
    ("delivery", "sent"),
    [
        ({}, 0),
        ({"delivered_at": 0}, 1),
        ({"expires_at": -1}, 0),
        ({"expires_at": -1, "left_here": True}, 1),  # it may have arrived, and the receipt says “Shared”
        ({"left_here": True}, 0),
    ],
)
def test_a_posted_answer_is_told_when_it_has_arrived(
    holder: Client, acme_bank: RelyingParty, delivery: dict[str, Any], sent: int
) -> None:
    answer(holder, acme_bank)
    Interaction.objects.update(redirect_uri="", response_uri="https://bank.example/here")
    now = timezone.now()
    facts: dict[str, Any] = {"expires_at": now + timedelta(minutes=5), **delivery}
    for name in ("delivered_at", "expires_at"):
        if isinstance(facts.get(name), int):
            facts[name] = now + timedelta(minutes=facts[name])
    Delivery.objects.create(interaction=Interaction.objects.get(), **facts)
    assert send() == sent


@pytest.mark.parametrize("change", [{"share_emails": False}, {"state": "suspended"}])
def test_who_switched_them_off_since_or_is_suspended_gets_none(
    holder: Client, acme_bank: RelyingParty, change: dict[str, Any]
) -> None:
    answer(holder, acme_bank)
    Wallet.objects.update(**change)
    assert send() == 0


def test_after_a_day_it_is_no_news_any_more(holder: Client, acme_bank: RelyingParty) -> None:
    answer(holder, acme_bank)
    assert send(days=1, minutes=1) == 0
    assert not Consent.objects.filter(email_due=True).exists()


# --- Mail servers -----------------------------------------------------------------------------------------


def test_a_mail_server_that_is_away_is_tried_again_and_harms_no_answer(
    holder: Client, acme_bank: RelyingParty, settings: Any
) -> None:
    mail_server.point_at(settings, port=free_port())
    answer(holder, acme_bank)
    assert [send(), send()] == [1, 0]
    with mail_server.running(settings) as server:
        OutgoingEmail.objects.update(due_at=timezone.now())
        send_waiting()
        assert server.newest()["Subject"] == "You shared your details with Acme Bank"


def test_the_job_sends_them_once_and_its_run_is_recorded(holder: Client, acme_bank: RelyingParty) -> None:
    answer(holder, acme_bank)
    for _ in range(2):
        call_command("worker", once=True, jobs=["send_share_emails"])
    assert len([message for message in mail.outbox if "shared" in message.subject]) == 1
    assert LastRun.objects.get(command="send_share_emails").failures == 0


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_commands_at_once_send_each_email_once(holder: Client, acme_bank: RelyingParty) -> None:
    for _ in range(5):
        answer(holder, acme_bank)
    assert sum(together(lambda _number: send(), 6)) == 5
    assert len(mail.outbox) == 5


# --- What it costs ----------------------------------------------------------------------------------------


def test_the_answer_takes_as_many_statements_with_them_as_without(
    holder: Client, acme_bank: RelyingParty, statements: Any
) -> None:
    answer(holder, acme_bank)  # fills the caches
    counts = []
    for switched in ("off", "on"):
        holder.post(SWITCH, {"share_emails": switched})
        with statements() as made:
            answer(holder, acme_bank)
        counts.append(len(made.texts))
    assert counts[0] == counts[1]


@pytest.mark.postgresql
def test_what_is_due_is_found_by_an_index(holder: Client, acme_bank: RelyingParty) -> None:
    add_copies(answer(holder, acme_bank), [{"email_due": False}] * 1_000)
    analyse()
    due = Consent.objects.filter(email_due=True, decision="granted", decided_at__gt=timezone.now())
    assert "consent_share_emails_due" in due.explain()


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_one_email_that_fails_keeps_no_other_back(holder: Client, acme_bank: RelyingParty) -> None:
    first, second = answer(holder, acme_bank), answer(holder, acme_bank)

    with refusing(first), pytest.raises(CommandError, match=r"job_failed \(1\)"):
        call_command("worker", once=True, jobs=["send_share_emails"])

    assert LastRun.objects.get(command="send_share_emails").failures == 1
    assert [Consent.objects.get(id=each.id).email_due for each in (first, second)] == [True, False]
    assert len([message for message in mail.outbox if "shared" in message.subject]) == 1
