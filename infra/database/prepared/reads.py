"""Prepared reads, alone or several in one statement."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, TypeVar, Union

import orjson
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import JSONField, Model, QuerySet
from django.db.models.base import ModelState

from infra.database.kept_connections import kept_cursor
from infra.database.prepared.composition import (
    Parameters,
    Place,
    PlainPlace,
    Value,
    bind_places_to_columns,
    preparable,
)

Row = TypeVar("Row")
# SQL with `%s` for its `parameters`, the number of its columns (`width`), and how it converts a row (`make`).
Composed = Union["_ComposedQueryset", "SqlRead"]


class PreparedRead(Generic[Row]):
    """A queryset that is read many times with different values.

    `rows` makes the queryset, with `value("name")` in the place of each value that differs:

        wallets = PreparedRead(lambda value: Wallet.objects.filter(email=value("email")))
        wallets.first(email="alice@example.org")
    """

    def __init__(self, rows: Callable[[Value], QuerySet[Any, Row]]) -> None:
        self._rows = rows

    def all(self, **values: Any) -> list[Row]:
        """The rows, in one statement. Takes exactly the values that the queryset names.

        Raises TypeError for missing or additional values, ValueError for None.
        """
        composed = self.composed
        return [composed.make(row) for row in _read(composed, values)]

    def first(self, **values: Any) -> Row | None:
        """The first row of `all`, or None. Slice a queryset that may have many rows with `[:1]`."""
        found = self.all(**values)
        return found[0] if found else None

    @cached_property
    def composed(self) -> "_ComposedQueryset":
        """The statement. In a `JoinedRead` its first column must never be NULL."""
        return _ComposedQueryset(self._rows(Place))


class SqlRead:
    """A read that no queryset can express, as a part of a `JoinedRead`: one row at most, as a tuple.

    sql: gives the statement for a vendor of databases, with `%s` for each of `names`. width: the number of
    its columns.
    """

    def __init__(self, sql: Callable[[str], str], *names: str, width: int) -> None:
        self._sql, self._names, self.width = sql, names, width

    @property
    def composed(self) -> "SqlRead":
        """As `PreparedRead.composed`."""
        return self

    @property
    def sql(self) -> str:
        """The statement for the database in use."""
        return self._sql(connections[DEFAULT_DB_ALIAS].vendor)

    @property
    def parameters(self) -> Parameters:
        """Places for the named values."""
        return Parameters([PlainPlace(name) for name in self._names])

    def make(self, row: Sequence[Any]) -> Any:
        """The row."""
        return tuple(row)


Joinable = PreparedRead[Any] | SqlRead


class JoinedRead:
    """Several reads in one statement, each of at most one row.

        session_and_question = JoinedRead(by_digest, by_id)
        session, question = session_and_question.first(digest=digest, id=id)

    Values of the same name are the same value. A queryset of `values_list` must begin with a column that is
    never NULL, because a NULL there means that the read found no row.
    """

    def __init__(self, *reads: Joinable) -> None:
        self._reads = reads

    def first(self, **values: Any) -> tuple[Any, ...]:
        """What each read gives, or None; takes exactly the values that they name, as `PreparedRead.all`."""
        (row,) = _read(self._joined, values)
        return self._joined.make(row)

    @cached_property
    def _joined(self) -> "_Joined":
        return _Joined([read.composed for read in self._reads])


class _ComposedQueryset:
    """The SQL of a queryset, and how its rows are converted to what the queryset gives."""

    def __init__(self, rows: QuerySet[Any, Any]) -> None:
        from django.db.models.query import FlatValuesListIterable, ModelIterable

        query = preparable(rows).query
        bind_places_to_columns(query)
        query.get_compiler(DEFAULT_DB_ALIAS).as_sql()  # adds the tables that are read with the first
        query.bump_prefix(query)  # short names for all: psycopg converts a text of 4,096 characters anew
        compiler = query.clone().get_compiler(DEFAULT_DB_ALIAS)
        self.sql, parameters = compiler.as_sql()
        self.parameters = Parameters(parameters)
        self.width = len(compiler.select)
        columns = [column for column, *_ in compiler.select]
        self._converters = [
            (position, _converter(step, expression))
            for position, (steps, expression) in compiler.get_converters(columns).items()
            for step in steps
        ]
        self._instance: Callable[[Sequence[Any]], Any] = tuple
        if rows._iterable_class is FlatValuesListIterable:
            self._instance = lambda row: row[0]
        elif rows._iterable_class is ModelIterable:
            self._instance = maker_of_instances(compiler)

    def make(self, row: Sequence[Any]) -> Any:
        """The instance or tuple of a row."""
        if self._converters:
            row = list(row)
            for position, step in self._converters:
                row[position] = step(row[position])
        return self._instance(row)


class _Joined:
    """The statement of several reads: one row, in which the columns of a read without a row are NULL."""

    def __init__(self, parts: Sequence[Composed]) -> None:
        joins = " ".join(f"LEFT JOIN ({part.sql}) AS part{n} ON TRUE" for n, part in enumerate(parts))
        columns = ", ".join(f"part{n}.*" for n in range(len(parts)))
        self.sql = f"SELECT {columns} FROM (SELECT 1 AS one) AS one {joins}"  # noqa: S608
        self.parameters = Parameters([one for part in parts for one in part.parameters.sequence])
        self.width = sum(part.width for part in parts)
        self._slices, start = [], 0
        for part in parts:
            self._slices.append((start, start + part.width, part.make))
            start += part.width

    def make(self, row: Sequence[Any]) -> tuple[Any, ...]:
        """What each read gives."""
        return tuple(
            None if row[start] is None else make(row[start:end]) for start, end, make in self._slices
        )


def _converter(step: Callable[..., Any], expression: Any) -> Callable[[Any], Any]:
    """The step by which Django converts the values of a column; plain JSON is read by orjson instead."""
    field = getattr(step, "__self__", None)
    if type(field) is JSONField and field.decoder is None:
        return lambda text: None if text is None else orjson.loads(text)
    return lambda value: step(value, expression, connections[DEFAULT_DB_ALIAS])


def _read(statement: "Composed | _Joined", values: Mapping[str, Any]) -> list[Any]:
    cursor = kept_cursor(connections[DEFAULT_DB_ALIAS])
    cursor.execute(statement.sql, statement.parameters.filled(values))
    rows: list[Any] = cursor.fetchall()
    return rows


Make = Callable[[Sequence[Any]], Any]


def maker_of_instances(compiler: Any) -> Make:
    """A function from a row of the compiled query to the instance, with the rows that are read with it."""
    make = _maker(compiler.select, compiler.klass_info)
    annotations = list(compiler.annotation_col_map.items())
    if not annotations:
        return make

    def with_annotations(row: Sequence[Any]) -> Any:
        made = make(row)
        for name, position in annotations:
            setattr(made, name, row[position])
        return made

    return with_annotations


def _maker(select: Any, info: Any) -> Make:
    """A function to an instance of one model of the query; it gives None if an outer join found no row."""
    model, positions = info["model"], info["select_fields"]
    start, end = positions[0], positions[-1] + 1
    names = [column.target.attname for column, *_ in select[start:end]]
    key = start + names.index(model._meta.pk.attname)
    related = [
        (_maker(select, other), other["local_setter"], other["remote_setter"])
        for other in info.get("related_klass_infos", ())
    ]
    own = model.__mro__[: model.__mro__.index(Model)]
    if any(name in vars(one) for one in own for name in ("from_db", "__init__")):
        raise NotImplementedError(f"{model.__name__} makes its instances in its own way")

    def make(row: Sequence[Any]) -> Any:
        if row[key] is None:
            return None
        made = model.__new__(model)
        made._state = state = ModelState()
        state.adding, state.db = False, DEFAULT_DB_ALIAS
        made.__dict__.update(zip(names, row[start:end], strict=True))
        for make_other, set_here, set_there in related:
            other = make_other(row)
            set_here(made, other)
            if other is not None:
                set_there(other, made)
        return made

    return make
