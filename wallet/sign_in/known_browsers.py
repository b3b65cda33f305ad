"""Known browsers: those that have signed in with an e-mail address. Each has allowances of its own.

A known browser still has to enter a code; its allowance only ensures that a code is sent. Only a browser that
has signed in becomes known, so this does not reveal whether an account exists.
"""

from datetime import datetime
from typing import Any

import structlog
from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.crypto import salted_hmac

from infra import browser as browsers
from infra.limits import LimitReachedError, RollingLimit
from wallet.emails import holder_emails
from wallet.models import KnownBrowser, Wallet
from wallet.sign_in import user_agents

HOLDER, DEVELOPER, OPERATOR = "holder", "developer", "operator"  # what the browser signed in as
KNOWN_FOR = browsers.KEPT  # after its last sign-in; the lifetime of its cookie


def key(browser: str, email: str, *, purpose: str = HOLDER) -> str:
    """The stored key of a browser, by which allowances count it too.

    browser: the digest of its cookie. email: the address; for operators, the user name. Signing out keeps the
    row. A new SECRET_KEY makes all browsers unknown.
    """
    salt = f"wallet.known_browsers.{purpose}"
    return salted_hmac(salt, f"{browser}\n{email}", algorithm="sha256").hexdigest()


def remember(browser: str, email: str, *, now: datetime, purpose: str = HOLDER) -> None:
    """Make this browser known for the address with which it has just signed in."""
    row = KnownBrowser(key=key(browser, email, purpose=purpose), expires_at=now + KNOWN_FOR)
    row.address = _of_address(email, purpose)
    changes = ["expires_at", "address"]
    KnownBrowser.objects.bulk_create(
        [row], update_conflicts=True, unique_fields=["key"], update_fields=changes
    )


def forget_all(email: str, *, until: datetime) -> int:
    """Forget the browsers that had signed in with this address until then; returns their number."""
    rows = KnownBrowser.objects.filter(address=_of_address(email, HOLDER))
    return rows.filter(expires_at__lte=until + KNOWN_FOR).delete()[0]


def is_known(browser: str | None, email: str, *, now: datetime, purpose: str = HOLDER) -> bool:
    """Whether this browser has signed in with the address before."""
    if browser is None:
        return False
    rows = KnownBrowser.objects.filter(key=key(browser, email, purpose=purpose), expires_at__gt=now)
    return rows.exists()


def _of_address(email: str, purpose: str) -> str:
    return salted_hmac(f"wallet.known_browsers.address.{purpose}", email, algorithm="sha256").hexdigest()


log = structlog.get_logger(__name__)

# Each such sign-in needs a code or a passkey. The limit keeps a holder's own script from filling the mailbox.
NOTICES = RollingLimit.from_settings("notices-of-new-browsers")


def tell_of_new_browser(
    request: HttpRequest, wallet: Wallet, *, is_known_browser: bool, now: datetime
) -> None:
    """E-mail the holder that the browser of `request` has signed in, in the language of its page.

    is_known_browser: whether the browser had signed in with the address before (`known_browsers.is_known`);
    then no e-mail is sent, nor for the sign-in that created the wallet.
    """
    if is_known_browser or wallet.created_at == now:
        return
    try:
        NOTICES.take(str(wallet.pk), now=now)
    except LimitReachedError:
        log.warning("new_browser_notices_used_up", wallet=str(wallet.pk))
        return
    facts: dict[str, Any] = {
        "browser": str(user_agents.parse(request.headers.get("User-Agent", ""))),
        "when": now,
        "address": settings.BASE_URL + reverse("wallet_security"),
    }
    holder_emails.send_notice(wallet.email, "new_browser", wallet=wallet, **facts)
