"""Append-only models: a row is neither changed nor deleted through its model."""

from typing import Any

from django.db import models


class AppendOnlyError(Exception):
    """An append-only row was to be changed or deleted."""


class AppendOnly(models.Model):
    """The base class of append-only models. Use cases that may change rows do it with a queryset."""

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Inserts a new row; raises AppendOnlyError for a row that was saved before."""
        if not self._state.adding:
            raise AppendOnlyError
        kwargs["force_insert"] = True
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> Any:
        """Raises AppendOnlyError."""
        raise AppendOnlyError
