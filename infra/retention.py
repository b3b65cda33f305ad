"""What is kept of people, why, how long, and what clears it: each app lists it in a module `retention`.

`manage.py clear_expired` walks the entries. The table in docs/operate.md lists the same; a test compares
both, and looks for columns without an entry.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib import import_module
from typing import Any

from django.apps import apps
from django.db.models import QuerySet
from django.utils.module_loading import module_has_submodule

from infra.models import Allowance

Clear = Callable[..., int]  # takes `now` and `batch`; returns how many rows it cleared


@dataclass(frozen=True)
class Kept:
    """One kind of data.

    Without `clear` the data stays as long as `how_long` says: it is deleted with the rows of another entry,
    emptied by the code that uses it, or stays for ever.
    """

    model: str
    columns: tuple[str, ...]
    what: str
    how: str
    why: str
    how_long: str
    cleared_as: str = ""
    clear: Clear | None = None


def entries() -> tuple[Kept, ...]:
    """The ENTRIES of every app's module `retention`, in the order of INSTALLED_APPS and so of clearing.

    An app stands there before those that it refers to, because rows that refer to others are cleared first.
    The sandbox is the last: questions of a relying party that it deletes wait for the next run.
    """
    having = (app for app in apps.get_app_configs() if module_has_submodule(app.module, "retention"))
    return tuple(entry for app in having for entry in import_module(f"{app.name}.retention").ENTRIES)


def table(
    text: str,
    *,
    periods: Mapping[str, timedelta | str] | None = None,
    clear: Mapping[str, Clear] | None = None,
) -> tuple[Kept, ...]:
    """The entries of an app. Each begins in the first column of the text and has the cells

        model: columns | what | how | why | how long | name in `clear`, if something clears it

    `{name}` in "how long" stands for the period of that name: a duration, or the name of a setting.
    """
    words = {name: _words(period) for name, period in (periods or {}).items()}
    unused, found = dict(clear or {}), []
    for line in re.sub(r"\s*\n\s+", " ", text).strip().splitlines():
        place, what, how, why, how_long, *named = re.split(r"\s*\|\s*", line)
        model, columns = place.split(": ")
        does = unused.pop(named[0]) if named else None
        cells = (what, how, why, how_long.format(**words))
        found.append(Kept(model, tuple(columns.split()), *cells, "".join(named), does))
    if unused:
        raise ValueError(f"No entry names {sorted(unused)}.")
    return tuple(found)


def delete(rows: QuerySet[Any], *, by: str, batch: int) -> int:
    """Delete the rows, the oldest first by the column `by`, `batch` per transaction; returns their number.

    Rows that go along by a foreign key are not counted.
    """
    deleted, label = 0, rows.model._meta.label
    while found := list(rows.order_by(by).values_list("pk", flat=True)[:batch]):
        deleted += rows.filter(pk__in=found).delete()[1].get(label, 0)
    return deleted


def expired(rows: QuerySet[Any], *, kept: timedelta = timedelta(0)) -> Clear:
    """A `clear` that deletes rows whose `expires_at` passed `kept` ago or earlier."""

    def clear(*, now: datetime, batch: int) -> int:
        return delete(rows.filter(expires_at__lte=now - kept), by="expires_at", batch=batch)

    return clear


def _words(period: timedelta | str) -> str:
    if isinstance(period, str):
        return f"`{period}`"
    for unit in ("day", "hour", "minute"):
        count, rest = divmod(period, timedelta(**{f"{unit}s": 1}))
        if not rest:
            return f"{count} {unit}" if count == 1 else f"{count} {unit}s"
    raise ValueError(period)


ENTRIES = table(
    """
infra.Allowance: key | what was done how often, by whom | a keyed digest | to limit it | until the window
    ends | allowances
""",
    clear={"allowances": expired(Allowance.objects.all())},
)
