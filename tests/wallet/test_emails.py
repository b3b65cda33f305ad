"""E-mails: sent over real SMTP, as text and HTML; and the sandbox's mailbox."""

import html
import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from django.conf import settings as project_settings
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation

from sandbox.mailbox import KEPT, EmailBackend
from sandbox.models import MailboxEmail
from tests.people import BOB, NORA
from tests.presentation.relying_parties.png_files import PNG
from tests.wallet import mail_server
from tests.wallet.browser_redirect_tasks import make_redirect_task
from tests.wallet.conftest import code_in
from tests.wallet.requesting_codes import strangers_use_up
from wallet.emails import holder_emails
from wallet.models import HolderSession
from wallet.sign_in import codes as signing_in

MAILBOX = "sandbox.mailbox.EmailBackend"


@pytest.fixture
def smtp(settings):
    """A mail server on loopback, configured as the service's."""
    with mail_server.running(settings) as running:
        yield running


def test_the_code_arrives_over_smtp_in_text_and_html(smtp, client, db, now):
    redirect_task = make_redirect_task(client, now=now, on_behalf_of="Café <Zürich> & Söhne")
    assert client.post(reverse("wallet_sign_in", args=[redirect_task.id])).status_code == 303
    [envelope] = smtp.envelopes
    assert envelope.rcpt_tos == [NORA]
    email = smtp.newest()
    assert email["To"] == NORA
    assert email["From"] == project_settings.DEFAULT_FROM_EMAIL
    text = email.get_body(("plain",)).get_content()
    page = email.get_body(("html",)).get_content()
    assert "Café <Zürich> & Söhne asks for" in text
    assert "Café &lt;Zürich&gt; &amp; Söhne" in page
    assert "ten minutes" in text or "10 minutes" in text
    code = code_in(text)
    assert code in page
    assert code not in email["Subject"]
    response = client.post(reverse("wallet_code", args=[redirect_task.id]), {"code": code})
    assert (response.status_code, response.url) == (303, "/done/")


def words_of(page: str) -> str:
    """What a person reads of an e-mail in HTML, with single spaces."""
    body = page.partition("<body>")[2]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def test_the_code_is_in_the_first_line_and_not_in_the_subject(client, redirect_task, nora, now):
    signing_in.send_code(redirect_task, client="192.0.2.1", now=now)
    holder_emails.send_address_code(NORA, "123456", lifetime=timedelta(minutes=10))
    for email in mail.outbox:
        code = code_in(email.body)
        assert email.body.startswith(f"{code} is ")
        assert words_of(email.alternatives[0][0]).startswith(f"{code} is ")
        assert code not in email.subject


def test_an_email_has_the_colour_and_the_mark_of_the_operator_and_fetches_nothing(
    smtp, client, redirect_task, settings
):
    settings.OPERATOR = replace(settings.OPERATOR, colour="#7a1f5c", logo=PNG)
    client.post(reverse("wallet_sign_in", args=[redirect_task.id]))
    email = smtp.newest()
    text_part, shown = email.iter_parts()
    assert email.get_content_type() == "multipart/alternative"
    assert (text_part.get_content_type(), shown.get_content_type()) == ("text/plain", "multipart/related")
    html_part = email.get_body(("html",)).get_content()
    assert "#7a1f5c" in html_part
    assert re.findall(r"(?:src|background)=\"([^\"]*)", html_part) == ["cid:operator-logo"]
    assert not re.search(r"url\(|@import|<link", html_part)
    _, image = shown.iter_parts()
    assert (image.get_content_type(), image["Content-ID"]) == ("image/png", "<operator-logo>")
    assert (image.get_content_disposition(), image.get_filename()) == ("inline", None)
    assert image.get_content() == PNG


def test_an_operator_without_a_logo_has_emails_without_a_picture(smtp, client, redirect_task):
    client.post(reverse("wallet_sign_in", args=[redirect_task.id]))
    email = smtp.newest()
    assert email.get_content_type() == "multipart/alternative"
    assert "<img" not in email.get_body(("html",)).get_content()


def test_an_email_says_where_the_code_may_be_entered(client, redirect_task, now):
    signing_in.send_code(redirect_task, client="192.0.2.1", now=now)
    assert "Enter it only on localhost:8000" in mail.outbox[0].body


def test_a_requester_cannot_inject_lines_into_an_email(client, db, now):
    redirect_task = make_redirect_task(
        client, now=now, on_behalf_of="Bank\r\nBcc: everybody@example.org\n\nHello"
    )
    signing_in.send_code(redirect_task, client="192.0.2.1", now=now)
    assert "\nBcc" not in mail.outbox[0].message().as_string()
    assert "Bank Bcc: everybody@example.org Hello asks for" in mail.outbox[0].body


def test_emails_use_the_translation_catalogue(client, redirect_task, now):
    with translation.override("de"):
        signing_in.send_code(redirect_task, client="192.0.2.1", now=now)
    assert '<html lang="de">' in mail.outbox[0].alternatives[0][0]


# --- The sandbox -------------------------------------------------------------------------------------------


@pytest.fixture
def mailbox(settings):
    settings.MAIL_BACKEND = MAILBOX


def test_the_code_page_shows_the_code_in_the_sandbox(client, redirect_task, mailbox):
    response = client.post(reverse("wallet_sign_in", args=[redirect_task.id]))
    code = code_in(MailboxEmail.objects.get().text)
    text = client.get(response.url).content.decode()
    assert f'<strong class="banner-code">{code}</strong>' in text
    response = client.post(response.url, {"code": code})
    assert response.url == "/done/"


def test_the_page_that_waits_for_a_link_shows_it_in_the_sandbox(client, redirect_task, mailbox, now):
    strangers_use_up(now)
    response = client.post(reverse("wallet_sign_in", args=[redirect_task.id]))
    text = client.get(response.url).content.decode()
    [link] = re.findall(r'<a href="([^"]+)">Your sign-in link</a>', text)
    assert client.post(link.removeprefix(project_settings.BASE_URL)).url == "/done/"


def test_no_other_page_shows_it_or_asks_for_it(client, redirect_task, mailbox, statements):
    client.post(reverse("wallet_sign_in", args=[redirect_task.id]))
    code = code_in(MailboxEmail.objects.get().text)
    with statements() as seen:
        text = client.get(reverse("wallet_sign_in", args=[redirect_task.id])).content.decode()
    assert code not in text
    assert not any("letter" in statement for statement in seen.texts)


def test_another_browser_does_not_see_the_code(client, redirect_task, mailbox):
    client.post(reverse("wallet_sign_in", args=[redirect_task.id]))
    code = code_in(MailboxEmail.objects.get().text)
    stranger = Client()
    stranger.cookies[project_settings.BROWSER_COOKIE_NAME] = "z" * 43
    for address in (reverse("wallet_code", args=[redirect_task.id]), reverse("sandbox_mailbox")):
        assert code not in stranger.get(address).content.decode()


def test_the_mailbox_shows_the_emails_to_addresses_of_this_browser(
    client, redirect_task, nora, sign_in, mailbox
):
    client.post(reverse("wallet_sign_in", args=[redirect_task.id]))
    EmailBackend().send_messages([mail.EmailMessage("For Bob", "Nothing for Nora.", to=[BOB])])
    response = client.get(reverse("sandbox_mailbox"))
    text = response.content.decode()
    assert code_in(MailboxEmail.objects.get(recipient=NORA).text) in text
    assert "For Bob" not in text
    assert "no-store" in response.headers["Cache-Control"]
    redirect_task.delete()
    assert NORA not in client.get(reverse("sandbox_mailbox")).content.decode()
    sign_in(nora)
    assert NORA in client.get(reverse("sandbox_mailbox")).content.decode()


def test_emails_are_shown_as_text(client, redirect_task, mailbox):
    EmailBackend().send_messages([mail.EmailMessage("<b>Hi</b>", "<script>alert(1)</script>", to=[NORA])])
    text = client.get(reverse("sandbox_mailbox")).content.decode()
    assert "<b>Hi" not in text
    assert "<script>alert" not in text


def test_the_mailbox_deletes_the_oldest_emails(db, mailbox):
    now = timezone.now()
    MailboxEmail.objects.bulk_create(
        MailboxEmail(recipient=NORA, subject=str(n), text="", sent_at=now) for n in range(KEPT + 20)
    )
    EmailBackend().send_messages([mail.EmailMessage("newest", "text", to=[NORA, BOB])])
    assert MailboxEmail.objects.count() == KEPT
    assert MailboxEmail.objects.filter(subject="newest").count() == 2


def test_the_backend_counts_as_djangos_do(db):
    assert EmailBackend().send_messages([mail.EmailMessage("s", "b", None, [NORA, BOB])]) == 1
    assert EmailBackend().send_messages([]) == 0


# --- In the language of the person -------------------------------------------------------------------------


def test_a_code_is_in_the_language_of_the_page(client, redirect_task):
    client.post(reverse("wallet_sign_in", args=[redirect_task.id]), headers={"accept-language": "es"})
    [email] = mail.outbox
    assert email.subject == "Su código de inicio de sesión"
    assert "Acme Bank pide sus datos verificados" in email.body
    assert "Funciona durante 10 minutos." in email.body
    page = email.alternatives[0][0]
    assert '<html lang="es">' in page
    assert "Introdúzcalo solo en" in page


def test_a_notice_is_in_the_language_of_the_wallet_whoever_causes_it(nora):
    nora.language = "es"
    with translation.override("en-gb"):  # of an operator, or of a sweep
        holder_emails.send_notice(nora.email, "ends_7", wallet=nora, day=date(2027, 2, 1))
    [email] = mail.outbox
    assert email.subject == "Su identidad verificada caduca el 1 de febrero de 2027"
    assert "hasta el final del 1 de febrero de 2027." in email.body
    assert '<html lang="es">' in email.alternatives[0][0]
    assert translation.get_language() == "en-gb"


def test_a_notice_to_a_wallet_without_a_language_is_in_english(nora):
    holder_emails.send_notice(nora.email, "ends_7", wallet=nora, day=date(2027, 2, 1))
    assert mail.outbox[0].subject == "Your verified identity ends on 1 February 2027"


def test_the_wallet_takes_the_language_in_which_its_holder_signs_in(client, redirect_task, nora):
    spanish = {"accept-language": "es"}
    response = client.post(reverse("wallet_sign_in", args=[redirect_task.id]), headers=spanish)
    client.post(response.url, {"code": code_in(mail.outbox[0].body)}, headers=spanish)
    nora.refresh_from_db()
    assert nora.language == "es"


AT = datetime(2027, 2, 1, 9, 30, tzinfo=UTC)


def test_times_are_those_of_the_browser_in_which_the_holder_was_last_signed_in(
    client, redirect_task, nora, now
):
    response = client.post(reverse("wallet_sign_in", args=[redirect_task.id]))
    typed = {"code": code_in(mail.outbox[0].body), "zone": "America/New_York"}
    client.post(response.url, typed, headers={"user-agent": "Firefox"})
    holder_emails.send_notice(nora.email, "closing", wallet=nora, when=AT)
    assert "closes on 1 February 2027, 04:30 UTC-05:00." in mail.outbox[-1].body
    HolderSession.objects.update(time_zone="Asia/Kolkata")
    holder_emails.send_notice(nora.email, "closing", wallet=nora, when=AT)
    assert "closes on 1 February 2027, 15:00 UTC+05:30." in mail.outbox[-1].body


@pytest.mark.parametrize("zone", ["", "Nowhere/At_All", "../../etc/passwd", "x" * 65, "Europe", "Etc/UTC"])
def test_times_are_in_utc_where_the_browser_names_no_zone(client, redirect_task, nora, zone):
    response = client.post(reverse("wallet_sign_in", args=[redirect_task.id]))
    client.post(response.url, {"code": code_in(mail.outbox[0].body), "zone": zone})
    holder_emails.send_notice(nora.email, "closing", wallet=nora, when=AT)
    assert "closes on 1 February 2027, 09:30 UTC." in mail.outbox[-1].body


@pytest.mark.parametrize("language", ["en-gb", "es"])
@pytest.mark.parametrize("notice", holder_emails.NOTICES)
def test_every_notice_can_be_written_in_every_language(language, notice, nora):
    nora.language = language
    facts = dict.fromkeys(("browser", "when", "address", "name", "requester"), "x") | {
        "day": date(2027, 2, 1)
    }
    facts |= {"until": datetime(2027, 2, 1, 9, 30, tzinfo=UTC)}
    holder_emails.send_notice(nora.email, notice, wallet=nora, **facts)
    assert "%(" not in mail.outbox[0].subject + mail.outbox[0].body
