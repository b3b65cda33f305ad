"""How the SQL of a queryset is composed with places for values, and how the places are filled."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import orjson
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import BooleanField, CharField, DateTimeField, JSONField, TextField, UUIDField
from django.db.models.expressions import Expression, Func, Subquery
from psycopg.types.json import Jsonb

Value = Callable[[str], Any]  # a placeholder for the value of this name in a queryset


# Of these fields psycopg takes the values as they are; Django's way to the same values takes ten calls.
_AS_THEY_ARE = (BooleanField, CharField, DateTimeField, TextField, UUIDField)


def writer(field: Any) -> Callable[[Any], Any] | None:
    """How a value of this field is written, as by `get_db_prep_save`; None if values stay as they are.

    The function takes no None: that is NULL for every field.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    kind = type(field.target_field if field.many_to_one or field.one_to_one else field)
    if connection.vendor == "postgresql" and kind in _AS_THEY_ARE:
        return None
    if connection.vendor == "postgresql" and kind is JSONField and field.encoder is None:
        return partial(Jsonb, dumps=orjson.dumps)
    return lambda value: field.get_db_prep_save(value, connections[DEFAULT_DB_ALIAS])


class Place(Expression):
    """The place of a value. `column` is the field that the value is compared with or written to."""

    def __init__(self, name: str, column: Any = None) -> None:
        super().__init__()
        self.name, self.column = name, column
        self.writes = column is not None

    def as_sql(self, compiler: Any, connection: Any, **_: Any) -> tuple[str, Any]:
        return "%s", [self]

    @cached_property
    def _write(self) -> Callable[[Any], Any] | None:
        return writer(self.column)  # which is known only when the query is composed

    def adapted(self, value: Any) -> Any:
        """The value as the database takes it; raises ValueError for None in a comparison."""
        if value is None and not self.writes:
            raise ValueError(f"{self.name}: nothing equals None in SQL")
        return self._write(value) if self._write and value is not None else value


class Literal(Expression):
    """A constant that is written into the SQL. A partial index serves no condition that is a parameter."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def as_sql(self, compiler: Any, connection: Any, **_: Any) -> tuple[str, Any]:
        return "'{}'".format(self.text.replace("'", "''")), []


class WithoutIndex(Func):
    """A condition for which no index is used, because one that the others allow is always better.

    Without statistics, as in a new or restored database, PostgreSQL may choose the worse index for good.
    """

    template = "(%(expressions)s) IS TRUE"
    output_field = BooleanField()


class PlainPlace(Place):
    """The place of a value in SQL that is written out: the database takes it as it is."""

    def adapted(self, value: Any) -> Any:
        """The value."""
        return value


class Parameters:
    """The parameters of a composed statement: constants, and places for values."""

    def __init__(self, parameters: Sequence[Any]) -> None:
        self.sequence = tuple(parameters)
        self.names = {place.name for place in parameters if isinstance(place, Place)}

    def filled(self, values: Mapping[str, Any]) -> list[Any]:
        """The parameters with these values; raises TypeError for missing or additional ones."""
        if values.keys() != self.names:
            raise TypeError(f"takes exactly {sorted(self.names)}, not {sorted(values)}")
        return [
            parameter.adapted(values[parameter.name]) if isinstance(parameter, Place) else parameter
            for parameter in self.sequence
        ]


def preparable(rows: Any) -> Any:
    """The queryset; raises NotImplementedError if it needs more than its one statement."""
    if rows._prefetch_related_lookups or rows._known_related_objects:
        raise NotImplementedError("a prepared statement neither prefetches nor starts from an instance")
    if rows.query.select_for_update:
        raise NotImplementedError("a prepared statement takes no locks; use a conditional update instead")
    return rows


def bind_places_to_columns(query: Any) -> None:
    """Sets the `column` of every place to the field that it is compared with."""
    for comparison in _comparisons(query):
        if isinstance(comparison.rhs, Place):
            comparison.rhs.column = comparison.lhs.output_field


def _comparisons(query: Any) -> Iterator[Any]:
    for leaf in query.where.leaves():
        if isinstance(getattr(leaf, "lhs", None), WithoutIndex):  # Django compares conditions with True
            (leaf,) = leaf.lhs.get_source_expressions()
        if hasattr(leaf, "rhs"):
            yield leaf
            if isinstance(leaf.rhs, Subquery):
                yield from _comparisons(leaf.rhs.query)
    for annotation in query.annotations.values():
        if isinstance(annotation, Subquery):
            yield from _comparisons(annotation.query)
