"""What the answers that one requester got say together about an age or a nationality. Pure.

A consent record keeps the names of claims and no value. What an answer said follows from the verified
identity and the day of the answer.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from infra.moments import years_before
from wallet.credential.birth_dates import BirthDate, earliest, latest
from wallet.credential.claims import ClaimPath, Identity, age
from wallet.credential.countries import country, country_name, members

AGE, NATIONALITY = "age_equal_or_over", "nationality_in"
ONE_DAY = timedelta(days=1)
ONE_AGE = timedelta(days=366)  # dates of birth that differ by less can be those of one age


@dataclass(frozen=True)
class SharedClaim:
    """A claim that was shared, or may be, and the day for which it was computed."""

    path: ClaimPath
    day: date


@dataclass(frozen=True, repr=False)
class Born:
    """The first and the last possible date of birth; None where no answer says one."""

    first: date | None = None
    last: date | None = None


@dataclass(frozen=True, repr=False)
class Fact:
    """Something that several answers say; `consent/adds_up.html` has a sentence for each kind.

    since: the day of the newest earlier answer that it takes, if any. years, oldest: the lowest and the
    highest possible age.
    """

    kind: str
    since: date | None
    first: date | None = None  # of the possible dates of birth
    last: date | None = None
    years: int = 0
    oldest: int = 0
    country: str = ""


def questions_of(path: ClaimPath, values: Collection[object]) -> list[ClaimPath]:
    """The claims that say as much as whether the claim at `path` has one of `values`, or is there at all.

    Whether a nationality is one of these is what `nationality_in` says of each of them.
    """
    countries = [country(value) for value in values if isinstance(value, str)]
    if path != ("nationalities",) or not countries or None in countries:
        return [path]
    return [(NATIONALITY, code) for code in countries if code]


def facts(
    identity: Identity, earlier: Collection[SharedClaim], requested: Collection[SharedClaim], *, today: date
) -> list[Fact]:
    """What `requested` adds to what `earlier` said, as far as only several answers together say it."""
    shared = {answer.path[0] for answer in (*earlier, *requested)}
    birth_facts = (
        [] if "birth_date" in shared else [*_of_birth(identity.birth_date, earlier, requested, today)]
    )
    return (
        birth_facts
        if "nationalities" in shared
        else [*birth_facts, *_of_nationality(identity, earlier, requested)]
    )


def born(birth_date: BirthDate, answers: Collection[SharedClaim]) -> Born:
    """What these answers say about the birth date of a person who was born on `birth_date`.

    A question that a partly known date does not answer was not answered, so it says nothing.
    """
    turned = [turning(answer) for answer in answers if answer.path[0] == AGE]
    return Born(
        max((day + ONE_DAY for day in turned if earliest(birth_date) > day), default=None),
        min((day for day in turned if latest(birth_date) <= day), default=None),
    )


def turning(answer: SharedClaim) -> date:
    """The last date of birth of those for whom the answer about an age is yes."""
    return last_birth(int(answer.path[1]), answer.day)


def last_birth(years: int, today: date) -> date:
    """The last date of birth of those who have reached an age on the day `today`."""
    return years_before(today, years)


def singled_out(identity: Identity, answers: Collection[SharedClaim]) -> set[str]:
    """The countries whose nationality follows from a yes for a union and what was answered with no."""
    own = set(identity.nationalities)
    groups = [members(answer.path[1]) for answer in answers if answer.path[0] == NATIONALITY]
    ruled_out = {code for group in groups if not group & own for code in group}
    left = [group - ruled_out for group in groups if group & own]
    confirmed = {code for group in groups if group & own and len(group) == 1 for code in group}
    return {code for remaining in left if len(remaining) == 1 for code in remaining} - confirmed


def _of_birth(
    birth_date: BirthDate, earlier: Collection[SharedClaim], requested: Collection[SharedClaim], today: date
) -> Iterator[Fact]:
    bounds = born(birth_date, [*earlier, *requested])
    first, last = bounds.first, bounds.last
    if first is None or last is None or bounds == born(birth_date, earlier):
        return
    ends = {first - ONE_DAY, last} - {turning(answer) for answer in requested if answer.path[0] == AGE}
    since = max(
        (answer.day for answer in earlier if answer.path[0] == AGE and turning(answer) in ends), default=None
    )
    years, oldest = age(last, today), age(first, today)
    if first == last:
        kind = "birth date"
    elif (first - ONE_DAY, last) == (last_birth(years + 1, today), last_birth(years, today)):
        kind = "age"
    elif years == oldest:
        kind = "age and birth dates"
    else:
        kind = "birth dates" if last - first < ONE_AGE else "ages"
    yield Fact(kind, since, first, last, years, oldest)


def _of_nationality(
    identity: Identity, earlier: Collection[SharedClaim], requested: Collection[SharedClaim]
) -> Iterator[Fact]:
    alone = singled_out(identity, requested)
    days = [answer.day for answer in earlier if answer.path[0] == NATIONALITY]
    for code in sorted(singled_out(identity, [*earlier, *requested]) - singled_out(identity, earlier)):
        yield Fact("nationality", None if code in alone else max(days), country=country_name(code))
