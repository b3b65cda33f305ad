"""Models that operators can only read in the admin."""

from typing import Any, ClassVar

from django.http import HttpRequest


class ReadOnly:
    """Forbids to add, change and delete rows. Name it before `ModelAdmin` among the base classes."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    has_change_permission = has_delete_permission = has_add_permission


class FilteredOnly:
    """Refuses lookups beyond the page's filters: `?email__startswith=…` would reveal hidden values."""

    list_filter: ClassVar[Any]

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        names = {getattr(each, "parameter_name", each) for each in self.list_filter}
        return lookup.split("__")[0] in names
