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
from django.utils.translation import gettext_lazy as _

from infra import email_addresses, localised
from infra.email_addresses import EmailAddressError
from infra.waiting import MAIL_SERVER, waiting_for
from wallet.claims import Text
from wallet.models import Errand, Wallet

log = structlog.get_logger(__name__)

_ENDS = (
    _("Your verified identity ends on %(day)s"),
    _(
        "Your verified identity is valid until the end of %(day)s. To go on using it, sign in to your "
        "wallet and choose “Renew or change”. Until the new one is approved, the present one stays valid."
    ),
)
# Kind of notice → subject and text.
NOTICES: dict[str, tuple[Text, Text]] = {
    "approved": (
        _("Your identity check: approved"),
        _(
            "Your identity is confirmed. Your wallet is ready: go back to where you wanted to share your "
            "identity and start again there."
        ),
    ),
    "declined": (
        _("Your identity check: not approved"),
        _(
            "We looked at your identity check and could not confirm your identity. Nothing has changed in "
            "your wallet."
        ),
    ),
    "ask_again": (
        _("Your identity check: please try again"),
        _("We looked at your identity check and need something else from you. Sign in to see what it is."),
    ),
    "ends_30": _ENDS,
    "ends_7": _ENDS,
    "ended": (
        _("Your verified identity has expired"),
        _(
            "Your verified identity was valid until the end of %(day)s. Nothing can be shared from it any "
            "more, and we will erase your details. To share again, prove who you are again: sign in to your "
            "wallet and choose “Confirm your identity”."
        ),
    ),
    "revoked": (
        _("Your verified identity was revoked"),
        _(
            "The operator of this service has revoked your verified identity. Nothing can be shared from it "
            "any more, what you shared from it lately is not valid any more, and we will erase your details. "
            "To share again, prove who you are again: sign in to your wallet and choose “Confirm your "
            "identity”."
        ),
    ),
    "new_browser": (
        _("A new browser signed in to your wallet"),
        _(
            "%(browser)s signed in to your wallet on %(when)s UTC. If this was you, you need do nothing. If "
            "it was not you, open %(address)s, choose “Sign out everywhere”, and make sure that only you "
            "can read your e-mail."
        ),
    ),
    "passkey_added": (
        _("A passkey was added to your wallet"),
        _(
            "The passkey “%(name)s” was added to your wallet. Whoever has it can sign in to your wallet. If "
            "it was not you, sign in with a code, open “Sign-in and security” and remove it."
        ),
    ),
    "passkey_removed": (
        _("A passkey was removed from your wallet"),
        _(
            "The passkey “%(name)s” was removed from your wallet. Nobody can sign in with it any more. If it "
            "was not you, sign in with a code, open “Sign-in and security” and sign out other browsers."
        ),
    ),
    "closing": (
        _("Your wallet will be closed"),
        _(
            "Your wallet closes on %(when)s. Until then nothing is shared from it, and you can change your "
            "mind: sign in and choose “Keep my wallet”. After that we erase your data, and nobody can bring "
            "it back. If you did not ask for this, keep your wallet, and look at “Sign-in and security”."
        ),
    ),
    "kept": (
        _("Your wallet stays open"),
        _("Your wallet will not be closed. Everything in it is as it was before."),
    ),
    "closed": (
        _("Your wallet is closed"),
        _(
            "Your wallet is closed, and your verified identity is erased. What you shared lately is not "
            "valid any more. You can open a new wallet with this e-mail address at any time; it will have "
            "nothing of the old one."
        ),
    ),
    # With a link that undoes the change.
    "address_changed": (
        _("The e-mail address of your wallet was changed"),
        _(
            "Your wallet now belongs to another e-mail address. If you changed it, there is nothing to do. "
            "If you did not, undo it before %(until)s (UTC) with the link below: your wallet then belongs to "
            "this address again, and every browser is signed out."
        ),
    ),
    "address_put_back": (
        _("The e-mail address of your wallet was changed back"),
        _(
            "Your wallet belongs to its earlier e-mail address again, because somebody who reads that "
            "mailbox undid the change. It does not belong to this address any more."
        ),
    ),
    "address_taken": (
        _("This e-mail address cannot be used for another wallet"),
        _(
            "Somebody asked to use this e-mail address for their wallet. It belongs to a wallet already, or "
            "did until a few days ago, so nothing has changed. If it was not you, there is nothing to do."
        ),
    ),
    # With a link that stops the move.
    "move_begun": (
        _("Your wallet is to move to another e-mail address"),
        _(
            "Somebody said that they cannot read this mailbox any more, and showed the document with which "
            "your wallet was verified. Your wallet moves to their e-mail address on %(day)s. If it was not "
            "you, or if you can read this mailbox, stop it with the link below."
        ),
    ),
    "move_midway": (
        _("Your wallet is still to move to another e-mail address"),
        _(
            "On %(day)s your wallet moves to another e-mail address, because somebody said that they cannot "
            "read this mailbox any more. If it was not you, stop it with the link below."
        ),
    ),
    "move_last": (
        _("Last notice: your wallet moves to another e-mail address"),
        _(
            "On %(day)s your wallet moves to another e-mail address. After that, this mailbox can neither "
            "sign in to it nor stop the move. If it was not you, stop it now with the link below."
        ),
    ),
    "moved_away": (
        _("Your wallet has moved to another e-mail address"),
        _(
            "Your wallet does not belong to this e-mail address any more. If you did not ask for that, tell "
            "the operator of this service."
        ),
    ),
    "moved_here": (
        _("Your wallet has moved to this e-mail address"),
        _(
            "Your receipts and your verified identity are here now. All browsers were signed out and all "
            "passkeys were removed: sign in with this e-mail address."
        ),
    ),
    "move_stopped": (
        _("Your wallet does not move"),
        _(
            "The move of your earlier wallet to this e-mail address was stopped. You can go on using the "
            "wallet of this address. If you think that this is wrong, tell the operator of this service."
        ),
    ),
}
# What the link in a notice is called.
LINKS = {
    "address_changed": _("Undo the change"),
    **dict.fromkeys(("move_begun", "move_midway", "move_last"), _("Stop the move")),
}


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


def send_notice(wallet: Wallet, notice: str, **facts: str | date) -> None:
    """What happened to the holder's identity; `notice` is a key of `NOTICES`. Reasons are not in it.

    In the language of the wallet, because an operator, a sweep or another person may be the cause; days
    and times in `facts` are written in it, too. Never refused for want of a thread: notices are few, and
    nobody would send this letter again.
    """
    with language_of(wallet):
        send_worded(wallet.email, *worded(notice, **facts))


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


def send_worded(recipient: str, subject: str, text: str) -> None:
    """Send the words of `worded`; raises OSError like `submit`."""
    _send(recipient, subject, "notice", {"subject": subject, "text": text})


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


def send_notice_to(
    email: str, notice: str, *, wallet: Wallet | None = None, link: str = "", **facts: str | date
) -> None:
    """Like `send_notice`, to an address that the wallet had or does not have yet.

    wallet: in whose language it is written; without it, in that of the page. link: where the notice leads, if
    `LINKS` has words for that.
    """
    with language_of(wallet):
        subject, text = worded(notice, **facts)
        content = {"subject": subject, "text": text, "link": link, "link_text": LINKS.get(notice, "")}
        _send(email, subject, "notice", content)


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
