"""Moves sealed values to the first of KEY_SEALING_KEYS while the service runs.

A conditional update moves each value, so a value that another process changes or deletes meanwhile is left
alone. A run can be stopped at any point; the next run moves the remaining values.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import structlog

from infra.sealing import SealError, seal, unseal
from keys.sealed_columns import SealedColumn

BATCH = 200

log = structlog.get_logger(__name__)


@dataclass
class Batch:
    """The result of a batch: the number of values moved, and why the others cannot be opened."""

    moved: int = 0
    refused: list[str] = field(default_factory=list)


def reseal(column: SealedColumn, *, size: int = BATCH) -> Iterator[Batch]:
    """Moves the column's values, one batch per step. Values that cannot be opened stay as they are."""
    last = None
    while True:
        rows = column.waiting().order_by("pk")
        if last is not None:
            rows = rows.filter(pk__gt=last)
        values = list(rows.values_list("pk", column.name)[:size])
        if not values:
            return
        batch = Batch()
        for pk, sealed in values:
            _move(column, pk, bytes(sealed), batch)
        last = values[-1][0]
        log.info("resealed", column=str(column), moved=batch.moved, refused=len(batch.refused))
        yield batch


def _move(column: SealedColumn, pk: object, sealed: bytes, batch: Batch) -> None:
    context = column.context(pk)
    try:
        moved = seal(unseal(sealed, context=context), context=context)
    except SealError as error:
        batch.refused.append(str(error))
        return
    unchanged = column.model._base_manager.filter(pk=pk, **{column.name: sealed})
    batch.moved += unchanged.update(**{column.name: moved})
