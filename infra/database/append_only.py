"""Records that are written once: nothing of a row is changed or removed through its model."""

from typing import Any

from django.db import models


class AppendOnlyError(Exception):
    """The record is written once; nothing of it is changed or removed."""


class AppendOnly(models.Model):
    """What a record inherits. Use cases that may do more say so with a queryset."""

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Only writes what is new; raises AppendOnlyError for a row that is there already."""
        if not self._state.adding:
            raise AppendOnlyError
        kwargs["force_insert"] = True
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> Any:
        """Never."""
        raise AppendOnlyError
