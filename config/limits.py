"""Every limit of how often something may be done: its number, and what it means. Pure.

`infra.limits` counts. The module that uses a limit asks for it by its purpose (`Limit.from_settings`). The
table in docs/reference.md is written from this. It leaves out the rolling limits with `most=1`, which are
leases and pauses; their numbers are in the modules that use them.
"""

from dataclasses import dataclass
from datetime import timedelta

from django.core.exceptions import ImproperlyConfigured

from config import variables

MINUTE, QUARTER, HOUR, DAY = (timedelta(minutes=minutes) for minutes in (1, 15, 60, 24 * 60))
ALONE = "–"  # not counted by client address
SERVERS = "Nothing: servers of relying parties call, not people."
MOST, SLOTS = 1_000_000, 100  # the highest values; of a rolling limit, because each of its uses is a row
PER_CLIENT, PER_RELYING_PARTY = "REQUESTS_PER_CLIENT", "CALLS_PER_RELYING_PARTY"
VARIABLES = {PER_CLIENT: 300, PER_RELYING_PARTY: 1200}  # with their defaults
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
    shared: str = ALONE
    highest: int = MOST
    also: tuple[str, ...] = ()
    changed_by: str = "LIMITS"


PEOPLE = (
    Setting(
        *("requests-of-strangers", 300, QUARTER),
        "requests of browsers that are not signed in, for each client address; and signed requests that are "
        "fetched for it",
        "Everybody who begins without being signed in counts once. Beyond it the relying party gets "
        "`temporarily_unavailable`, until the quarter of an hour is over.",
        changed_by=PER_CLIENT,
        also=("request-objects-fetched",),
    ),
    Setting(
        *("codes-per-client", 300, QUARTER),
        "sign-in codes for new browsers, for each client address; after that as many e-mails with links; as "
        "many sign-ins that no relying party asked for",
        "Everybody who signs in with a new browser counts once. Beyond it they get a link in place of a "
        "code, and beyond the links “You’ve asked for too many codes”. Known browsers do not count.",
        changed_by=PER_CLIENT,
        also=("links-per-client", "errands-per-client"),
    ),
    Setting(
        *("passkey-challenges-per-client", 3000, QUARTER),
        "challenges of passkeys, for each client address",
        "Everybody who opens the page for signing in counts.",
        changed_by=PER_CLIENT,
    ),
    Setting(
        *("tries-per-client", 100, QUARTER),
        "wrong sign-in codes of new browsers, for each client address",
        "If one person in ten mistypes a code, it fits 1000 people in a quarter of an hour. Beyond it "
        "new browsers get a link in place of a code.",
        changed_by=PER_CLIENT,
    ),
    Setting(
        *("codes-per-browser", 5, QUARTER),
        "sign-in codes to one e-mail address: for each client address, and for each browser that is known "
        "for it",
        "Nothing: somebody else’s e-mail address counts apart.",
        also=("codes-per-email-and-client",),
    ),
    Setting(
        *("codes-per-browser-and-day", 20, DAY),
        "sign-in codes to one e-mail address, for each browser that is known for it",
        highest=1000,
    ),
    Setting(
        *("codes-to-strangers", 20, DAY + 10 * MINUTE),
        "sign-in codes to one e-mail address, for all new browsers together. Each code has five tries, and "
        "more than 20 are refused, because strangers would get more than 100 guesses a day",
        highest=20,
    ),
    Setting(
        *("reported-errors", 60, QUARTER),
        "errors that are posted to a relying party because a browser brought an invalid request, for each "
        "client address",
        "Only requests that the relying party made wrongly count. Beyond it the person sees the error, and "
        "the relying party does not.",
    ),
    Setting("notices-of-new-browsers", 5, DAY, "e-mails about new browsers, for each wallet", highest=SLOTS),
    Setting("wallet-downloads", 10, HOUR, "downloads of everything about a holder, for each wallet"),
    Setting("closings-per-wallet", 5, DAY, "requests to close the wallet, for each wallet"),
    Setting("reports-per-wallet", 5, DAY, "reports about relying parties, for each wallet"),
    Setting("address-codes-per-wallet", 10, DAY, "codes to a new e-mail address, for each wallet"),
    Setting("address-changes-per-wallet", 3, DAY, "changes of the e-mail address, for each wallet"),
    Setting("recoveries-per-wallet", 5, DAY, "recoveries after a lost mailbox, for each new wallet"),
    Setting("identity-attempts", 10, 6 * HOUR, "identity checks that are begun, for each wallet"),
    Setting("identity-starts", 60, HOUR, "calls of the identity provider for a check, for each wallet"),
    Setting("identity-uploads", 30, HOUR, "uploads of pictures, for each wallet"),
    Setting("identity-submissions", 5, 6 * HOUR, "submissions of an identity check, for each wallet"),
)
OPERATORS = (
    Setting(
        *("operator-tries-per-client", 20, QUARTER),
        "attempts to sign in to the admin: for each client address, and for each known browser",
        "Operators in one office share the first. Known browsers count apart.",
        highest=1000,
        also=("operator-tries-per-browser",),
    ),
    Setting(
        *("operator-tries-per-account", 100, HOUR),
        "attempts of unknown browsers to sign in to the admin, for each account",
        highest=1000,
    ),
    Setting(
        *("second-factor-tries", 10, QUARTER),
        "codes of the authenticator app and recovery codes, for each operator",
        changed_by=NOTHING,
    ),
    Setting(
        *("second-factor-tries-per-day", 50, DAY),
        "the same. Three codes of a million are right at any time, so a day of guessing succeeds once in "
        "6,000 times",
        changed_by=NOTHING,
    ),
    Setting("operator-look-ups", 60, HOUR, "searches in the support view, for each operator"),
)
RELYING_PARTIES = (
    Setting(
        *("pushes_of_client", 1200, MINUTE),
        "pushed requests, codes that are exchanged, presentations to verify, and questions about the outcome "
        "of a request: each for each relying party; pushed requests and codes also for each client address",
        SERVERS,
        also=(
            *("pushes_of_address", "codes_of_address", "codes_of_client"),
            *("verifications_of_client", "outcomes_of_client"),
        ),
        changed_by=PER_RELYING_PARTY,
    ),
    Setting(
        *("token_requests_of_address", 300, MINUTE),
        "requests for access tokens, and requests with a refused access token, for each client address",
        SERVERS,
        also=("refused_tokens_of_address",),
        changed_by=PER_RELYING_PARTY,
    ),
    Setting(
        *("token_requests_of_client", 120, MINUTE),
        "requests for access tokens, for each relying party",
        changed_by=PER_RELYING_PARTY,
    ),
)
DEVELOPERS = (
    Setting(
        *("developer-letters-per-browser", 3, HOUR),
        "sandbox only: e-mails to one developer, for each browser that is known for the address, and for "
        "each client address",
        "Nothing: somebody else’s e-mail address counts apart.",
        also=("developer-letters-of-client",),
        changed_by=NOTHING,
    ),
    Setting(
        *("developer-letters-per-client", 15, HOUR),
        "sandbox only: e-mails to developers, for each client address",
        "Developers in one office share it. Keep it a twentieth of the limit for all, so that a few client "
        "addresses cannot use that up.",
    ),
    Setting(
        *("developer-letters-per-email-and-day", 20, DAY),
        "sandbox only: e-mails to one developer, for all new browsers together",
        changed_by=NOTHING,
    ),
    Setting(
        *("developer-letters", 300, HOUR),
        "sandbox only: e-mails to developers with new browsers, for all together",
    ),
    Setting(
        *("self-registrations-by-owner", 10, DAY),
        "sandbox only: registrations, and new secrets, for each developer",
        also=("self-registration-secrets",),
        changed_by=NOTHING,
    ),
    Setting(
        *("self-registrations-by-client", 20, DAY),
        "sandbox only: registrations, for each client address",
        "Developers in one office share it.",
    ),
    Setting(
        *("self-registration-changes", 60, HOUR),
        "sandbox only: changes of registrations, for each developer",
        changed_by=NOTHING,
    ),
    Setting(
        *("holder-calls-per-client", 3000, QUARTER),
        "sandbox only: calls of `/sandbox/holder`, for each client address",
        "Machines that run the tests of many developers share it.",
    ),
    Setting(
        *("playground-answers", 300, QUARTER),
        "sandbox only: answers that the playground receives, for each client address",
        "The wallet itself posts them, so everybody who tries the playground counts.",
    ),
)
SETTINGS = PEOPLE + OPERATORS + RELYING_PARTIES + DEVELOPERS
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
