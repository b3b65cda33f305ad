"""The e-mail to a holder in whose wallet a browser has signed in that never did so before."""

from datetime import datetime
from typing import Any

import structlog
from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.timezone import localtime

from infra import localised
from infra.email_addresses import EmailAddressError
from infra.limits import LimitReachedError, RollingLimit
from wallet import letters
from wallet.account import user_agents
from wallet.models import Wallet

log = structlog.get_logger(__name__)

# Only who can read the mailbox, or has a passkey, signs in. This keeps a script of theirs from filling it.
NOTICES = RollingLimit.from_settings("notices-of-new-browsers")


def tell(request: HttpRequest, wallet: Wallet, *, known: bool, now: datetime) -> None:
    """E-mail the holder that the browser of `request` has signed in, in the language of its page.

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
    facts: dict[str, Any] = {
        "browser": str(user_agents.parse(request.headers.get("User-Agent", ""))),
        "when": localised.moment(localtime(now)),
        "address": settings.BASE_URL + reverse("wallet_security"),
    }
    try:
        letters.send_notice(wallet.email, "new_browser", **facts)
    except EmailAddressError:
        log.warning("notice_not_sent", notice="new_browser", wallet=str(wallet.pk))
