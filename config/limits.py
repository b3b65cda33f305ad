"""Every limit of how often something may be done: its number, and what it means. Pure.

`infra.limits` counts. The module that uses a limit asks for it by its purpose (`Limit.from_settings`). The
table in docs/reference.md is written from this. It leaves out the rolling limits with `most=1`, which are
leases and pauses; their numbers are in the modules that use them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from django.core.exceptions import ImproperlyConfigured

from config import variables
from infra.moments import from_words

ALONE = "–"  # not counted by client address
MOST, SLOTS = 1_000_000, 100  # the highest values; of a rolling limit, because each of its uses is a row
VARIABLES = {"REQUESTS_PER_CLIENT": 300, "CALLS_PER_RELYING_PARTY": 1200}  # with their defaults
NOTHING = "nothing"


@dataclass(frozen=True)
class Setting:
    """How often something may be done in a `window`, for each of what `what` names.

    purpose: of the limit, and its name in LIMITS. shared: what it means where thousands of people share one
    client address. also: further limits with this number, each counted for itself. changed_by: LIMITS, one of
    VARIABLES, which changes the number in proportion, or nothing.
    """

    purpose: str
    most: int
    window: timedelta
    what: str
    shared: str
    highest: int
    also: tuple[str, ...]
    changed_by: str


TABLE = """
requests-of-strangers request-objects-fetched | 300 in 15 minutes | REQUESTS_PER_CLIENT | requests of
    browsers that are not signed in, for each client address; and signed requests that are fetched for it |
    Everybody who begins without being signed in counts once. Beyond it a page says so, until the quarter of
    an hour is over; its link back brings the relying party `temporarily_unavailable`.
codes-per-client links-per-client errands-per-client | 300 in 15 minutes | REQUESTS_PER_CLIENT | sign-in
    codes for new browsers, for each client address; after that as many e-mails with links; as many sign-ins
    that no relying party asked for | Everybody who signs in with a new browser counts once. Beyond it they
    get a link in place of a code, and beyond the links “You’ve asked for too many codes”. Known browsers do
    not count.
passkey-challenges-per-client | 3000 in 15 minutes | REQUESTS_PER_CLIENT | challenges of passkeys, for each
    client address | Everybody who opens the page for signing in counts.
tries-per-client | 100 in 15 minutes | REQUESTS_PER_CLIENT | wrong sign-in codes of new browsers, for each
    client address | If one person in ten mistypes a code, it fits 1000 people in a quarter of an hour.
    Beyond it new browsers get a link in place of a code.
codes-per-browser codes-per-email-and-client | 5 in 15 minutes | LIMITS | sign-in codes to one e-mail
    address: for each client address, and for each browser that is known for it | Nothing: somebody else’s
    e-mail address counts apart.
codes-per-browser-and-day | 20 in 1 day, at most 1000 | LIMITS | sign-in codes to one e-mail address, for
    each browser that is known for it
codes-to-strangers | 20 in 1 day 10 minutes, at most 20 | LIMITS | sign-in codes to one e-mail address, for
    all new browsers together. Each code has five tries, and more than 20 are refused, because strangers
    would get more than 100 guesses a day
reported-errors | 60 in 15 minutes | LIMITS | errors that are posted to a relying party because a browser
    brought an invalid request, for each client address | Only requests that the relying party made wrongly
    count. Beyond it the person sees the error, and the relying party does not.
notices-of-new-browsers | 5 in 1 day, at most 100 | LIMITS | e-mails about new browsers, for each wallet
wallet-downloads | 10 in 1 hour | LIMITS | downloads of everything about a holder, for each wallet
closings-per-wallet | 5 in 1 day | LIMITS | requests to close the wallet, for each wallet
reports-per-wallet | 5 in 1 day | LIMITS | reports about relying parties, for each wallet
address-codes-per-wallet | 10 in 1 day | LIMITS | codes to a new e-mail address, for each wallet
address-changes-per-wallet | 3 in 1 day | LIMITS | changes of the e-mail address, for each wallet
recoveries-per-wallet | 5 in 1 day | LIMITS | recoveries after a lost mailbox, for each new wallet
identity-attempts | 10 in 6 hours | LIMITS | identity checks that are begun, for each wallet
identity-starts | 60 in 1 hour | LIMITS | calls of the identity provider for a check, for each wallet
identity-uploads | 30 in 1 hour | LIMITS | uploads of pictures, for each wallet
identity-submissions | 5 in 6 hours | LIMITS | submissions of an identity check, for each wallet
operator-tries-per-client operator-tries-per-browser | 20 in 15 minutes, at most 1000 | LIMITS | attempts to
    sign in to the admin: for each client address, and for each known browser | Operators in one office
    share the first. Known browsers count apart.
operator-tries-per-account | 100 in 1 hour, at most 1000 | LIMITS | attempts of unknown browsers to sign in
    to the admin, for each account
second-factor-tries | 10 in 15 minutes | nothing | codes of the authenticator app and recovery codes, for
    each operator
second-factor-tries-per-day | 50 in 1 day | nothing | the same. Three codes of a million are right at any
    time, so a day of guessing succeeds once in 6,000 times
operator-look-ups | 60 in 1 hour | LIMITS | searches in the support view, for each operator
pushes_of_client pushes_of_address codes_of_address codes_of_client verifications_of_client
    outcomes_of_client | 1200 in 1 minute | CALLS_PER_RELYING_PARTY | pushed requests, codes that are
    exchanged, presentations to verify, and questions about the outcome of a request: each for each relying
    party; pushed requests and codes also for each client address | Nothing: servers of relying parties
    call, not people.
token_requests_of_address refused_tokens_of_address | 300 in 1 minute | CALLS_PER_RELYING_PARTY | requests
    for access tokens, and requests with a refused access token, for each client address | Nothing: servers
    of relying parties call, not people.
token_requests_of_client | 120 in 1 minute | CALLS_PER_RELYING_PARTY | requests for access tokens, for each
    relying party
developer-letters-per-browser developer-letters-of-client | 3 in 1 hour | nothing | sandbox only: e-mails to
    one developer, for each browser that is known for the address, and for each client address | Nothing:
    somebody else’s e-mail address counts apart.
developer-letters-per-client | 15 in 1 hour | LIMITS | sandbox only: e-mails to developers, for each client
    address | Developers in one office share it. Keep it a twentieth of the limit for all, so that a few
    client addresses cannot use that up.
developer-letters-per-email-and-day | 20 in 1 day | nothing | sandbox only: e-mails to one developer, for
    all new browsers together
developer-letters | 300 in 1 hour | LIMITS | sandbox only: e-mails to developers with new browsers, for all
    together
self-registrations-by-owner self-registration-secrets | 10 in 1 day | nothing | sandbox only: registrations,
    and new secrets, for each developer
self-registrations-by-client | 20 in 1 day | LIMITS | sandbox only: registrations, for each client address |
    Developers in one office share it.
self-registration-changes | 60 in 1 hour | nothing | sandbox only: changes of registrations, and test
    webhooks, for each developer
holder-calls-per-client | 3000 in 15 minutes | LIMITS | sandbox only: calls of `/sandbox/holder`, for each
    client address | Machines that run the tests of many developers share it.
playground-answers | 300 in 15 minutes | LIMITS | sandbox only: answers that the playground receives, for
    each client address | The wallet itself posts them, so everybody who tries the playground counts.
"""
_NUMBER = re.compile(r"(\d+) in (.+?)(?:, at most (\d+))?")


def _read(table: str) -> Iterator[Setting]:
    """A setting for each line; indented lines continue it. The cells:

    purpose, and further limits | how often in which window, and the highest | changed by | what | shared
    """
    for line in re.sub(r"\n +", " ", table).strip().splitlines():
        names, number, changed_by, what, *shared = line.split(" | ")
        purpose, *also = names.split()
        found = _NUMBER.fullmatch(number)
        assert found, line
        most, window, highest = found.groups()
        yield Setting(
            purpose,
            int(most),
            from_words(window),
            what,
            "".join(shared) or ALONE,
            int(highest or MOST),
            tuple(also),
            changed_by,
        )


SETTINGS = tuple(_read(TABLE))
CHANGEABLE = {each.purpose: each for each in SETTINGS if each.changed_by == "LIMITS"}


def from_environment() -> dict[str, tuple[int, timedelta]]:
    """For each purpose how often, in which time; raises ImproperlyConfigured for what cannot be meant."""
    parts = {name: (variables.number(name, most, most=MOST), most) for name, most in VARIABLES.items()}
    by_name = _by_name()
    found: dict[str, tuple[int, timedelta]] = {}
    for each in SETTINGS:
        chosen, default = parts.get(each.changed_by, (1, 1))
        most = by_name.get(each.purpose, max(1, each.most * chosen // default))
        found |= dict.fromkeys((each.purpose, *each.also), (most, each.window))
    return found


def _by_name() -> dict[str, int]:
    """The numbers in LIMITS."""
    found: dict[str, int] = {}
    for pair in variables.listed("LIMITS"):
        name, _equals, number = (part.strip() for part in pair.partition("="))
        if name not in CHANGEABLE:
            known = ", ".join(sorted(CHANGEABLE))
            raise ImproperlyConfigured(f"LIMITS: {name[:60]!r} cannot be changed. These can: {known}.")
        if name in found:
            raise ImproperlyConfigured(f"LIMITS names {name} twice.")
        highest = CHANGEABLE[name].highest
        found[name] = variables.whole_number(f"LIMITS: {name}", number, least=1, most=highest)
    return found
