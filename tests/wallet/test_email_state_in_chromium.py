"""The page that waits for a code says by itself what became of the e-mail, and keeps what was typed."""

import os
from typing import Any

import pytest
from django.utils import timezone

from infra.mail import outbox, queue
from infra.mail.failures import Failure
from infra.mail.models import OutgoingEmail
from tests.barriers import assert_no_barriers
from tests.page_looks import assert_no_sideways_scroll

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def look(page: Any, name: str) -> None:
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=f"{folder}/email-{name}.png", full_page=True)
        page.emulate_media(color_scheme="dark")
        page.screenshot(path=f"{folder}/email-{name}-dark.png", full_page=True)
        page.emulate_media(color_scheme="light")
    assert_no_barriers(page)
    assert_no_sideways_scroll(page)


@pytest.mark.parametrize("end", ["sent", "refused"])
def test_the_page_follows_the_email(visit: Any, settings: Any, end: str) -> None:
    settings.EMAILS_SENT_AT_ONCE = False
    page = visit("wallet_sign_in")
    page.get_by_role("button", name="Send me a code").click()
    page.get_by_text("We are sending an e-mail to").wait_for()
    look(page, "sending")
    field = page.get_by_label("Code from the e-mail")
    field.press_sequentially("12")

    email = queue.claim(urgent=True, now=timezone.now())
    assert email is not None
    queue.note(email, Failure("no connection to the mail server", down=True), now=timezone.now())
    page.get_by_text("could not be sent yet. We keep trying.").wait_for()
    look(page, "delayed")

    if end == "sent":
        queue.end(OutgoingEmail.objects.all(), "sent", now=timezone.now())
        page.get_by_text("We have sent an e-mail to").wait_for()
    else:
        outbox.drop(email.id, now=timezone.now())
        page.get_by_text("The e-mail could not be sent.").wait_for()
    look(page, end)
    assert field.input_value() == "12"
