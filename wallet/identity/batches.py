"""Processes the rows of a query in batches; a row that fails does not stop the others."""

from collections.abc import Callable, Iterator
from typing import TypeVar

from django.db.models import Model, QuerySet

from infra import jobs, runs

Row = TypeVar("Row", bound=Model)
Result = TypeVar("Result")


def process(
    rows: QuerySet[Row], batch: int, work: Callable[[Row], Result], *, failure: str
) -> Iterator[Result]:
    """Yields what `work` returns for each row. Reads a batch at a time, and each row once.

    A row for which it raises is logged as `failure` and left out.
    """
    page = list(rows.order_by("pk")[:batch])
    while page:
        for row in page:
            jobs.next_batch()
            with runs.isolated(failure, row=f"{row._meta.label_lower}:{row.pk}"):
                yield work(row)
        page = list(rows.filter(pk__gt=page[-1].pk).order_by("pk")[:batch])
