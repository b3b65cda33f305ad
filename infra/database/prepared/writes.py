"""Prepared writes: conditional updates, and inserts of one row or of several."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.models import Model, QuerySet

from infra.database.kept_connections import kept_cursor
from infra.database.prepared.composition import (
    Parameters,
    Place,
    Value,
    bind_places_to_columns,
    preparable,
    writer,
)


class PreparedUpdate:
    """A conditional update: `changes` are the fields that it sets, the queryset names the other values.

    answered = PreparedUpdate(
        lambda value: Question.objects.filter(id=value("id"), answer=""), "answer"
    )
    answered.run(id=question.id, answer="yes") == 1
    """

    def __init__(self, rows: Callable[[Value], QuerySet[Any, Any]], *changes: str) -> None:
        self._rows, self._changes = rows, changes

    def run(self, **values: Any) -> int:
        """Changes the rows in one statement and gives their number; raises as `PreparedRead.all` does."""
        cursor = kept_cursor(connections[DEFAULT_DB_ALIAS])
        cursor.execute(*self.statement(values))
        return int(cursor.rowcount)

    def statement(self, values: Mapping[str, Any]) -> tuple[str, list[Any]]:
        """The SQL, which ends with the conditions, and its parameters, to embed in a larger statement."""
        sql, parameters = self._composed
        return sql, parameters.filled(values)

    @cached_property
    def _composed(self) -> tuple[str, Parameters]:
        from django.db.models.sql import UpdateQuery

        rows = preparable(self._rows(Place))
        query = rows.query.chain(UpdateQuery)
        query.add_update_values(
            {name: Place(name, rows.model._meta.get_field(name)) for name in self._changes}
        )
        bind_places_to_columns(query)
        sql, parameters = query.get_compiler(DEFAULT_DB_ALIAS).as_sql()
        return sql, Parameters(parameters)


class PreparedInsert:
    """New rows of a model that makes its own keys: `save(force_insert=True)` without signals."""

    def __init__(self, model: type[Model]) -> None:
        self._model, fields = model, model._meta.local_concrete_fields
        if any(
            getattr(field, "auto_now", False) or getattr(field, "auto_now_add", False) for field in fields
        ):
            raise NotImplementedError("a prepared insert sets no times by itself")
        quote = connections[DEFAULT_DB_ALIAS].ops.quote_name
        columns = ", ".join(quote(str(field.column)) for field in fields)
        values = ", ".join("%s" for _ in fields)
        self.sql = f"INSERT INTO {quote(model._meta.db_table)} ({columns}) VALUES ({values})"  # noqa: S608

    def run(self, instance: Model) -> None:
        """Inserts the row."""
        kept_cursor(connections[DEFAULT_DB_ALIAS]).execute(self.sql, self.parameters(instance))
        mark_as_stored(instance)

    def parameters(self, instance: Model) -> list[Any]:
        """The values of the columns."""
        values = vars(instance)
        return [
            write(value) if write and (value := values[name]) is not None else values[name]
            for name, write in self._columns
        ]

    @cached_property
    def _columns(self) -> list[tuple[str, Callable[[Any], Any] | None]]:
        return [(field.attname, writer(field)) for field in self._model._meta.local_concrete_fields]


class JoinedInsert:
    """Rows of several models that are inserted together or not at all; in one statement on PostgreSQL."""

    def __init__(self, *inserts: PreparedInsert) -> None:
        self._inserts = inserts
        *first, last = [insert.sql for insert in inserts]
        before = ", ".join(f"insert{number} AS ({sql})" for number, sql in enumerate(first))
        self._sql = f"WITH {before} {last}"

    def run(self, *instances: Model) -> None:
        """Inserts a row of each model, in their order."""
        connection = connections[DEFAULT_DB_ALIAS]
        pairs = list(zip(self._inserts, instances, strict=True))
        if connection.vendor != "postgresql":
            with transaction.atomic():
                for insert, instance in pairs:
                    insert.run(instance)
            return
        parameters = [value for insert, instance in pairs for value in insert.parameters(instance)]
        kept_cursor(connection).execute(self._sql, parameters)
        for instance in instances:
            mark_as_stored(instance)


def mark_as_stored(instance: Model) -> None:
    """Marks an instance as one whose row is in the database."""
    instance._state.adding, instance._state.db = False, DEFAULT_DB_ALIAS
