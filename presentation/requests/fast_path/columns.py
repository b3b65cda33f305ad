"""The columns of several models in one statement, as instances of these models."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Generic, TypeVar

import orjson
from django.db import DEFAULT_DB_ALIAS
from django.db.models import JSONField, Model
from psycopg.types.json import Jsonb

Instance = TypeVar("Instance", bound=Model)


class Columns(Generic[Instance]):
    """The columns of a model, in a statement in which its table has the name `alias`."""

    def __init__(self, model: type[Instance], alias: str) -> None:
        fields = model._meta.concrete_fields
        self.model = model
        self.names = [field.attname for field in fields]
        self.selected = ", ".join(f"{alias}.{field.column}" for field in fields)
        self.inserted = ", ".join(str(field.column) for field in fields)
        self.placeholders = ", ".join(f"%({alias}_{name})s" for name in self.names)
        self._alias = alias
        self._key = self.names.index(model._meta.pk.attname)
        self._json = [place for place, field in enumerate(fields) if isinstance(field, JSONField)]

    def instance(self, row: Iterator[Any]) -> Instance | None:
        """Takes the next columns of a row; None if an outer join found no row of this model."""
        values = list(islice(row, len(self.names)))
        if values[self._key] is None:
            return None
        for place in self._json:
            if values[place] is not None:
                values[place] = orjson.loads(values[place])  # Django has psycopg leave JSON as text
        return self.model.from_db(DEFAULT_DB_ALIAS, self.names, values)

    def parameters(self, instance: Instance) -> dict[str, Any]:
        """The values of a new row, by the names of `placeholders`."""
        values = [getattr(instance, name) for name in self.names]
        for place in self._json:
            if values[place] is not None:
                values[place] = Jsonb(values[place])
        return {f"{self._alias}_{name}": value for name, value in zip(self.names, values, strict=True)}
