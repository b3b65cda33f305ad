"""Models that operators can only read in the admin."""

from typing import Any, ClassVar

from django.contrib.admin import SimpleListFilter
from django.contrib.admin.options import BaseModelAdmin
from django.contrib.admin.utils import flatten_fieldsets
from django.core.paginator import Paginator
from django.http import HttpRequest
from django.utils.functional import cached_property


class BoundedPaginator(Paginator):
    """Counts `MOST` rows at most: to count all rows of a large table takes longer than any page may.

    So lists end after `MOST` rows; filters and searches find the others.
    """

    MOST = 10_000
    object_list: Any

    @cached_property
    def count(self) -> int:
        # In the order of the list, so that the rows of the first pages are found by the same index.
        return int(self.object_list.values("pk")[: self.MOST].count())


class ReadOnly(BaseModelAdmin):
    """Forbids to add, change and delete rows. Name it before `ModelAdmin` among the base classes."""

    actions: Any = None
    paginator: Any = BoundedPaginator
    show_full_result_count = False
    seen_with = ""  # the permission to see the rows; by default that of their model

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return flatten_fieldsets(self.get_fieldsets(request, obj))

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        own = self.seen_with
        return request.user.has_perm(own) if own else super().has_view_permission(request, obj)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    has_change_permission = has_delete_permission = has_add_permission


class FilteredOnly:
    """Refuses lookups beyond the page's filters: `?email__startswith=…` would reveal hidden values."""

    list_filter: ClassVar[Any]

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        return lookup.split("__")[0] in {_filtered(entry) for entry in self.list_filter}


def _filtered(entry: Any) -> Any:
    """What an entry of `list_filter` filters by: a field, or the parameter of a class of filters."""
    is_class = isinstance(entry, type) and issubclass(entry, SimpleListFilter)
    return entry.parameter_name if is_class else entry
