"""E-mails to holders, as plain text and HTML.

An e-mail that a person requests is in the language of the page; a notice is in the language of the wallet.
"""

import smtplib
from collections.abc import Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.core.mail import EmailMessage, EmailMultiAlternatives, get_connection
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.timezone import localtime
from django.utils.translation import get_language, override
from django.utils.translation import gettext as _t

from infra import email_addresses, localised
from infra.email_addresses import EmailAddressError
from infra.waiting import MAIL_SERVER, waiting_for
from wallet.claims import Text
from wallet.letter_texts import LINKS, NOTICES
from wallet.models import Errand, Wallet

log = structlog.get_logger(__name__)


def send_code(errand: Errand, code: str, *, lifetime: timedelta) -> None:
    """Send the sign-in code. It is not in the subject, which a locked phone may display.

    Raises OSError if the mail server cannot be reached or refuses the e-mail, or if too many threads are
    already waiting for the mail server.
    """
    facts = {
        "code": code,
        "on_behalf_of": errand.on_behalf_of,
        "minutes": int(lifetime.total_seconds() // 60),
    }
    with waiting_for(MAIL_SERVER):
        _send(errand.email, _t("Your sign-in code"), "code", facts)


def send_link(email: str, address: str, *, lifetime: timedelta) -> None:
    """Send the sign-in link. It names no requester, because several browsers may wait for the same link.

    Raises OSError like `send_code`.
    """
    facts = {"address": address, "minutes": int(lifetime.total_seconds() // 60)}
    with waiting_for(MAIL_SERVER):
        _send(email, _t("Your sign-in link"), "link", facts)


def send_notice(
    email: str, notice: str, *, wallet: Wallet | None = None, link: str = "", **facts: str | date
) -> None:
    """What happened to a wallet; `notice` is a key of `letter_texts.NOTICES`. Reasons are not in it.

    email: that of the wallet, or one that it had or does not have yet. wallet: in its language, because an
    operator, a sweep or another person may be the cause; without it, in that of the page. Days and times in
    `facts` are written in it, too. link: where the notice leads, if `letter_texts.LINKS` has words for that.
    Never refused for want of a thread: notices are few, and nobody would send this letter again. Raises
    OSError like `submit`.
    """
    with language_of(wallet):
        send_worded(email, *worded(notice, **facts), link=link, link_text=LINKS.get(notice, ""))


def language_of(wallet: Wallet | None) -> override:
    """A context in the language that the holder last used; as before, if it is not known."""
    return override((wallet.language if wallet else "") or get_language())


def worded(notice: str, **facts: str | date) -> tuple[str, str]:
    """The subject and the text of a notice, with days and times, in the language of the page."""
    written = {name: _written(fact) for name, fact in facts.items()}
    subject, text = (str(each) % written for each in NOTICES[notice])
    return subject, text


def _written(fact: str | date) -> str:
    if isinstance(fact, datetime):
        return localised.moment(localtime(fact))
    return localised.day(fact) if isinstance(fact, date) else fact


def send_worded(email: str, subject: str, text: str, *, link: str = "", link_text: Text = "") -> None:
    """Send the words of `worded`, which may be in the language of an earlier page."""
    facts = {"subject": subject, "text": text, "link": link, "link_text": link_text}
    _send(email, subject, "notice", facts)


def send_shared(
    wallet: Wallet,
    *,
    receipt: str,
    requester: str,
    domain: str,
    at: datetime,
    claims: Sequence[str],
    transactions: Sequence[str],
) -> None:
    """What the holder has shared, for those who switched these e-mails on: names of claims and titles of
    transactions, never values, amounts or accounts. receipt: its number. Raises OSError like `send_notice`.
    """
    name = " ".join(requester.split())  # a subject is one line
    subject = _t("You shared your details with %(name)s") % {"name": name}
    facts = {
        "subject": subject,
        "requester": requester,
        "domain": domain,
        "at": at,
        "claims": claims,
        "transactions": transactions,
        "address": f"{settings.BASE_URL}{reverse('consent_receipt', args=[receipt])}",
    }
    _send(wallet.email, subject, "shared", facts)


def send_address_code(email: str, code: str, *, lifetime: timedelta) -> None:
    """Send the code that proves the new address of a wallet. Raises OSError like `send_code`."""
    with waiting_for(MAIL_SERVER):
        facts = {"code": code, "minutes": int(lifetime.total_seconds() // 60)}
        _send(email, _t("Your code to confirm this address"), "address_code", facts)


def _send(recipient: str, subject: str, name: str, facts: dict[str, Any]) -> None:
    if not email_addresses.is_accepted(recipient):  # of an earlier release; the mailer would change it
        raise EmailAddressError
    facts |= {
        "operator": settings.OPERATOR,
        "host": urlsplit(settings.BASE_URL).netloc,
        "base_url": settings.BASE_URL,
    }
    letter = EmailMultiAlternatives(
        subject=subject, body=render_to_string(f"wallet/letters/{name}.txt", facts), to=[recipient]
    )
    letter.attach_alternative(render_to_string(f"wallet/letters/{name}.html", facts), "text/html")
    submit(letter)


def submit(letter: EmailMessage) -> None:
    """Send the e-mail; raises OSError only if the mail server certainly has not accepted it.

    An e-mail that may have been delivered counts as sent. Otherwise an attacker whose mail server accepts
    each e-mail but replies too late would receive e-mails that are never counted.
    """
    connection = letter.connection or get_connection()
    connection.open()  # an error here means that nothing was sent
    try:
        connection.send_messages([letter])
    except OSError as error:  # SMTP and network errors are all OSErrors
        if _refused(error):
            raise
        log.exception("email_perhaps_not_sent")
    finally:
        with suppress(OSError):
            connection.close()


def _refused(error: OSError) -> bool:
    """Whether the mail server refused the e-mail; False if the connection broke or the reply was invalid."""
    if isinstance(error, smtplib.SMTPDataError):
        return int(error.smtp_code) >= 400
    said_no = smtplib.SMTPHeloError | smtplib.SMTPSenderRefused | smtplib.SMTPRecipientsRefused
    return isinstance(error, said_no | smtplib.SMTPNotSupportedError)
