"""The e-mail to a holder in whose wallet a browser has signed in that never did so before."""

from datetime import datetime

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.timezone import localtime

from infra import localised
from infra.email_addresses import EmailAddressError
from infra.limits import LimitReachedError, RollingLimit
from infra.waiting import MAIL_SERVER, waiting_for
from wallet import letters
from wallet.account import user_agents
from wallet.account.afterwards import after
from wallet.models import Wallet

log = structlog.get_logger(__name__)

# Only who can read the mailbox, or has a passkey, signs in. This keeps a script of theirs from filling it.
NOTICES = RollingLimit.from_settings("notices-of-new-browsers")


def tell(request: HttpRequest, response: HttpResponse, wallet: Wallet, *, known: bool, now: datetime) -> None:
    """E-mail the holder that the browser of `request` has signed in, once `response` is sent.

    known: whether the browser had signed in with the address before (`known_browsers.is_known`); then no
    e-mail is sent, nor for the sign-in that created the wallet.
    """
    if known or wallet.created_at == now:
        return
    try:
        NOTICES.take(str(wallet.pk), now=now)
    except LimitReachedError:
        log.warning("new_browser_notices_used_up", wallet=str(wallet.pk))
        return
    facts = {
        "browser": str(user_agents.parse(request.headers.get("User-Agent", ""))),
        "when": localised.moment(localtime(now)),
        "address": settings.BASE_URL + reverse("wallet_security"),
    }
    tell_afterwards(response, wallet, "new_browser", **facts)


def tell_afterwards(response: HttpResponse, wallet: Wallet, notice: str, **facts: str) -> None:
    """Send a notice of `letter_texts.NOTICES` once `response` is sent, without delaying or failing it.

    If the mail server cannot be reached, or too many threads wait for it, the log says so and the notice is
    not sent.
    """
    subject, text = letters.worded(notice, **facts)  # in the language of this request

    def send() -> None:
        try:
            with waiting_for(MAIL_SERVER):
                letters.send_worded(wallet.email, subject, text)
        except (OSError, EmailAddressError):  # SMTP and network errors are all OSErrors
            log.exception("notice_not_sent", notice=notice, wallet=str(wallet.pk))

    after(response, send)
