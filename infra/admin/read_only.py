"""Rows that operators read in the admin and nothing else."""

from typing import Any, ClassVar

from django.http import HttpRequest


class ReadOnly:
    """Nothing can be added, typed in or deleted; stands before the admin class it is for."""

    list_filter: ClassVar[Any]
    date_hierarchy: ClassVar[Any]

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """The page's own filters only: `?email__startswith=…` would reveal values that it does not show."""
        return lookup.split("__")[0] in (*self.list_filter, self.date_hierarchy)
