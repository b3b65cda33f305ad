"""Counts in the database that only grow, of what processes without `/metrics` do, such as the worker."""

from collections.abc import Iterable

from django.db.models import F

from infra.models import Total


def add(name: str, count: int = 1) -> None:
    """It happened so many times more. name: one of a fixed list."""
    if not count:
        return
    row, is_new = Total.objects.get_or_create(name=name, defaults={"count": count})
    if not is_new:
        Total.objects.filter(pk=row.pk).update(count=F("count") + count)


def of(names: Iterable[str]) -> dict[str, int]:
    """How often each happened since the database was made; 0 for what never did."""
    wanted = list(names)
    known = dict(Total.objects.filter(name__in=wanted).values_list("name", "count"))
    return {name: known.get(name, 0) for name in wanted}
