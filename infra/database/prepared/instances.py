"""Makes the instances of a queryset from its rows, with everything that all rows share determined once.

They equal those of Django's `ModelIterable`. Django passes each column through `__init__` and its
descriptors, which takes ten times as long; here the columns go into the instance as they are.
"""

from collections.abc import Callable, Sequence
from typing import Any

from django.db import DEFAULT_DB_ALIAS
from django.db.models import Model
from django.db.models.base import ModelState

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
