"""The history of a row in the admin, in the order of all other logs."""

from typing import Any

from django.contrib.admin import ModelAdmin
from django.contrib.admin.models import LogEntry


class NewestFirst(ModelAdmin):
    """What was done last stands first."""

    def get_paginator(self, request: Any, queryset: Any, *args: Any, **kwargs: Any) -> Any:
        """Of lists, as ever; of the history, turned round."""
        ordered = queryset.reverse() if queryset.model is LogEntry else queryset
        return super().get_paginator(request, ordered, *args, **kwargs)
