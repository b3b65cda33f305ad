"""Known browsers: those that have proven to read an e-mail address. They have allowances of their own.

Being known proves nothing: a known browser gets a code sent where a stranger might not, and still has to
enter it. It tells nobody whether an account exists: only a browser that has signed in can find out.
"""

from datetime import datetime

from django.utils.crypto import salted_hmac

from infra import browser as browsers
from wallet.models import KnownBrowser

HOLDER, DEVELOPER, OPERATOR = "holder", "developer", "operator"  # what the browser signed in as
KNOWN_FOR = browsers.KEPT  # since it last signed in; without its cookie it is a stranger anyway


def key(browser: str, email: str, *, purpose: str = HOLDER) -> str:
    """What is stored, and what allowances count by. browser: the digest of its cookie. email: of an operator
    the user name.

    Signing out does not forget a browser. A new SECRET_KEY forgets all of them.
    """
    salt = f"wallet.known_browsers.{purpose}"
    return salted_hmac(salt, f"{browser}\n{email}", algorithm="sha256").hexdigest()


def remember(browser: str, email: str, *, now: datetime, purpose: str = HOLDER) -> None:
    """This browser has just proven that whoever uses it reads the address."""
    KnownBrowser.objects.bulk_create(
        [KnownBrowser(key=key(browser, email, purpose=purpose), expires_at=now + KNOWN_FOR)],
        update_conflicts=True,
        unique_fields=["key"],
        update_fields=["expires_at"],
    )


def is_known(browser: str | None, email: str, *, now: datetime, purpose: str = HOLDER) -> bool:
    """Whether this browser has proven the address before."""
    if browser is None:
        return False
    rows = KnownBrowser.objects.filter(key=key(browser, email, purpose=purpose), expires_at__gt=now)
    return rows.exists()
