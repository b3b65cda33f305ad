"""Going through the rows of a query in batches, however many there are."""

from collections.abc import Iterator
from typing import TypeVar

from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound=Model)


def each(rows: QuerySet[Row], batch: int) -> Iterator[Row]:
    """All rows, a batch at a time, each once even if it does not change."""
    page = list(rows.order_by("pk")[:batch])
    while page:
        yield from page
        page = list(rows.filter(pk__gt=page[-1].pk).order_by("pk")[:batch])
