"""Limits of sign-in e-mails and guesses, designed so that no stranger can keep a holder from signing in.

The rules are below; docs/operate.md explains the settings to operators.
"""

# A browser is known for an e-mail address once it has signed in with it (`known_browsers`). Every other
# browser is a stranger to that address. The rules do not depend on whether a wallet exists.
#
# 1. A known browser has its own allowance for the address: SIGN_IN_CODES_PER_ADDRESS codes in 15
#    minutes and 20 in a day. Strangers cannot use it up, and no limit by client address applies to it.
# 2. Strangers get codes by e-mail address and client address together: SIGN_IN_CODES_PER_ADDRESS in 15
#    minutes.
# 3. All strangers together get 20 codes for one e-mail address in any 24 hours. With 5 tries for each code,
#    that makes at most 100 guesses.
# 4. A browser that has no code left by these rules gets a one-time link in place of the code
#    (`sign_in_links`). It cannot be guessed, so only e-mails are counted: at most one is sent to an address
#    in 15 minutes, or until its link is used. The link works in every browser that waits for one, whichever
#    request sent it.
# 5. The e-mails that strangers request, and their wrong codes, are also limited for each client address, so
#    that one machine can neither flood many mailboxes nor guess many codes. These limits are high, and
#    settings, because many people in an office or mobile network share one client address. A stranger whose
#    client address has no e-mails or tries left gets a link. These links are limited to the same number for
#    the client address. Beyond it, a stranger is refused unless a recent link still works.
# 6. If the mail server certainly has not accepted an e-mail, the allowances of the e-mail address and of the
#    browser are given back. That of the client address is not, so that failing attempts are limited.

from contextlib import ExitStack
from datetime import datetime, timedelta

from django.conf import settings

from infra.limits import Limit, LimitReachedError, RollingLimit, take_all
from wallet import known_browsers

CODE_LIFETIME = timedelta(minutes=10)
TRIES = 5  # for each code
GUESSES_A_DAY = 100  # for one mailbox, by all strangers together

_SHORT, _DAY = timedelta(minutes=15), timedelta(days=1)

CODES_PER_BROWSER = Limit("codes-per-browser", most=settings.SIGN_IN_CODES_PER_ADDRESS, window=_SHORT)
CODES_PER_BROWSER_AND_DAY = Limit("codes-per-browser-and-day", most=20, window=_DAY)
CODES_PER_EMAIL_AND_CLIENT = Limit(
    "codes-per-email-and-client", most=settings.SIGN_IN_CODES_PER_ADDRESS, window=_SHORT
)
# A code can be guessed until it expires, so its slot of the day is taken for that much longer.
CODES_TO_STRANGERS = RollingLimit(
    "codes-to-strangers", most=GUESSES_A_DAY // TRIES, window=_DAY + CODE_LIFETIME
)
LINKS_PER_EMAIL = RollingLimit("links-per-email", most=1, window=_SHORT)
CODES_PER_CLIENT = Limit("codes-per-client", most=settings.SIGN_IN_EMAILS_PER_CLIENT, window=_SHORT)
LINKS_PER_CLIENT = Limit("links-per-client", most=settings.SIGN_IN_EMAILS_PER_CLIENT, window=_SHORT)
ERRANDS_PER_CLIENT = Limit("errands-per-client", most=settings.SIGN_IN_EMAILS_PER_CLIENT, window=_SHORT)
TRIES_PER_CLIENT = Limit("tries-per-client", most=settings.SIGN_IN_WRONG_CODES_PER_CLIENT, window=_SHORT)


def take_code(email: str, *, browser: str, client: str, known: bool, now: datetime, taken: ExitStack) -> bool:
    """Take the allowances for one code; False if none is left, so that a link has to be sent instead.

    browser: the digest of its cookie. client: the network address. known: whether the browser is known for
    this address. taken: gives the allowances back when it is closed, except that of the client address.
    """
    if known:
        key = known_browsers.key(browser, email)
        return take_all((CODES_PER_BROWSER, key), (CODES_PER_BROWSER_AND_DAY, key), now=now, taken=taken)
    try:
        CODES_PER_CLIENT.take(client, now=now)
    except LimitReachedError:
        return False
    of_client = (CODES_PER_EMAIL_AND_CLIENT, f"{email}\n{client}")
    return take_all(of_client, (CODES_TO_STRANGERS, email), now=now, taken=taken)


def count_errand(email: str, *, browser: str | None, client: str, now: datetime) -> None:
    """Count a sign-in that no relying party requested; raises `limits.LimitReachedError` for a stranger."""
    try:
        ERRANDS_PER_CLIENT.take(client, now=now)
    except LimitReachedError:
        if not known_browsers.is_known(browser, email, now=now):
            raise
