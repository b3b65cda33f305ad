"""What each app keeps about one person: what it puts into their download, and how it is erased.

Each app that keeps some has a module `personal_data` with ERASERS, and SECTIONS, COUNTS and MERGERS if it has
any. The apps above the wallet keep data about its holders too, and imports only go down, so the wallet finds
their parts here.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from importlib import import_module
from types import ModuleType
from typing import Any, Protocol, TypeVar
from uuid import UUID

from django.apps import apps
from django.db.models import Model, Q, QuerySet
from django.utils.module_loading import module_has_submodule

from infra.mail import outbox
from infra.retention import delete
from infra.words import Words

Entry = Mapping[str, Any]  # of JSON values
Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, repr=False)
class Person:
    """Whose data it is: the ID of their wallet, and their e-mail address in lower case.

    known_until: an eraser leaves what was stored for the address later, because the address may have opened
    another wallet since.
    """

    id: UUID
    address: str
    known_until: datetime

    def __repr__(self) -> str:
        return f"<Person {self.id}>"


class Entries(Protocol):
    """Reads the entries of a section, in batches, so that any number of them needs little memory."""

    def __call__(self, person: Person, *, now: datetime) -> Iterable[Entry]: ...


class Eraser(Protocol):
    """Erases, in transactions of `batch` rows; gives the number of rows. Another call goes on with the rest.

    Any number of calls may run at once, and one may be stopped at any time.
    """

    def __call__(self, person: Person, *, now: datetime, batch: int) -> int: ...


class Counter(Protocol):
    """A sentence as HTML that says how much is erased when the wallet is closed."""

    def __call__(self, person: Person) -> Words: ...


@dataclass(frozen=True)
class Section:
    """One part of the download.

    name: its member in the JSON document, which is a list of the entries. title, words: what people read in
    place of the section's name and of the names of the members. codes: by member, what people read in place
    of each code. template: shows one `entry`, where a list of labels and values is not enough.
    """

    name: str
    title: Words
    entries: Entries
    words: Mapping[str, Any] = field(default_factory=dict)
    codes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    template: str = "wallet/account/entry.html"


def sections() -> tuple[Section, ...]:
    """The sections of all apps, the lowest app first: who somebody is comes before what they did."""
    return tuple(section for module in reversed(_modules()) for section in getattr(module, "SECTIONS", ()))


def erasers() -> tuple[Eraser, ...]:
    """The erasers of all apps. An app precedes those that its rows refer to, as in `retention.entries`."""
    return tuple(eraser for module in _modules() for eraser in module.ERASERS)


def counts(person: Person) -> list[str]:
    """Sentences with numbers that tell an operator what closing the wallet erases."""
    return [str(count(person)) for module in reversed(_modules()) for count in getattr(module, "COUNTS", ())]


def merge(source: Model, into: Model) -> None:
    """Gives what all apps keep of the wallet `source` to another wallet of the same person.

    Call it in the transaction that deletes `source`.
    """
    for module in _modules():
        for merger in getattr(module, "MERGERS", ()):
            merger(source, into)


def _modules() -> list[ModuleType]:
    having = (app for app in apps.get_app_configs() if module_has_submodule(app.module, "personal_data"))
    return [import_module(f"{app.name}.personal_data") for app in having]


def in_batches(rows: QuerySet[Row], *order: str, batch: int) -> Iterator[Row]:
    """All rows of a query, `batch` at a time, in the order of two columns that together are unique.

    The second is ascending. Rows of an earlier page that are changed or deleted meanwhile do no harm.
    """
    first, second = order
    column, beyond = first.lstrip("-"), "lt" if first.startswith("-") else "gt"
    ordered = rows.order_by(first, second)
    page = list(ordered[:batch])
    while page:
        yield from page
        at, last = (getattr(page[-1], name) for name in (column, second))
        after = Q(**{f"{column}__{beyond}": at}) | Q(**{column: at, f"{second}__gt": last})
        page = list(ordered.filter(after)[:batch])


def _erase_emails(person: Person, *, now: datetime, batch: int) -> int:
    if not person.address:
        return 0
    rows = outbox.written_to(person.address, until=person.known_until)
    return delete(rows, by="created_at", batch=batch)


# Of this app itself. Limits are counted under keyed digests, and end by themselves within a day.
ERASERS: tuple[Eraser, ...] = (_erase_emails,)
