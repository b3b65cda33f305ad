"""Moving sealed values to the first of KEY_SEALING_KEYS while the service runs.

Each value is moved by a conditional update of its own: whoever rewrites or forgets it meanwhile wins, and a
run that is stopped anywhere has lost nothing. The next one goes on where values are left.
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
    """What became of a batch: values moved, and why the others do not open."""

    moved: int = 0
    refused: list[str] = field(default_factory=list)


def reseal(column: SealedColumn, *, size: int = BATCH) -> Iterator[Batch]:
    """Moves the column's values, a batch at each step; those that do not open are left and told of."""
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
