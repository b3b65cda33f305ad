"""All columns with sealed values, of all apps. Each model names its own in `SEALED`:

    SEALED = {"sealed_identity": "wallet_credential.sealed_identity:{pk}"}    # column → its associated data

They are found through Django's registry of models, because this app must not import the apps above it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import structlog
from django.apps import apps
from django.db.models import BinaryField, Count, Model, QuerySet
from django.db.models.functions import Substr

from infra.retention import pages
from infra.sealing import MARK, SealError, marks, seal, unseal


@dataclass(frozen=True)
class SealedColumn:
    """A column, and the pattern of the associated data that its values are bound to."""

    model: type[Model]
    name: str
    pattern: str

    def __str__(self) -> str:
        return f"{self.model._meta.db_table}.{self.name}"

    def context(self, pk: Any) -> str:
        """The associated data of the value in the row `pk`."""
        return self.pattern.format(pk=pk)

    def rows(self) -> QuerySet[Model]:
        """The rows with a value in this column; the annotation `mark` identifies the sealing key."""
        under = Substr(self.name, 1, MARK, output_field=BinaryField())
        held = self.model._base_manager.filter(**{f"{self.name}__isnull": False}).exclude(**{self.name: b""})
        rows: QuerySet[Model] = held.annotate(mark=under)
        return rows

    def waiting(self) -> QuerySet[Model]:
        """The rows whose value is not sealed under the first of KEY_SEALING_KEYS."""
        return self.rows().exclude(mark=marks()[0])

    def lost(self) -> dict[str, int]:
        """The number of values sealed under each key that is not among KEY_SEALING_KEYS, by the key's id."""
        lost = self.rows().exclude(mark__in=marks())
        counted = lost.order_by().values_list("mark").annotate(Count("pk"))
        return {bytes(mark)[1:].hex(): count for mark, count in counted}

    def forget(self, key_id: str) -> int:
        """Empties the values sealed under a key that is not among KEY_SEALING_KEYS; gives their number."""
        lost = self.rows().exclude(mark__in=marks()).filter(mark=marks()[0][:1] + bytes.fromhex(key_id))
        return lost.update(**{self.name: b""})


def sealed_columns() -> Iterator[SealedColumn]:
    """All sealed columns, in a stable order."""
    for model in sorted(apps.get_models(), key=lambda model: model._meta.label):
        for name, pattern in sorted(getattr(model, "SEALED", {}).items()):
            yield SealedColumn(model, name, pattern)


BATCH = 200

log = structlog.get_logger(__name__)


def reseal(column: SealedColumn, *, size: int = BATCH) -> Iterator[tuple[int, list[str]]]:
    """Moves the column's values, one batch per step: how many, and why others cannot be opened and stay.

    A conditional update moves each value, so a value that another process changes or deletes meanwhile is
    left alone. A run can be stopped at any point; the next run moves the remaining values.
    """
    for page in pages(column.waiting(), by="pk", batch=size):
        moved, refused = 0, []
        for pk, sealed in page.values_list("pk", column.name):
            try:
                moved += _move(column, pk, bytes(sealed))
            except SealError as error:
                refused.append(str(error))
        log.info("resealed", column=str(column), moved=moved, refused=len(refused))
        yield moved, refused


def _move(column: SealedColumn, pk: object, sealed: bytes) -> int:
    context = column.context(pk)
    unchanged = column.model._base_manager.filter(pk=pk, **{column.name: sealed})
    return unchanged.update(**{column.name: seal(unseal(sealed, context=context), context=context)})
