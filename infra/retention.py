"""The personal data that each app keeps: why, for how long, and what deletes it.

Each app lists its data in a module `retention`. `manage.py clear_expired` runs through the entries,
and `manage.py reference` writes them into docs/reference.md. A test searches for columns without an entry.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib import import_module
from typing import Any

from django.apps import apps
from django.db import DatabaseError, OperationalError, connection
from django.db.models import Q, QuerySet
from django.utils.module_loading import module_has_submodule
from django.utils.translation import gettext_lazy as _

from infra import jobs
from infra.mail import outbox, queue
from infra.models import Allowance, OutgoingEmail
from infra.moments import in_words
from infra.words import Words

PAGES = 100  # that one query of `pages` finds
LOOKED_AT = 1000  # rows among which `Due` looks for one that also fits `where`
Clear = Callable[..., int]  # takes `now` and `batch`; gives the number of rows it cleared


@dataclass(frozen=True)
class ForPeople:
    """What the people whose data it is read about it: what, why, and for how long. Entries may share one.

    how_long: a function where the time depends on a setting.
    """

    what: Words
    why: Words
    how_long: Words | Callable[[], Words]

    @property
    def until(self) -> Words:
        return self.how_long() if callable(self.how_long) else self.how_long


@dataclass(frozen=True)
class Due:
    """Rows that are due because their time in the column `by` is not after `before`.

    where: as for `delete`. rows: of another model, if `by` leads to it by a relation.
    """

    rows: QuerySet[Any]
    by: str
    before: datetime
    where: Q | None = None

    def overdue(self) -> timedelta:
        """For how long the oldest of them has been due; zero if there is none.

        Reads one row, or with `where` LOOKED_AT rows, because an index finds the time but not what else must
        be true: so a row that stays is looked at no longer than that.
        """
        oldest = self.rows.order_by(self.by, "pk")
        if self.where is not None:
            first = list(oldest.values_list("pk", flat=True)[:LOOKED_AT])
            oldest = oldest.filter(self.where, pk__in=first)
        at: datetime | None = oldest.values_list(self.by, flat=True).first()
        return max(self.before - at, timedelta(0)) if at else timedelta(0)


@dataclass(frozen=True)
class Clearing:
    """A `clear`, with what it clears: `due` takes `now` and gives the rows that it would clear.

    Without `due` nobody sees when something is overdue; it is left out only where no index finds the rows.
    """

    clear: Clear
    due: Callable[[datetime], Iterable[Due]] | None = None

    def __call__(self, *, now: datetime, batch: int) -> int:
        return self.clear(now=now, batch=batch)

    def overdue(self, *, now: datetime) -> timedelta:
        """For how long the row that has waited longest has been due; zero if none waits."""
        delays = [due.overdue() for due in self.due(now)] if self.due else []
        return max(delays, default=timedelta(0))


@dataclass(frozen=True)
class Kept:
    """One kind of data: the columns of a model, and what docs/reference.md and holders read about them.

    cleared_as: the name of `clear` in metrics and messages. people: None for data about operators, relying
    parties and developers, and for data about nobody.

    Data without `clear` is deleted with the rows of another entry, emptied by the code that uses it, or kept
    for ever, as `how_long` says.
    """

    model: str
    columns: tuple[str, ...]
    what: str
    how: str
    why: str
    how_long: str
    cleared_as: str = ""
    clear: Clearing | None = None
    people: ForPeople | None = None


def entries() -> tuple[Kept, ...]:
    """The ENTRIES of all apps in the order of INSTALLED_APPS, which is also the order of clearing.

    In that order an app precedes the apps that its rows refer to, because referring rows are cleared first.
    The sandbox is last; the consents of a relying party that it deletes are cleared by the next run.
    """
    having = (app for app in apps.get_app_configs() if module_has_submodule(app.module, "retention"))
    return tuple(entry for app in having for entry in import_module(f"{app.name}.retention").ENTRIES)


def for_people() -> dict[ForPeople, str]:
    """What people read about all entries that concern them, each once, with the model of the first."""
    model_of: dict[ForPeople, str] = {}
    for entry in entries():
        if entry.people:
            model_of.setdefault(entry.people, entry.model)
    return model_of


def pages(rows: QuerySet[Any], *, by: str, batch: int) -> Iterator[QuerySet[Any]]:
    """The rows in querysets of `batch` rows each, the oldest by the column `by` first.

    One query finds many pages, and the next begins where it ended. So none passes again what was deleted
    before it, or what stays. An index on `by` must give the rows, and none may be null there; conditions that
    the index does not have belong to what is done with each page.
    """
    after, last = Q(), None
    while positions := list(rows.filter(after).order_by(by, "pk").values_list(by, "pk")[: PAGES * batch]):
        if (
            positions[-1] == last
        ):  # SQLite compares texts: a time in another form than Django's is after itself
            return
        for start in range(0, len(positions), batch):
            jobs.next_batch()
            page = positions[start : start + batch]
            # With the bounds an index on `by` leads to no more rows than the keys do, whichever is chosen.
            between = {f"{by}__gte": page[0][0], f"{by}__lte": page[-1][0]}
            yield rows.filter(**between, pk__in=[key for _, key in page])
        last = moment, key = positions[-1]
        after = Q(**{f"{by}__gte": moment}) & (Q(**{f"{by}__gt": moment}) | Q(pk__gt=key))


def delete(rows: QuerySet[Any], *, by: str, batch: int, where: Q | None = None) -> int:
    """Deletes the rows, the oldest by the column `by` first, `batch` per transaction; gives their number.

    where: what else must be true of a row, tested for each of the `pages`. Rows deleted with them because of
    a foreign key are not counted. If the database refuses to delete a row, its error is raised at the end.
    """
    deleted, label, refused = 0, rows.model._meta.label, None
    for page in pages(rows, by=by, batch=batch):
        try:
            deleted += (page.filter(where) if where else page).delete()[1].get(label, 0)
        except OperationalError:  # the database is away
            raise
        except DatabaseError as error:
            refused = error
            with suppress(type(error)):
                deleted += delete(page, by=by, batch=1, where=where) if batch > 1 else 0
    if refused:
        raise refused
    return deleted


@contextmanager
def planned_with_values() -> Iterator[None]:
    """Within the block PostgreSQL plans each statement for its values, as partial indexes need.

    A statement that is prepared may be planned for any values, and then it cannot use an index that contains
    the rows of one state only.
    """
    connection.ensure_connection()
    raw = connection.connection
    if connection.vendor != "postgresql":
        yield
        return
    before, raw.prepare_threshold = raw.prepare_threshold, None
    try:
        yield
    finally:
        raw.prepare_threshold = before


def expired(
    rows: QuerySet[Any], *, kept: timedelta = timedelta(0), by: str = "expires_at", where: Q | None = None
) -> Clearing:
    """Deletes the rows whose time in the column `by` is at least `kept` ago; where: as for `delete`."""

    def due(now: datetime) -> list[Due]:
        return [Due(rows.filter(**{f"{by}__lte": now - kept}), by, now - kept, where)]

    def clear(*, now: datetime, batch: int) -> int:
        return sum(delete(due_rows.rows, by=by, batch=batch, where=where) for due_rows in due(now))

    return Clearing(clear, due)


def overdue(*, now: datetime) -> dict[str, timedelta]:
    """For how long the oldest row that each clearing should have cleared has been due, by its name."""
    with planned_with_values():
        return {
            entry.cleared_as: entry.clear.overdue(now=now)
            for entry in entries()
            if entry.clear and entry.clear.due
        }


ENTRIES = (
    Kept(
        "infra.Allowance",
        columns=("key",),
        what="what was done how often, by whom",
        how="a keyed digest",
        why="to limit it",
        how_long="until the window ends",
        cleared_as="allowances",
        clear=expired(Allowance.objects.all()),
        people=ForPeople(
            _("How often you did something lately, such as asking for a sign-in code"),
            _("So that nobody can flood your mailbox or guess your codes. Only a checksum is stored."),
            _("A day at most; that you reported an application, a month"),
        ),
    ),
    Kept(
        "infra.OutgoingEmail",
        columns=("sealed_letter",),
        what="e-mail that is to be sent: recipient, subject and text",
        how="sealed",
        why="to send it",
        how_long=(
            f"until it was sent or is dropped; until it is too late to send it, {in_words(outbox.SENT_FOR)} "
            "at most"
        ),
        cleared_as="late e-mails",
        clear=Clearing(queue.end_expired),
        people=ForPeople(
            _("An e-mail that waits to be sent to you"),
            _("To send it, and to try again if your mail server cannot be reached"),
            _("Until it was sent, three days at most"),
        ),
    ),
    Kept(
        "infra.OutgoingEmail",
        columns=("purpose", "recipient", "reason"),
        what="e-mail: what it was about, whether and when it was sent, a digest of the address",
        how="a keyed digest, the rest in clear",
        why="to find out why an e-mail did not arrive",
        how_long=f"{in_words(outbox.KEPT)} after it was sent or given up",
        cleared_as="e-mails",
        clear=expired(OutgoingEmail.objects.filter(ended_at__isnull=False), kept=outbox.KEPT, by="ended_at"),
        people=ForPeople(
            _("Which kinds of e-mails we sent to you lately, and when; not what was in them"),
            _("So that we can help when an e-mail does not arrive. Only a checksum of your address is kept."),
            _("A week"),
        ),
    ),
    Kept(
        "infra.AuditLine",
        columns=("text", "hash", "action", "about"),
        what="audit record: what each operator did or looked at, when and why",
        how="in clear; internal IDs, and the reason that the operator typed, without e-mail addresses",
        why="to account for what operators did and saw",
        how_long="for ever",
        people=ForPeople(
            _("Which of our people looked at your data or changed your wallet, and when: internal numbers"),
            _("So that nobody looks without a trace."),
            _("For ever. Once your wallet is closed, the numbers lead to nobody."),
        ),
    ),
    Kept(
        "infra.SecondFactor",
        columns=("sealed_secret", "enrolment"),
        what="operator’s second factor",
        how="the secret sealed, the rest in clear",
        why="operators sign in with it",
        how_long="as long as the account, or until a superuser resets it",
    ),
    Kept(
        "infra.RecoveryCode",
        columns=("digest",),
        what="operator’s recovery code",
        how="a digest",
        why="to sign in once without the app",
        how_long="until it is used",
    ),
    Kept(
        "infra.OperatorPasskey",
        columns=(
            "name",
            "credential_id",
            "public_key",
            "sign_count",
            "transports",
            "backed_up",
            "last_used_at",
        ),
        what="operator’s passkey",
        how="in clear",
        why="operators sign in with it",
        how_long="until they remove it, or the second factor is reset",
    ),
)
