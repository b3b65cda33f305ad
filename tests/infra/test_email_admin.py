"""Operators and the outbox: who sees it, what it shows, and sending again."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone

from infra.mail import outbox, queue
from infra.mail.failures import Failure
from infra.mail.models import OutgoingEmail
from infra.mail.queue import EmailContent
from tests.config.reading_metrics import TOKEN, numbers

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
LIST = "/admin/infra/outgoingemail/"
NORA = "nora@example.org"


@pytest.fixture(autouse=True)
def _sent_by_a_process(settings: Any) -> None:
    settings.EMAILS_SENT_AT_ONCE = False


def operator(*actions: str) -> Client:
    """A signed-in operator who may do this with e-mails."""
    user = User.objects.create(username="olga", is_staff=True)
    codenames = [f"{action}_outgoingemail" for action in actions]
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client = Client()
    client.force_login(user)
    return client


def refused() -> OutgoingEmail:
    content = EmailContent(to=NORA, subject="Your wallet is closed", text="The code is 135790.")
    outbox.put(content, purpose="closed")
    email = queue.claim(urgent=False, now=timezone.now())
    assert email is not None
    queue.note(email, Failure("550 for the recipient", final=True), now=timezone.now())
    email.refresh_from_db()
    return email


def test_an_operator_sees_what_failed_and_why_and_neither_address_nor_content() -> None:
    email, client = refused(), operator("view")
    for path in (LIST, f"{LIST}{email.pk}/change/", f"{LIST}?q={email.pk}"):
        text = client.get(path).content.decode()
        for shown in ("closed", "refused", "550 for the recipient"):
            assert shown in text
        for hidden in (NORA, "nora", "Your wallet is closed", "135790", email.recipient):
            assert hidden not in text


@pytest.mark.parametrize("query", ["recipient__startswith=a", "recipient=x", "sealed_letter=x"])
def test_nobody_finds_out_addresses_by_filters(query: str) -> None:
    refused()
    assert operator("view").get(f"{LIST}?{query}").status_code in (302, 400)


def test_an_operator_sends_again_what_was_refused() -> None:
    email, client = refused(), operator("change")
    page = f"{LIST}{email.pk}/do/send_again/"
    assert "Send it again?" in client.get(page).content.decode()
    assert client.post(page).status_code == 302

    email.refresh_from_db()
    assert (email.state, email.reason) == ("waiting", "")
    assert LogEntry.objects.get().change_message == "To be sent now"
    assert "Somebody was faster" in client.post(page, follow=True).content.decode()


def test_an_operator_drops_what_is_not_to_be_sent() -> None:
    email, client = refused(), operator("change")
    assert client.post(f"{LIST}{email.pk}/do/drop/").status_code == 302

    email.refresh_from_db()
    assert (email.state, bytes(email.sealed_letter)) == ("dropped", b"")
    assert "Somebody was faster" in client.post(f"{LIST}{email.pk}/do/drop/", follow=True).content.decode()


@pytest.mark.parametrize("actions", [(), ("view",)])
def test_who_may_only_look_changes_nothing(actions: tuple[str, ...]) -> None:
    email, client = refused(), operator(*actions)
    assert client.get(LIST).status_code == (200 if actions else 403)
    for name in ("send_again", "drop"):
        assert client.post(f"{LIST}{email.pk}/do/{name}/").status_code == 403
        assert name not in client.get(f"{LIST}{email.pk}/change/").content.decode()
    for name in ("delete", "change"):
        assert client.post(f"{LIST}{email.pk}/{name}/", {"post": "yes", "state": "sent"}).status_code == 403
    email.refresh_from_db()
    assert email.state == "refused"


def test_e_mails_are_counted_and_nobody_is_named(client: Client, settings: Any) -> None:
    settings.METRICS_TOKEN = TOKEN
    refused()
    content = EmailContent(to=NORA, subject="s", text="t")
    outbox.put(content, purpose="code", urgent=True)
    found = numbers(client)
    assert (found["emails_waiting", "true"], found["emails_waiting", "false"]) == (1, 0)
    assert found["emails_overdue_seconds", "true"] > 0
    assert found["emails_overdue_seconds", "false"] == 0
    assert found["emails_ended", "refused"] == 1
    queue.claim(urgent=True, now=timezone.now())
    assert numbers(client)["emails_overdue_seconds", "true"] == 0, "it is being sent"
    text = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).content.decode()
    assert "nora" not in text
