"""Every limit of how often something may be done: its variable, its default, and what it means. Pure.

`infra.limits` counts. The module that uses a limit asks for it by its purpose (`Limit.from_settings`). The
table in docs/operate.md has the same rows; a test compares them. A `Limit` that allows one at a time is a
turn or a pause, no limit; it is written where it is used.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from django.core.exceptions import ImproperlyConfigured

from config import variables

MINUTE, QUARTER, HOUR, DAY = (timedelta(minutes=minutes) for minutes in (1, 15, 60, 24 * 60))
ALONE = "–"  # not counted by client address
SERVERS = "Nothing: servers of relying parties call, not people."
MOST, SLOTS = 1_000_000, 100  # the highest values; of a rolling limit, because each of its uses is a row


@dataclass(frozen=True)
class Setting:
    """How often something may be done in a `window`, for each of what `what` names.

    purposes: the limits that have this number, each counted for itself. tenfold: those that have ten times
    it. shared: what it means where thousands of people share one client address.
    """

    variable: str
    most: int
    window: timedelta
    purposes: tuple[str, ...]
    what: str
    shared: str = ALONE
    highest: int = MOST
    tenfold: tuple[str, ...] = ()

    def numbers(self) -> Iterator[tuple[str, int]]:
        """Each purpose with its number; raises ImproperlyConfigured when the variable is malformed."""
        most = variables.number(self.variable, self.most, most=self.highest)
        yield from ((purpose, most) for purpose in self.purposes)
        yield from ((purpose, 10 * most) for purpose in self.tenfold)


PEOPLE = (
    Setting(
        *("REQUESTS_PER_CLIENT", 300, QUARTER, ("requests-of-strangers", "request-objects-fetched")),
        "requests of browsers that are not signed in, for each client address; and signed requests that are "
        "fetched for it",
        "Everybody who begins without being signed in counts once. Beyond it the relying party gets "
        "`temporarily_unavailable`, until the quarter of an hour is over.",
    ),
    Setting(
        *("SIGN_IN_EMAILS_PER_CLIENT", 300, QUARTER),
        ("codes-per-client", "links-per-client", "errands-per-client"),
        "sign-in codes for new browsers, for each client address; after that as many e-mails with links; as "
        "many sign-ins that no relying party asked for; ten times as many challenges of passkeys",
        "Everybody who signs in with a new browser counts once. Beyond it they get a link in place of a "
        "code, and beyond the links “You’ve asked for too many codes”. Known browsers do not count.",
        tenfold=("passkey-challenges-per-client",),
    ),
    Setting(
        *("SIGN_IN_WRONG_CODES_PER_CLIENT", 100, QUARTER, ("tries-per-client",)),
        "wrong sign-in codes of new browsers, for each client address",
        "If one person in ten mistypes a code, it fits 1000 people in a quarter of an hour. Beyond it "
        "new browsers get a link in place of a code.",
    ),
    Setting(
        *("SIGN_IN_CODES_PER_ADDRESS", 5, QUARTER, ("codes-per-browser", "codes-per-email-and-client")),
        "sign-in codes to one e-mail address: for each client address, and for each browser that is known "
        "for it",
        "Nothing: somebody else’s e-mail address counts apart.",
    ),
    Setting(
        *("LIMIT_CODES_PER_BROWSER_AND_DAY", 20, DAY, ("codes-per-browser-and-day",)),
        "sign-in codes to one e-mail address, for each browser that is known for it",
        highest=1000,
    ),
    Setting(
        *("LIMIT_CODES_PER_ADDRESS_AND_DAY", 20, DAY + 10 * MINUTE, ("codes-to-strangers",)),
        "sign-in codes to one e-mail address, for all new browsers together. Each code has five tries, and "
        "more than 20 are refused, because strangers would get more than 100 guesses a day",
        highest=20,
    ),
    Setting(
        *("LIMIT_REPORTED_ERRORS_PER_CLIENT", 60, QUARTER, ("reported-errors",)),
        "errors that are posted to a relying party because a browser brought an invalid request, for each "
        "client address",
        "Only requests that the relying party made wrongly count. Beyond it the person sees the error, and "
        "the relying party does not.",
    ),
    Setting(
        *("LIMIT_NOTICES_PER_WALLET", 5, DAY, ("notices-of-new-browsers",)),
        "e-mails about new browsers, for each wallet",
        highest=SLOTS,
    ),
    Setting(
        *("LIMIT_DOWNLOADS_PER_WALLET", 10, HOUR, ("wallet-downloads",)),
        "downloads of everything about a holder, for each wallet",
    ),
    Setting(
        *("LIMIT_CLOSINGS_PER_WALLET", 5, DAY, ("closings-per-wallet",)),
        "requests to close the wallet, for each wallet",
    ),
    Setting(
        *("LIMIT_ADDRESS_CODES_PER_WALLET", 10, DAY, ("address-codes-per-wallet",)),
        "codes to a new e-mail address, for each wallet",
    ),
    Setting(
        *("LIMIT_ADDRESS_CHANGES_PER_WALLET", 3, DAY, ("address-changes-per-wallet",)),
        "changes of the e-mail address, for each wallet",
    ),
    Setting(
        *("LIMIT_RECOVERIES_PER_WALLET", 5, DAY, ("recoveries-per-wallet",)),
        "recoveries after a lost mailbox, for each new wallet",
    ),
    Setting(
        *("LIMIT_IDENTITY_ATTEMPTS_PER_WALLET", 10, 6 * HOUR, ("identity-attempts",)),
        "identity checks that are begun, for each wallet",
    ),
    Setting(
        *("LIMIT_IDENTITY_STARTS_PER_WALLET", 60, HOUR, ("identity-starts",)),
        "calls of the identity provider to begin or continue a check, for each wallet",
    ),
    Setting(
        *("LIMIT_IDENTITY_UPLOADS_PER_WALLET", 30, HOUR, ("identity-uploads",)),
        "uploads of pictures, for each wallet",
    ),
    Setting(
        *("LIMIT_IDENTITY_SUBMISSIONS_PER_WALLET", 5, 6 * HOUR, ("identity-submissions",)),
        "submissions of an identity check, for each wallet",
    ),
)
OPERATORS = (
    Setting(
        *("LIMIT_OPERATOR_TRIES_PER_CLIENT", 20, QUARTER, ("operator-tries-per-client",)),
        "attempts to sign in to the admin, for each client address",
        "Operators in one office share it. Known browsers do not count.",
        highest=1000,
    ),
    Setting(
        *("LIMIT_OPERATOR_TRIES_PER_ACCOUNT", 100, HOUR, ("operator-tries-per-account",)),
        "attempts of unknown browsers to sign in to the admin, for each account",
        highest=1000,
    ),
    Setting(
        *("LIMIT_SECOND_FACTOR_TRIES", 10, QUARTER, ("second-factor-tries",)),
        "codes of the authenticator app and recovery codes, for each operator",
        highest=100,
    ),
    Setting(
        *("LIMIT_SECOND_FACTOR_TRIES_PER_DAY", 50, DAY, ("second-factor-tries-per-day",)),
        "the same. Three codes of a million are right at any time, so a day of guessing succeeds once in "
        "6,000 times",
        highest=100,
    ),
    Setting(
        *("LIMIT_OPERATOR_TRIES_PER_BROWSER", 20, QUARTER, ("operator-tries-per-browser",)),
        "attempts of a known browser to sign in to the admin",
        highest=1000,
    ),
    Setting(
        *("LIMIT_LOOK_UPS_PER_OPERATOR", 60, HOUR, ("operator-look-ups",)),
        "searches for a holder or a request in the support view, for each operator",
    ),
)
RELYING_PARTIES = (
    Setting(
        *("LIMIT_TOKEN_REQUESTS_PER_CLIENT", 300, MINUTE, ("token_requests_of_address",)),
        "requests for access tokens, also refused ones, for each client address",
        SERVERS,
    ),
    Setting(
        *("LIMIT_TOKENS_PER_RELYING_PARTY", 120, MINUTE, ("token_requests_of_client",)),
        "requests for access tokens, for each relying party",
    ),
    Setting(
        *("LIMIT_REFUSED_TOKENS_PER_CLIENT", 300, MINUTE, ("refused_tokens_of_address",)),
        "requests with a refused access token, for each client address",
        SERVERS,
    ),
    Setting(
        *("LIMIT_PUSHES_PER_CLIENT", 1200, MINUTE, ("pushes_of_address",)),
        "pushed requests, for each client address",
        SERVERS,
    ),
    Setting(
        *("LIMIT_PUSHES_PER_RELYING_PARTY", 1200, MINUTE, ("pushes_of_client",)),
        "pushed requests, for each relying party",
    ),
    Setting(
        *("LIMIT_VERIFICATIONS_PER_RELYING_PARTY", 1200, MINUTE, ("verifications_of_client",)),
        "presentations to verify, for each relying party",
    ),
    Setting(
        *("LIMIT_OUTCOMES_PER_RELYING_PARTY", 1200, MINUTE, ("outcomes_of_client",)),
        "questions about the outcome of a request, for each relying party",
    ),
)
DEVELOPERS = (
    Setting(
        *("LIMIT_DEVELOPER_EMAILS_PER_BROWSER", 3, HOUR, ("developer-letters-per-browser",)),
        "sandbox only: e-mails to one developer, for each browser that is known for the address",
    ),
    Setting(
        *("LIMIT_DEVELOPER_EMAILS_PER_CLIENT", 15, HOUR, ("developer-letters-per-client",)),
        "sandbox only: e-mails to developers, for each client address",
        "Developers in one office share it. Keep it a twentieth of the limit for all, so that a few client "
        "addresses cannot use that up.",
    ),
    Setting(
        *("LIMIT_DEVELOPER_EMAILS_PER_ADDRESS_AND_CLIENT", 3, HOUR, ("developer-letters-of-client",)),
        "sandbox only: e-mails to one developer, for each client address",
        "Nothing: somebody else’s e-mail address counts apart.",
    ),
    Setting(
        *("LIMIT_DEVELOPER_EMAILS_PER_ADDRESS_AND_DAY", 20, DAY, ("developer-letters-per-email-and-day",)),
        "sandbox only: e-mails to one developer, for all new browsers together",
        highest=SLOTS,
    ),
    Setting(
        *("LIMIT_DEVELOPER_EMAILS_PER_HOUR", 300, HOUR, ("developer-letters",)),
        "sandbox only: e-mails to developers with new browsers, for all together",
    ),
    Setting(
        *("LIMIT_REGISTRATIONS_PER_DEVELOPER", 10, DAY, ("self-registrations-by-owner",)),
        "sandbox only: registrations, for each developer",
    ),
    Setting(
        *("LIMIT_REGISTRATIONS_PER_CLIENT", 20, DAY, ("self-registrations-by-client",)),
        "sandbox only: registrations, for each client address",
        "Developers in one office share it.",
    ),
    Setting(
        *("LIMIT_SECRETS_PER_DEVELOPER", 10, DAY, ("self-registration-secrets",)),
        "sandbox only: new secrets, for each developer",
    ),
    Setting(
        *("LIMIT_CHANGES_PER_DEVELOPER", 60, HOUR, ("self-registration-changes",)),
        "sandbox only: changes of registrations, for each developer",
    ),
    Setting(
        *("LIMIT_HOLDER_CALLS_PER_CLIENT", 3000, QUARTER, ("holder-calls-per-client",)),
        "sandbox only: calls of `/sandbox/holder`, for each client address",
        "Machines that run the tests of many developers share it.",
    ),
    Setting(
        *("LIMIT_PLAYGROUND_ANSWERS_PER_CLIENT", 300, QUARTER, ("playground-answers",)),
        "sandbox only: answers that the playground receives, for each client address",
        "The wallet itself posts them, so everybody who tries the playground counts.",
    ),
)
SETTINGS = PEOPLE + OPERATORS + RELYING_PARTIES + DEVELOPERS


def from_environment() -> dict[str, tuple[int, timedelta]]:
    """For each purpose how often, in which time.

    Raises ImproperlyConfigured for a number that is not allowed, and for a variable that looks like one of a
    limit and is none: it would be overlooked otherwise.
    """
    known = {setting.variable for setting in SETTINGS}
    for name in sorted(os.environ.keys() - known):
        if name.startswith("LIMIT_") and "_PER_" in name:
            raise ImproperlyConfigured(f"{name} is no limit; docs/operate.md lists them.")
    return {purpose: (most, setting.window) for setting in SETTINGS for purpose, most in setting.numbers()}
