"""Moves sealed values to the first of KEY_SEALING_KEYS while the service runs.

A conditional update moves each value, so a value that another process changes or deletes meanwhile is left
alone. A run can be stopped at any point; the next run moves the remaining values.
"""

from collections.abc import Iterator

import structlog

from infra.retention import pages
from infra.sealing import SealError, seal, unseal
from keys.sealed_columns import SealedColumn

BATCH = 200

log = structlog.get_logger(__name__)


def reseal(column: SealedColumn, *, size: int = BATCH) -> Iterator[tuple[int, list[str]]]:
    """Moves the column's values, one batch per step: how many, and why others cannot be opened and stay."""
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
