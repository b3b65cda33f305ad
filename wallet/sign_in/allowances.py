"""Limits of sign-in e-mails and guesses, designed so that no stranger can keep a holder from signing in.

The rules are below; docs/people.md explains the settings to operators.
"""

# A browser is known for an e-mail address once it has signed in with it (`known_browsers`). Every other
# browser is a stranger to that address. The rules do not depend on whether a wallet exists.
#
# 1. A known browser has its own allowance for the address: 5 codes in 15 minutes and 20 in a
#    day. Strangers cannot use it up, and no limit by client address applies to it.
# 2. Strangers get codes by e-mail address and client address together: 5 in 15 minutes.
# 3. All strangers together get 20 codes for one e-mail address in any 24 hours. With 5 tries for each code,
#    that makes at most 100 guesses.
# 4. A browser that has no code left by these rules gets a one-time link in place of the code
#    (`links`). It cannot be guessed, so only e-mails are counted: at most one is sent to an address
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

from infra.limits import ClientLimit, Limit, LimitReachedError, RollingLimit, take_all
from wallet.sign_in import known_browsers

CODE_LIFETIME = timedelta(minutes=10)
TRIES = 5  # for each code

_SHORT = timedelta(minutes=15)

CODES_PER_BROWSER = Limit.from_settings("codes-per-browser")
CODES_PER_BROWSER_AND_DAY = Limit.from_settings("codes-per-browser-and-day")
CODES_PER_EMAIL_AND_CLIENT = Limit.from_settings("codes-per-email-and-client")
# With the tries of each code at most 100 guesses a day. A code can be guessed until it expires, so its slot
# of the day is taken for that much longer.
CODES_TO_STRANGERS = RollingLimit.from_settings("codes-to-strangers")
LINKS_PER_EMAIL = RollingLimit("links-per-email", most=1, window=_SHORT)
CODES_PER_CLIENT = ClientLimit.from_settings("codes-per-client")
LINKS_PER_CLIENT = ClientLimit.from_settings("links-per-client")
REDIRECT_TASKS_PER_CLIENT = ClientLimit.from_settings("redirect-tasks-per-client")
TRIES_PER_CLIENT = ClientLimit.from_settings("tries-per-client")


def take_code(
    email: str, *, browser: str, client: str | None, is_known_browser: bool, now: datetime, taken: ExitStack
) -> bool:
    """Take the allowances for one code; False if none is left, so that a link has to be sent instead.

    browser: the digest of its cookie. client: the network address. is_known_browser: whether the browser is
    known for this e-mail address. taken: gives the allowances back when it is closed, except that of the
    client address.
    """
    if is_known_browser:
        key = known_browsers.key(browser, email)
        return take_all((CODES_PER_BROWSER, key), (CODES_PER_BROWSER_AND_DAY, key), now=now, taken=taken)
    try:
        CODES_PER_CLIENT.take(client, now=now)
    except LimitReachedError:
        return False
    of_client = [] if client is None else [(CODES_PER_EMAIL_AND_CLIENT, f"{email}\n{client}")]
    return take_all(*of_client, (CODES_TO_STRANGERS, email), now=now, taken=taken)


def count_redirect_task(email: str, *, browser: str | None, client: str | None, now: datetime) -> None:
    """Count a sign-in that no relying party requested; raises `limits.LimitReachedError` for a stranger."""
    try:
        REDIRECT_TASKS_PER_CLIENT.take(client, now=now)
    except LimitReachedError:
        if not known_browsers.is_known(browser, email, now=now):
            raise
