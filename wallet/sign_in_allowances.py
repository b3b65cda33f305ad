"""How many sign-in e-mails and guesses there are, and for whom: no stranger can keep a holder out.

The rules are below; docs/operate.md explains the settings to operators.
"""

# A browser is known for an e-mail address once it has signed in with it (`known_browsers`); any other
# browser is a stranger to that address. Nothing here depends on whether a wallet exists.
#
# 1. A known browser has an allowance of its own for the address: SIGN_IN_CODES_PER_ADDRESS codes in 15
#    minutes and 20 in a day. Strangers cannot use it up, and no limit by client address applies to it.
# 2. Strangers get codes by e-mail address and client address together: SIGN_IN_CODES_PER_ADDRESS in 15
#    minutes.
# 3. All strangers together, from whatever networks, get 20 codes for one e-mail address in any 24 hours.
#    With 5 tries each that makes at most 100 guesses.
# 4. A browser that has no code left by these rules gets a one-time link in place of the code
#    (`sign_in_links`). Nobody can guess it, so nothing has to be counted but e-mails: at most one goes to
#    an address in 15 minutes, or until its link is used. The link works in every browser that waits for
#    one, so it does not matter whose request sent it.
# 5. By client address alone, what strangers ask for and their wrong codes are limited, so that one machine
#    can neither flood many mailboxes nor guess at many codes. Offices and mobile networks share one client
#    address between many people, so these limits are high, and settings. A stranger whose client address has
#    no e-mails or tries left gets a link. Such links are counted for the client address as well, and only
#    after as many of them as there were codes is a stranger refused, except where a link was sent shortly
#    before and still works.
# 6. An e-mail that the mail server certainly does not have gives back what was taken by e-mail address and by
#    browser. What was taken by client address alone stays taken: otherwise attempts that fail would be
#    without end.

from contextlib import ExitStack
from datetime import datetime, timedelta

from django.conf import settings

from infra.limits import Limit, LimitReachedError, RollingLimit, take_all
from wallet import known_browsers

CODE_LIFETIME = timedelta(minutes=10)
TRIES = 5  # for each code
GUESSES_A_DAY = 100  # at one mailbox, by all strangers

_SHORT, _DAY = timedelta(minutes=15), timedelta(days=1)

CODES_PER_BROWSER = Limit("codes-per-browser", most=settings.SIGN_IN_CODES_PER_ADDRESS, window=_SHORT)
CODES_PER_BROWSER_AND_DAY = Limit("codes-per-browser-and-day", most=20, window=_DAY)
CODES_PER_EMAIL_AND_CLIENT = Limit(
    "codes-per-email-and-client", most=settings.SIGN_IN_CODES_PER_ADDRESS, window=_SHORT
)
# A code may be guessed at for as long as it lives, so its place in the day is free again only after that.
CODES_TO_STRANGERS = RollingLimit(
    "codes-to-strangers", most=GUESSES_A_DAY // TRIES, window=_DAY + CODE_LIFETIME
)
LINKS_PER_EMAIL = RollingLimit("links-per-email", most=1, window=_SHORT)
CODES_PER_CLIENT = Limit("codes-per-client", most=settings.SIGN_IN_EMAILS_PER_CLIENT, window=_SHORT)
LINKS_PER_CLIENT = Limit("links-per-client", most=settings.SIGN_IN_EMAILS_PER_CLIENT, window=_SHORT)
ERRANDS_PER_CLIENT = Limit("errands-per-client", most=settings.SIGN_IN_EMAILS_PER_CLIENT, window=_SHORT)
TRIES_PER_CLIENT = Limit("tries-per-client", most=settings.SIGN_IN_WRONG_CODES_PER_CLIENT, window=_SHORT)


def take_code(email: str, *, browser: str, client: str, known: bool, now: datetime, taken: ExitStack) -> bool:
    """Take what one code costs; False when there is no code left, and a link is to be sent instead.

    browser: digest of its cookie. client: the network address. known: whether the browser is known for this
    address. taken: gives everything back when it is closed, except what counts for the client address alone.
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
    """A person on their own begins to sign in; raises `limits.LimitReachedError` for a stranger."""
    try:
        ERRANDS_PER_CLIENT.take(client, now=now)
    except LimitReachedError:
        if not known_browsers.is_known(browser, email, now=now):
            raise
