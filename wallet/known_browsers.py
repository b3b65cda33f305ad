"""Known browsers: those that have signed in with an e-mail address. Each has allowances of its own.

A known browser still has to enter a code; its allowance only ensures that a code is sent. Only a browser that
has signed in becomes known, so this does not reveal whether an account exists.
"""

from datetime import datetime

from django.utils.crypto import salted_hmac

from infra import browser as browsers
from wallet.models import KnownBrowser

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
    KnownBrowser.objects.bulk_create(
        [
            KnownBrowser(
                key=key(browser, email, purpose=purpose),
                address=_of_address(email, purpose),
                expires_at=now + KNOWN_FOR,
            )
        ],
        update_conflicts=True,
        unique_fields=["key"],
        update_fields=["expires_at", "address"],
    )


def forget_all(email: str, *, until: datetime) -> int:
    """Forget every browser that had signed in to a wallet with this address by then; gives how many."""
    known = KnownBrowser.objects.filter(address=_of_address(email, HOLDER))
    return known.filter(expires_at__lte=until + KNOWN_FOR).delete()[0]


def is_known(browser: str | None, email: str, *, now: datetime, purpose: str = HOLDER) -> bool:
    """Whether this browser has signed in with the address before."""
    if browser is None:
        return False
    rows = KnownBrowser.objects.filter(key=key(browser, email, purpose=purpose), expires_at__gt=now)
    return rows.exists()


def _of_address(email: str, purpose: str) -> str:
    return salted_hmac(f"wallet.known_browsers.address.{purpose}", email, algorithm="sha256").hexdigest()
