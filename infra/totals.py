"""Counts in the database that only grow, of what processes without `/metrics` do, such as the worker."""

from collections.abc import Iterable

from django.db import connection

from infra.models import Total

# One statement, whether or not it is the first time. Django's ORM cannot express it.
_ADD = """
    INSERT INTO infra_total (name, count) VALUES (%s, %s)
    ON CONFLICT (name) DO UPDATE SET count = infra_total.count + excluded.count
"""


def add(name: str, count: int = 1) -> None:
    """It happened so many times more. name: one of a fixed list."""
    if count:
        with connection.cursor() as cursor:
            cursor.execute(_ADD, [name, count])


def of(names: Iterable[str]) -> dict[str, int]:
    """How often each happened since the database was made; 0 for what never did."""
    wanted = list(names)
    counts = dict(Total.objects.filter(name__in=wanted).values_list("name", "count"))
    return {name: counts.get(name, 0) for name in wanted}
