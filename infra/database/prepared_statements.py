"""Statements whose SQL is composed once per process, for the requests that every presentation makes.

Django composes the SQL of a queryset at each use, which takes several times as long as the database takes to
answer. A prepared statement keeps the SQL and the cursor, and fills in the values. It gives the same as the
queryset (tests/infra/test_prepared_statements.py). It depends on internals of Django's compiler; with a
version of Django that is not known to work (`internals`) every statement goes through the ORM.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Model, QuerySet
from django.db.models.expressions import Expression, Subquery

from infra.database import internals

Value = Callable[[str], Any]  # a placeholder for the value of this name in a queryset
Row = TypeVar("Row")
_CURSOR = "_kept_cursor"  # an attribute of Django's connection, which belongs to one thread
# psycopg's own loader, in C where that is installed; Django's is in Python, to allow a zone for each cursor.
_TIMES = psycopg.adapters.get_loader(psycopg.adapters.types["timestamptz"].oid, psycopg.pq.Format.TEXT)


class PreparedRead(Generic[Row]):
    """A queryset that is read many times with different values.

    `rows` makes the queryset, with `value("name")` in the place of each value that differs:

        wallets = PreparedRead(lambda value: Wallet.objects.filter(email=value("email")))
        wallets.first(email="alice@example.org")
    """

    def __init__(self, rows: Callable[[Value], QuerySet[Any, Row]]) -> None:
        self._rows = rows
        self._composed: _ComposedRead | None = None

    def all(self, **values: Any) -> list[Row]:
        """The rows, in one statement. Takes exactly the values that the queryset names.

        Raises TypeError for missing or additional values, ValueError for None.
        """
        if not internals.DJANGO_IS_KNOWN_TO_WORK:
            return list(_queryset(self._rows, values))
        if self._composed is None:
            self._composed = _ComposedRead(self._rows(_Place))
        return self._composed.read(values)

    def first(self, **values: Any) -> Row | None:
        """The first row of `all`, or None. Slice a queryset that may have many rows with `[:1]`."""
        found = self.all(**values)
        return found[0] if found else None


class PreparedUpdate:
    """A conditional update: `changes` are the fields that it sets, the queryset names the other values.

    answered = PreparedUpdate(
        lambda value: Question.objects.filter(id=value("id"), answer=""), "answer"
    )
    answered.run(id=question.id, answer="yes") == 1
    """

    def __init__(self, rows: Callable[[Value], QuerySet[Any, Any]], *changes: str) -> None:
        self._rows, self._changes = rows, changes
        self._composed: tuple[str, _Parameters] | None = None

    def run(self, **values: Any) -> int:
        """Changes the rows in one statement and gives their number; raises as `PreparedRead.all` does."""
        if not internals.DJANGO_IS_KNOWN_TO_WORK:
            rows = _queryset(self._rows, values, *self._changes)
            return rows.update(**{name: values[name] for name in self._changes})
        if self._composed is None:
            self._composed = self._compose()
        sql, parameters = self._composed
        cursor = kept_cursor(connections[DEFAULT_DB_ALIAS])
        cursor.execute(sql, parameters.filled(values))
        return int(cursor.rowcount)

    def _compose(self) -> "tuple[str, _Parameters]":
        from django.db.models.sql import UpdateQuery

        rows = _preparable(self._rows(_Place))
        query = rows.query.chain(UpdateQuery)
        query.add_update_values(
            {name: _Place(name, rows.model._meta.get_field(name)) for name in self._changes}
        )
        _bind_places_to_columns(query)
        sql, parameters = query.get_compiler(DEFAULT_DB_ALIAS).as_sql()
        return sql, _Parameters(parameters)


class PreparedInsert:
    """New rows of a model that makes its own keys: `save(force_insert=True)` without signals."""

    def __init__(self, model: type[Model]) -> None:
        self._model, self._fields = model, model._meta.local_concrete_fields
        quote = connections[DEFAULT_DB_ALIAS].ops.quote_name
        columns = ", ".join(quote(str(field.column)) for field in self._fields)
        values = ", ".join("%s" for _ in self._fields)
        self._sql = f"INSERT INTO {quote(model._meta.db_table)} ({columns}) VALUES ({values})"  # noqa: S608

    def run(self, instance: Model) -> None:
        """Inserts the row."""
        if not internals.DJANGO_IS_KNOWN_TO_WORK:
            self._model._base_manager.bulk_create([instance])
            return
        connection = connections[DEFAULT_DB_ALIAS]
        values = [
            field.get_db_prep_save(field.pre_save(instance, True), connection) for field in self._fields
        ]
        kept_cursor(connection).execute(self._sql, values)
        instance._state.adding, instance._state.db = False, DEFAULT_DB_ALIAS


def kept_cursor(connection: Any) -> Any:
    """The cursor that all statements of a request share: fetch all rows before the next `execute`.

    A new cursor determines anew how each type is written and read, which takes longer than a short query.
    The cursor remembers its last query and rows, so `drop_cursors` releases it at the end of the request.
    """
    if (
        not internals.DJANGO_IS_KNOWN_TO_WORK or connection.queries_logged
    ):  # Django then uses another class of cursor
        return connection.cursor()
    cursor = getattr(connection, _CURSOR, None)
    if cursor is None or cursor.connection is not connection.connection:
        cursor = connection.cursor()
        if connection.vendor == "postgresql":
            cursor.adapters.register_loader("timestamptz", _TIMES)
        setattr(connection, _CURSOR, cursor)
    return cursor


def drop_cursors(**_: Any) -> None:
    """Drops this thread's cursors with what they last read; a receiver of `request_finished`."""
    for connection in connections.all(initialized_only=True):
        connection.__dict__.pop(_CURSOR, None)


def _queryset(
    rows: Callable[[Value], QuerySet[Any, Row]], values: dict[str, Any], *changes: str
) -> QuerySet[Any, Row]:
    """The queryset with its values, for the ORM; checks the values as a prepared statement does."""
    named = set(changes)

    def value(name: str) -> Any:
        named.add(name)
        if name in values and values[name] is None:
            raise _nothing_equals_none(name)
        return values.get(name)

    found = rows(value)
    _check_names(named, values)
    return found


def _check_names(named: set[str], values: dict[str, Any]) -> None:
    if values.keys() != named:
        raise TypeError(f"takes exactly {sorted(named)}, not {sorted(values)}")


def _nothing_equals_none(name: str) -> ValueError:
    return ValueError(f"{name}: nothing equals None in SQL")


class _Place(Expression):
    """The place of a value. `column` is the field that the value is compared with or written to."""

    def __init__(self, name: str, column: Any = None) -> None:
        super().__init__()
        self.name, self.column = name, column
        self.writes = column is not None

    def as_sql(self, compiler: Any, connection: Any, **_: Any) -> tuple[str, Any]:
        return "%s", [self]

    def adapted(self, value: Any, connection: Any) -> Any:
        if self.writes:
            return self.column.get_db_prep_save(value, connection)
        if value is None:
            raise _nothing_equals_none(self.name)
        return self.column.get_db_prep_value(value, connection)


class _Parameters:
    """The parameters of a composed statement: constants, and places for values."""

    def __init__(self, parameters: Sequence[Any]) -> None:
        self._parameters = parameters
        self._names = {place.name for place in parameters if isinstance(place, _Place)}

    def filled(self, values: dict[str, Any]) -> list[Any]:
        _check_names(self._names, values)
        connection = connections[DEFAULT_DB_ALIAS]
        return [
            parameter.adapted(values[parameter.name], connection)
            if isinstance(parameter, _Place)
            else parameter
            for parameter in self._parameters
        ]


class _ComposedRead:
    """The SQL of a queryset, and how its rows are converted to what the queryset gives."""

    def __init__(self, rows: QuerySet[Any, Any]) -> None:
        from django.db.models.query import FlatValuesListIterable, ModelIterable

        query = _preparable(rows).query
        _bind_places_to_columns(query)
        compiler = query.get_compiler(DEFAULT_DB_ALIAS)
        self.sql, parameters = compiler.as_sql()
        self.parameters = _Parameters(parameters)
        self.converters = list(compiler.get_converters([column for column, *_ in compiler.select]).items())
        self.make: Callable[[Any], Any] = tuple
        if rows._iterable_class is FlatValuesListIterable:
            self.make = lambda row: row[0]
        elif rows._iterable_class is ModelIterable:
            self.make = _maker_of_instances(compiler)

    def read(self, values: dict[str, Any]) -> list[Any]:
        connection = connections[DEFAULT_DB_ALIAS]
        cursor = kept_cursor(connection)
        cursor.execute(self.sql, self.parameters.filled(values))
        rows = cursor.fetchall()
        return [self.make(self._converted(row, connection)) for row in rows]

    def _converted(self, row: Any, connection: Any) -> Any:
        if not self.converters:
            return row
        row = list(row)
        for position, (steps, expression) in self.converters:
            for step in steps:
                row[position] = step(row[position], expression, connection)
        return row


def _maker_of_instances(compiler: Any) -> Callable[[Any], Any]:
    """Makes instances as `ModelIterable` does, with everything that all rows share determined once."""
    from django.db.models.query import get_related_populators

    select, info = compiler.select, compiler.klass_info
    start, end = info["select_fields"][0], info["select_fields"][-1] + 1
    names = [column.target.attname for column, *_ in select[start:end]]
    populators = get_related_populators(info, select, DEFAULT_DB_ALIAS)  # type: ignore[call-arg]
    annotations = list(compiler.annotation_col_map.items())

    def make(row: Any) -> Any:
        made = info["model"].from_db(DEFAULT_DB_ALIAS, names, row[start:end])
        for populator in populators:
            populator.populate(row, made)
        for name, position in annotations:
            setattr(made, name, row[position])
        return made

    return make


def _preparable(rows: Any) -> Any:
    """The queryset; raises NotImplementedError if it needs more than its one statement."""
    if rows._prefetch_related_lookups or rows._known_related_objects:
        raise NotImplementedError("a prepared statement neither prefetches nor starts from an instance")
    if rows.query.select_for_update:
        raise NotImplementedError("a prepared statement takes no locks; use a conditional update instead")
    return rows


def _bind_places_to_columns(query: Any) -> None:
    """Sets the `column` of every place to the field that it is compared with."""
    for comparison in _comparisons(query):
        if isinstance(comparison.rhs, _Place):
            comparison.rhs.column = comparison.lhs.output_field


def _comparisons(query: Any) -> Iterator[Any]:
    yield from (leaf for leaf in query.where.leaves() if hasattr(leaf, "rhs"))
    for annotation in query.annotations.values():
        if isinstance(annotation, Subquery):
            yield from _comparisons(annotation.query)
