"""The personas and outcomes of the simulated identity check. They are fictitious. Pure.

Birth dates are fixed, except for personas of a certain age, whose birth date depends on the day.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from hashlib import sha256

from django.utils.translation import gettext_lazy as _

from infra.words import Words
from wallet.credential.birth_dates import PartialDate
from wallet.credential.claims import Identity
from wallet.credential.details import of_evidence, read
from wallet.credential.evidence import Assurance, Evidence
from wallet.providers.findings import (
    Failed,
    Finding,
    NeedsReview,
    NotHere,
    Pending,
    Refused,
    SubmitAgain,
    Verified,
)

SLOW = timedelta(seconds=90)
EARLY = timedelta(seconds=10)  # the person is back before the result is there


@dataclass(frozen=True)
class Submission:
    """What an outcome may depend on: day and time, how many submissions there were, how long ago the last."""

    today: date
    now: datetime
    count: int
    age: timedelta
    assurance: Assurance


@dataclass(frozen=True)
class Outcome:
    """One choice on the page: its words, and what the provider will find.

    calls_back: the provider's machine calls this service before the browser goes back.
    """

    label: Words
    description: Words
    finding: Callable[[Submission], Finding]
    calls_back: bool = False


def adult() -> Identity:
    """The identity of an ordinary adult, whose provider also verified where she lives and was born."""
    lives = {
        "street_address": "1 Example Street",
        "locality": "London",
        "postal_code": "N1 1AA",
        "country": "GB",
    }
    born = {"locality": "Leeds", "country": "GB"}
    details = read({"address": lives, "place_of_birth": born})
    return Identity("Alice", "Example", date(1990, 4, 12), ("GB",), details=details)


def years_before(day: date, years: int) -> date:
    """The birth date of a person who turns `years` on `day`; 1 March if the year has no such day."""
    try:
        return day.replace(year=day.year - years)
    except ValueError:
        return date(day.year - years, 3, 1)


def verified(identity: Identity, submission: Submission) -> Verified:
    """The identity, with the evidence of a simulated check."""
    evidence = Evidence(
        method="simulated",
        assurance=submission.assurance,
        verified_by="Sandbox",
        verified_at=submission.now,
        document_kind="passport",
        issuing_country=identity.nationalities[0] if identity.nationalities else "",
        document_number=_subject(identity)[-8:].upper(),
        document_expires_on=date(submission.today.year + 5, 12, 31),
        subject=_subject(identity),
    )
    details = {**identity.details, **of_evidence(evidence)}
    return Verified(replace(identity, details=details), evidence)


def _subject(identity: Identity) -> str:
    """The subject by which a real provider would recognise this person; each persona has its own."""
    text = f"{identity.given_name}\n{identity.family_name}\n{identity.birth_date.isoformat()}"
    return f"sandbox:{sha256(text.encode()).hexdigest()}"


def _verified(identity: Identity) -> Callable[[Submission], Finding]:
    return lambda submission: verified(identity, submission)


OUTCOMES: dict[str, Outcome] = {
    "adult": Outcome(_("Approved"), _("Alice Example, an adult"), _verified(adult())),
    "under-18": Outcome(
        _("Approved, under 18"),
        _("Milo Young, sixteen years old"),
        lambda s: verified(
            Identity("Milo", "Young", years_before(s.today - timedelta(days=90), 16), ("IE",)), s
        ),
    ),
    "turns-18-tomorrow": Outcome(
        _("Approved, turns 18 tomorrow"),
        _("Noor Almost: not yet 18 today"),
        lambda s: verified(
            Identity("Noor", "Almost", years_before(s.today + timedelta(days=1), 18), ("NL",)), s
        ),
    ),
    "non-latin": Outcome(
        _("Approved, name in another script"),
        _("美咲 佐々木, in Japanese"),
        _verified(Identity("美咲", "佐々木", date(1987, 11, 3), ("JP",))),
    ),
    "one-word": Outcome(
        _("Approved, a single name"),
        _("Sukarni, without a family name"),
        _verified(Identity("Sukarni", "", date(1975, 6, 30), ("ID",))),
    ),
    "year-of-birth": Outcome(
        _("Approved, only the year of birth is known"),
        _("Amina Yusuf, born in 1990"),
        _verified(Identity("Amina", "Yusuf", PartialDate(1990), ("SO",))),
    ),
    "long-name": Outcome(
        _("Approved, a very long name"),
        _("A family name of sixty characters"),
        _verified(
            Identity(
                "Maximiliane",
                "Wolfeschlegelsteinhausenbergerdorff-Oberhuber von Altenstein",
                date(1968, 2, 29),
                ("DE", "AT"),
            )
        ),
    ),
    "resubmit": Outcome(
        _("Try again, then approved"),
        _("The first picture is blurred; the next one will do"),
        lambda s: SubmitAgain("blurry") if s.count < 2 else verified(adult(), s),
    ),
    "review": Outcome(
        _("Goes to review"),
        _("An operator decides in the admin"),
        lambda s: NeedsReview("unsure", adult(), verified(adult(), s).evidence),
    ),
    "declined": Outcome(_("Declined"), _("No new try for six hours"), lambda s: Refused("not_verified")),
    "error": Outcome(
        _("Provider error"), _("The provider fails; the try is not charged"), lambda s: Failed()
    ),
    "slow": Outcome(
        _("Slow"),
        _("Approved after a minute and a half"),
        lambda s: Pending(submitted=True) if s.age < SLOW else verified(adult(), s),
    ),
    "early": Outcome(
        _("Back before the result"),
        _("The provider knows nothing yet when you are back, and approves ten seconds later"),
        lambda s: Pending() if s.age < EARLY else verified(adult(), s),
    ),
    "result-first": Outcome(
        _("Result before the return"),
        _("The provider calls with the result while you are still on its page"),
        _verified(adult()),
        calls_back=True,
    ),
    "never": Outcome(
        _("Never"), _("The provider never comes to a result, and never calls"), lambda s: Pending()
    ),
    "elsewhere": Outcome(
        _("Not for you"),
        _("You do not agree to how the check works; the try is not charged"),
        lambda s: NotHere("consent_declined"),
    ),
}
