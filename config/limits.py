"""Every limit of how often something may be done: its number, and what it means. Pure.

`infra.limits` counts. The module that uses a limit asks for it by its purpose (`Limit.from_settings`). The
table in docs/reference.md is written from this. It leaves out the rolling limits with `most=1`, which are
leases and pauses; their numbers are in the modules that use them.

A limit is named "what-per-whom", where a client is a client address. Some names do not say per whom, and
stay, because operators have them in LIMITS. A count is stored under the name of its limit, so a limit with a
new name counts from zero after an upgrade.
"""

from dataclasses import dataclass
from datetime import timedelta

from django.core.exceptions import ImproperlyConfigured

from config import variables

# What changes a number: a variable, which changes all of its limits in proportion; LIMITS; or nothing.
REQUESTS_PER_CLIENT, CALLS_PER_RELYING_PARTY = "REQUESTS_PER_CLIENT", "CALLS_PER_RELYING_PARTY"
LIMITS, NOTHING = "LIMITS", "nothing"
VARIABLES = {REQUESTS_PER_CLIENT: 300, CALLS_PER_RELYING_PARTY: 1200}  # with their defaults

MOST, SLOTS = 1_000_000, 100  # the highest values; of a rolling limit, because each of its uses is a row

# What a limit means where thousands of people share one client address.
NOT_COUNTED_BY_ADDRESS = "–"
COUNTED_BY_EMAIL = "Nothing: somebody else’s e-mail address counts apart."
CALLED_BY_SERVERS = "Nothing: servers of relying parties call, not people."


@dataclass(frozen=True)
class Setting:
    """How often something may be done in a `window`, for each of what `what` names.

    purpose: of the limit, and its name in LIMITS. changed_by: LIMITS, one of VARIABLES, or NOTHING. shared:
    what it means where thousands of people share one client address. also: further limits with this number,
    each counted for itself. highest: what an operator may choose at most.
    """

    purpose: str
    most: int
    window: timedelta
    changed_by: str
    what: str
    shared: str = NOT_COUNTED_BY_ADDRESS
    also: tuple[str, ...] = ()
    highest: int = MOST


SETTINGS = (
    Setting(
        "unauthenticated-requests-per-client",
        most=300,
        window=timedelta(minutes=15),
        changed_by=REQUESTS_PER_CLIENT,
        what=(
            "requests of browsers that are not signed in, for each client address; and signed requests that "
            "are fetched for it"
        ),
        shared=(
            "Everybody who begins without being signed in counts once. Beyond it a page says so, until the "
            "quarter of an hour is over; its link back brings the relying party `temporarily_unavailable`."
        ),
        also=("request-objects-per-client",),
    ),
    Setting(
        "codes-per-client",
        most=300,
        window=timedelta(minutes=15),
        changed_by=REQUESTS_PER_CLIENT,
        what=(
            "sign-in codes for new browsers, for each client address; after that as many e-mails with links; "
            "as many sign-ins that no relying party asked for"
        ),
        shared=(
            "Everybody who signs in with a new browser counts once. Beyond it they get a link in place of a "
            "code, and beyond the links “You’ve asked for too many codes”. Known browsers do not count."
        ),
        also=("links-per-client", "redirect-tasks-per-client"),
    ),
    Setting(
        "passkey-challenges-per-client",
        most=3000,
        window=timedelta(minutes=15),
        changed_by=REQUESTS_PER_CLIENT,
        what="challenges of passkeys, for each client address",
        shared="Everybody who opens the page for signing in counts.",
    ),
    Setting(
        "tries-per-client",
        most=100,
        window=timedelta(minutes=15),
        changed_by=REQUESTS_PER_CLIENT,
        what="wrong sign-in codes of new browsers, for each client address",
        shared=(
            "If one person in ten mistypes a code, it fits 1000 people in a quarter of an hour. Beyond it "
            "new browsers get a link in place of a code."
        ),
    ),
    Setting(
        "codes-per-browser",
        most=5,
        window=timedelta(minutes=15),
        changed_by=LIMITS,
        what=(
            "sign-in codes to one e-mail address: for each client address, and for each browser that is "
            "known for it"
        ),
        shared=COUNTED_BY_EMAIL,
        also=("codes-per-email-and-client",),
    ),
    Setting(
        "codes-per-browser-and-day",
        most=20,
        window=timedelta(days=1),
        changed_by=LIMITS,
        what="sign-in codes to one e-mail address, for each browser that is known for it",
        highest=1000,
    ),
    Setting(
        "codes-to-strangers",
        most=20,
        window=timedelta(days=1, minutes=10),
        changed_by=LIMITS,
        what=(
            "sign-in codes to one e-mail address, for all new browsers together. Each code has five tries, "
            "and more than 20 are refused, because strangers would get more than 100 guesses a day"
        ),
        highest=20,
    ),
    Setting(
        "reported-errors",
        most=60,
        window=timedelta(minutes=15),
        changed_by=LIMITS,
        what=(
            "errors that are posted to a relying party because a browser brought an invalid request, for "
            "each client address"
        ),
        shared=(
            "Only requests that the relying party made wrongly count. Beyond it the person sees the error, "
            "and the relying party does not."
        ),
    ),
    Setting(
        "notices-of-new-browsers",
        most=5,
        window=timedelta(days=1),
        changed_by=LIMITS,
        what="e-mails about new browsers, for each wallet",
        highest=100,
    ),
    Setting(
        "wallet-downloads",
        most=10,
        window=timedelta(hours=1),
        changed_by=LIMITS,
        what="downloads of everything about a holder, for each wallet",
    ),
    Setting(
        "closings-per-wallet",
        most=5,
        window=timedelta(days=1),
        changed_by=LIMITS,
        what="requests to close the wallet, for each wallet",
    ),
    Setting(
        "reports-per-wallet",
        most=5,
        window=timedelta(days=1),
        changed_by=LIMITS,
        what="reports about relying parties, for each wallet",
    ),
    Setting(
        "address-codes-per-wallet",
        most=10,
        window=timedelta(days=1),
        changed_by=LIMITS,
        what="codes to a new e-mail address, for each wallet",
    ),
    Setting(
        "address-changes-per-wallet",
        most=3,
        window=timedelta(days=1),
        changed_by=LIMITS,
        what="changes of the e-mail address, for each wallet",
    ),
    Setting(
        "recoveries-per-wallet",
        most=5,
        window=timedelta(days=1),
        changed_by=LIMITS,
        what="recoveries after a lost mailbox, for each new wallet",
    ),
    Setting(
        "identity-attempts",
        most=10,
        window=timedelta(hours=6),
        changed_by=LIMITS,
        what="identity checks that are begun, for each wallet",
    ),
    Setting(
        "identity-starts",
        most=60,
        window=timedelta(hours=1),
        changed_by=LIMITS,
        what="calls of the identity provider for a check, for each wallet",
    ),
    Setting(
        "identity-uploads",
        most=30,
        window=timedelta(hours=1),
        changed_by=LIMITS,
        what="uploads of pictures, for each wallet",
    ),
    Setting(
        "identity-submissions",
        most=5,
        window=timedelta(hours=6),
        changed_by=LIMITS,
        what="submissions of an identity check, for each wallet",
    ),
    Setting(
        "operator-tries-per-client",
        most=20,
        window=timedelta(minutes=15),
        changed_by=LIMITS,
        what="attempts to sign in to the admin: for each client address, and for each known browser",
        shared="Operators in one office share the first. Known browsers count apart.",
        also=("operator-tries-per-browser",),
        highest=1000,
    ),
    Setting(
        "operator-tries-per-account",
        most=100,
        window=timedelta(hours=1),
        changed_by=LIMITS,
        what="attempts of unknown browsers to sign in to the admin, for each account",
        highest=1000,
    ),
    Setting(
        "second-factor-tries",
        most=10,
        window=timedelta(minutes=15),
        changed_by=NOTHING,
        what="codes of the authenticator app and recovery codes, for each operator",
    ),
    Setting(
        "second-factor-tries-per-day",
        most=50,
        window=timedelta(days=1),
        changed_by=NOTHING,
        what=(
            "the same. Three codes of a million are right at any time, so a day of guessing succeeds once in "
            "6,000 times"
        ),
    ),
    Setting(
        "operator-look-ups",
        most=60,
        window=timedelta(hours=1),
        changed_by=LIMITS,
        what="searches in the support view, for each operator",
    ),
    Setting(
        "pushes-per-relying-party",
        most=1200,
        window=timedelta(minutes=1),
        changed_by=CALLS_PER_RELYING_PARTY,
        what=(
            "pushed requests, codes that are exchanged, presentations to verify, and questions about the "
            "outcome of a request: each for each relying party; pushed requests and codes also for each "
            "client address"
        ),
        shared=CALLED_BY_SERVERS,
        also=(
            "pushes-per-client",
            "code-exchanges-per-client",
            "code-exchanges-per-relying-party",
            "verifications-per-relying-party",
            "outcomes-per-relying-party",
        ),
    ),
    Setting(
        "token-requests-per-client",
        most=300,
        window=timedelta(minutes=1),
        changed_by=CALLS_PER_RELYING_PARTY,
        what="requests for access tokens, and requests with a refused access token, for each client address",
        shared=CALLED_BY_SERVERS,
        also=("refused-tokens-per-client",),
    ),
    Setting(
        "token-requests-per-relying-party",
        most=120,
        window=timedelta(minutes=1),
        changed_by=CALLS_PER_RELYING_PARTY,
        what="requests for access tokens, for each relying party",
    ),
    Setting(
        "developer-letters-per-browser",
        most=3,
        window=timedelta(hours=1),
        changed_by=NOTHING,
        what=(
            "sandbox only: e-mails to one developer, for each browser that is known for the address, and for "
            "each client address"
        ),
        shared=COUNTED_BY_EMAIL,
        also=("developer-letters-per-email-and-client",),
    ),
    Setting(
        "developer-letters-per-client",
        most=15,
        window=timedelta(hours=1),
        changed_by=LIMITS,
        what="sandbox only: e-mails to developers, for each client address",
        shared=(
            "Developers in one office share it. Keep it a twentieth of the limit for all, so that a few "
            "client addresses cannot use that up."
        ),
    ),
    Setting(
        "developer-letters-per-email-and-day",
        most=20,
        window=timedelta(days=1),
        changed_by=NOTHING,
        what="sandbox only: e-mails to one developer, for all new browsers together",
    ),
    Setting(
        "developer-letters",
        most=300,
        window=timedelta(hours=1),
        changed_by=LIMITS,
        what="sandbox only: e-mails to developers with new browsers, for all together",
    ),
    Setting(
        "self-registrations-per-developer",
        most=10,
        window=timedelta(days=1),
        changed_by=NOTHING,
        what="sandbox only: registrations, and new secrets, for each developer",
        also=("self-registration-secrets",),
    ),
    Setting(
        "self-registrations-per-client",
        most=20,
        window=timedelta(days=1),
        changed_by=LIMITS,
        what="sandbox only: registrations, for each client address",
        shared="Developers in one office share it.",
    ),
    Setting(
        "self-registration-changes",
        most=60,
        window=timedelta(hours=1),
        changed_by=NOTHING,
        what="sandbox only: changes of registrations, and test webhooks, for each developer",
    ),
    Setting(
        "holder-calls-per-client",
        most=3000,
        window=timedelta(minutes=15),
        changed_by=LIMITS,
        what="sandbox only: calls of `/sandbox/holder`, for each client address",
        shared="Machines that run the tests of many developers share it.",
    ),
    Setting(
        "playground-answers",
        most=300,
        window=timedelta(minutes=15),
        changed_by=LIMITS,
        what="sandbox only: answers that the playground receives, for each client address",
        shared="The wallet itself posts them, so everybody who tries the playground counts.",
    ),
)
FORMER_NAMES = {"self-registrations-by-client": "self-registrations-per-client"}  # still accepted in LIMITS
CHANGEABLE = {setting.purpose: setting for setting in SETTINGS if setting.changed_by == LIMITS}


def from_environment() -> dict[str, tuple[int, timedelta]]:
    """For each purpose how often, in which time; raises ImproperlyConfigured for what cannot be meant."""
    parts = {name: (variables.number(name, most, most=MOST), most) for name, most in VARIABLES.items()}
    by_name = _by_name()
    limits: dict[str, tuple[int, timedelta]] = {}
    for setting in SETTINGS:
        chosen, default = parts.get(setting.changed_by, (1, 1))
        most = by_name.get(setting.purpose, max(1, setting.most * chosen // default))
        limits |= dict.fromkeys((setting.purpose, *setting.also), (most, setting.window))
    return limits


def _by_name() -> dict[str, int]:
    """The numbers in LIMITS."""
    numbers: dict[str, int] = {}
    for pair in variables.listed("LIMITS"):
        name, _equals, number = (part.strip() for part in pair.partition("="))
        name = FORMER_NAMES.get(name, name)
        if name not in CHANGEABLE:
            names = ", ".join(sorted(CHANGEABLE))
            raise ImproperlyConfigured(f"LIMITS: {name[:60]!r} cannot be changed. These can: {names}.")
        if name in numbers:
            raise ImproperlyConfigured(f"LIMITS names {name} twice.")
        highest = CHANGEABLE[name].highest
        numbers[name] = variables.whole_number(f"LIMITS: {name}", number, least=1, most=highest)
    return numbers
