"""Writes what operators do and look at in the admin into the audit record, for every registered model.

`ServiceAdminSite` puts `Audited` before the class of each model and asks `seen` after each view, so that a
new page of the admin is recorded unless its class says that it shows no person.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from django.contrib.admin import ModelAdmin
from django.contrib.admin.models import LogEntry
from django.db import transaction
from django.db.models import Model
from django.http import HttpRequest, HttpResponse

from infra.audit.recording import record

_LOOKS = {"changelist_view": "list_seen", "history_view": "history_seen"}
PAGE_SEEN = "page_seen"
# Views that write a line of their own, which says more.
_RECORDED_BY_THEMSELVES = {"picture"}


class Audited:
    """Adds a line for each change, in the transaction of the change. The reason names the changed fields."""

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> LogEntry:
        entry: LogEntry = super().log_addition(request, obj, message)  # type: ignore[misc]
        record(request, "added", obj)
        return entry

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> LogEntry:
        entry: LogEntry = super().log_change(request, obj, message)  # type: ignore[misc]
        record(request, "changed", obj, entry.get_change_message())
        return entry

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        entries = super().log_deletions(request, queryset)  # type: ignore[misc]
        for row in queryset:
            record(request, "deleted", row)
        return entries


def audited(admin_class: type[ModelAdmin] | None) -> type[ModelAdmin]:
    """The class of a model's admin, with the lines of `Audited`."""
    own = admin_class or ModelAdmin
    return own if issubclass(own, Audited) else type(own.__name__, (Audited, own), {})


def in_one_transaction(view: Callable[..., Any], request: HttpRequest) -> AbstractContextManager[Any]:
    """Runs a submitted form in one transaction, so that a change is never committed without its line.

    Django has none around a new password and the deletion of chosen rows. Classes whose operations commit by
    themselves have `one_transaction = False`.
    """
    own = getattr(view, "__self__", None)
    one = isinstance(own, ModelAdmin) and getattr(own, "one_transaction", True)
    return transaction.atomic() if one and request.method == "POST" else nullcontext()


def seen(view: Callable[..., Any], request: HttpRequest, response: HttpResponse, row_id: str) -> None:
    """Records that the operator saw a page of a model; called before the page is sent.

    Pages of classes with `shows_no_person` are left out, and so are redirects and errors.
    """
    own, name = getattr(view, "__self__", None), getattr(view, "__name__", "")
    if not isinstance(own, ModelAdmin) or response.status_code != 200 or name in _RECORDED_BY_THEMSELVES:
        return
    if not getattr(own, "shows_no_person", False):
        about = own.opts.label_lower + (f":{row_id}" if row_id else "")
        record(request, _LOOKS.get(name, PAGE_SEEN), about)
