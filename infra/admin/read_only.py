"""Rows that operators read in the admin and nothing else."""

from typing import Any, ClassVar

from django.http import HttpRequest


class ReadOnly:
    """Nothing can be added, typed in or deleted; stands before the admin class it is for."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class FilteredOnly:
    """Refuses lookups beyond the page's filters: `?email__startswith=…` would reveal hidden values."""

    list_filter: ClassVar[Any]

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        return lookup.split("__")[0] in self.list_filter
