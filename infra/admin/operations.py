"""The admin of models that operators change only by operations: buttons, confirmation pages, records."""

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any, ClassVar, cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.auth.models import AbstractUser
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied
from django.core.validators import RegexValidator
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.timezone import now
from django.utils.translation import gettext as _t

from infra import second_factors
from infra.admin.row_ids import short
from infra.audit.recording import record
from infra.limits import LimitReachedError
from infra.operations import SOMEBODY_WAS_FASTER, Done, Operation, Refusals, WrongStateError, text_for
from infra.second_factors import WrongCodeError
from infra.typed_digits import LONGEST, PlainField
from infra.words import Words

NAME, CODE = "typed_name", "second_factor"  # fields before what stops the service for everybody


class OperationsAdmin(ModelAdmin):
    """Offers the operations that fit a row to operators with the change permission.

    The history of a row shows the newest entry first.
    """

    operations: ClassVar[Mapping[str, Operation]] = {}  # by their names in URLs
    refusals: ClassVar[Refusals] = {}
    permitted_with = ""  # the model of this app whose permissions are checked; by default the admin's own
    state_field = "state"
    checks_state_first = False  # False: the confirmation page opens in any state, and `run` raises a refusal
    one_transaction = True  # the operation, its entry in the history and its line of the audit record
    short_addresses = False  # a row's operation has the URL `suspend/` below the row, not `do/suspend/`

    def get_urls(self) -> list[URLPattern]:
        routes: dict[str, dict[str, str]] = {"<path:object_id>/do/<str:name>/": {}}
        if self.short_addresses:
            routes = {f"<path:object_id>/{name}/": {"name": name} for name in self.operations}
        if any(operation.on_list for operation in self.operations.values()):
            routes["do/<str:name>/"] = {}
        view, name = self.admin_site.admin_view(self.confirm), f"{self._stem}_do"
        own = [path(route, view, kwargs, name=name) for route, kwargs in routes.items()]
        return own + super().get_urls()

    def get_paginator(self, request: Any, queryset: Any, *args: Any, **kwargs: Any) -> Any:
        """Reverses the order of the history; other lists keep theirs."""
        ordered = queryset.reverse() if queryset.model is LogEntry else queryset
        return super().get_paginator(request, ordered, *args, **kwargs)

    def has_permission_to(self, request: HttpRequest, action: str) -> bool:
        """Checks the permission only; `has_change_permission` may be False because no field can be edited."""
        model = self.permitted_with or self.opts.model_name
        return cast(AbstractUser, request.user).has_perm(f"{self.opts.app_label}.{action}_{model}")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_permission_to(request, "view") or self.has_permission_to(request, "change")

    def address(self, row: Any = None, operation: str = "") -> str:
        """The URL of a row or of the list, or of an operation there."""
        page = "do" if operation else "changelist" if row is None else "change"
        arguments = {"object_id": row.pk} if row is not None else {}
        arguments |= {"name": operation} if operation else {}
        return reverse(f"admin:{self._stem}_{page}", kwargs=arguments, current_app=self.admin_site.name)

    def buttons(self, request: HttpRequest, row: Any = None) -> list[tuple[str, Words]]:
        """URL and label of each operation that the operator may run on this row, or on the list."""
        return [
            (self.address(row, name), text_for(operation.label, row))
            for name, operation in self.operations.items()
            if self._suits(operation, row) and self._permits(request, operation)
        ]

    def render_change_form(self, request: Any, context: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        row = context.get("original")
        context["buttons"] = self.buttons(request, row) if row else []
        return super().render_change_form(request, context, *args, **kwargs)

    def confirm(self, request: HttpRequest, name: str, object_id: str = "") -> HttpResponse:
        """Shows the confirmation page, and runs the operation when its form is submitted."""
        if not self.has_permission_to(request, "change"):
            raise PermissionDenied
        row = self.get_object(request, object_id) if object_id else None
        if object_id and row is None:
            raise Http404
        operation = self.operations.get(name)
        if row and self.checks_state_first and not (operation and self._suits(operation, row)):
            self.message_user(request, _t("That cannot be done any more."), messages.WARNING)
            return HttpResponseRedirect(self.address(row))
        if operation is None or operation.on_list is not (row is None):
            raise Http404
        if not self._permits(request, operation):
            raise PermissionDenied
        if operation.page:
            return operation.page(self, request, row)
        data, files = (request.POST, request.FILES) if request.method == "POST" else (None, None)
        form = operation.form(data, files, initial=operation.initial(row))
        if row and operation.stops_all(row, now()):
            self._ask_again(form, row)
        if form.is_valid() and self._is_proved(request, form):
            self._run(request, name, row, form.cleaned_data)
            return HttpResponseRedirect(self.address(row))
        return self._confirmation_page(request, operation, row, form)

    def render(self, request: HttpRequest, template: str, row: Any, **context: Any) -> HttpResponse:
        """A page about a row, or about the list, with the context that all such pages need."""
        site = self.admin_site.each_context(request)
        defaults = {"opts": self.opts, "original": row, "back": self.address(row)}
        return TemplateResponse(request, template, {**site, **defaults, **context})

    def state_of(self, row: Any) -> str:
        """The state that the confirmation page shows."""
        return str(getattr(row, f"get_{self.state_field}_display")())

    def message_for(self, row: Any, text: str) -> str:
        """The message that the operator sees after an operation."""
        return f"{row}: {text}"

    @property
    def _stem(self) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}"

    def _suits(self, operation: Operation, row: Any) -> bool:
        if row is None or operation.on_list:
            return row is None and operation.on_list
        fits = not operation.states or getattr(row, self.state_field) in operation.states
        return fits and operation.suits(row)

    def _permits(self, request: HttpRequest, operation: Operation) -> bool:
        has = cast(AbstractUser, request.user).has_perm
        return self.has_permission_to(request, "change") and (not operation.needs or has(operation.needs))

    def _ask_again(self, form: forms.Form, row: Any) -> None:
        """Adds fields for the beginning of the row's ID and, where operators have one, the second factor."""
        form.fields[NAME] = PlainField(
            label=_t("Type %(name)s to stop the service for everybody") % {"name": short(row.pk)},
            validators=[RegexValidator(rf"\A{short(row.pk)}\Z")],
        )
        if settings.OPERATOR_SECOND_FACTOR:
            form.fields[CODE] = PlainField(
                label=_t("New code of your app, or a recovery code"),
                help_text=_t("After single sign-on, first set up a second factor at /admin/second-factor/."),
                max_length=LONGEST,
                widget=forms.TextInput(attrs={"autocomplete": "one-time-code"}),
            )

    def _is_proved(self, request: HttpRequest, form: forms.Form) -> bool:
        """Whether a form without these fields is valid, or the code is right; otherwise it has an error."""
        if CODE not in form.fields:
            return True
        operator = cast(AbstractUser, request.user)
        try:
            second_factors.count_try(operator, now())
            factor = second_factors.of(operator)
            record(request, second_factors.prove(factor, form.cleaned_data[CODE], now=now()))
        except LimitReachedError:
            form.add_error(CODE, _t("Too many attempts. Try again later, or ask a superuser to reset it."))
        except WrongCodeError:
            record(request, "second_factor_refused")
            form.add_error(CODE, _t("That is not the code of this moment, or it was used already."))
        return not form.errors

    def _confirmation_page(
        self, request: HttpRequest, operation: Operation, row: Any, form: Any
    ) -> HttpResponse:
        label = text_for(operation.label, row)
        try:
            details = operation.details(row or self.model, now())
        except self._refusals as refusal:
            details = [self._text_of(refusal)]
        return self.render(
            request,
            "admin/confirm.html",
            row,
            title=text_for(operation.title, row) or label,
            label=label,
            operation=operation,
            question=text_for(operation.question, row),
            state=self.state_of(row) if row else "",
            details=details,
            form=form,
        )

    def _run(self, request: HttpRequest, name: str, row: Any, values: dict[str, Any]) -> None:
        operator = cast(AbstractUser, request.user).get_username()
        try:
            with transaction.atomic() if self.one_transaction else nullcontext():
                done = self.operations[name].run(row or self.model, values, operator, now())
                self._record(request, row, done)
                action = name.replace("-", "_")
                record(request, action, done.added or row or self.model, str(values.get("reason", "")))
        except self._refusals as refusal:
            self.message_user(request, self._text_of(refusal), messages.ERROR)
        else:
            self.message_user(request, self.message_for(row, done.text), messages.SUCCESS)

    @property
    def _refusals(self) -> tuple[type[Exception], ...]:
        return (WrongStateError, *self.refusals)

    def _text_of(self, refusal: Exception) -> str:
        if isinstance(refusal, WrongStateError):
            return str(SOMEBODY_WAS_FASTER)
        return str(self.refusals.get(type(refusal)) or refusal)

    def _record(self, request: HttpRequest, row: Any, done: Done) -> None:
        """Adds the entry to the histories of the row and of the operator."""
        subject = done.added or row
        LogEntry.objects.create(
            user_id=cast(AbstractUser, request.user).pk,
            content_type=ContentType.objects.get_for_model(self.model),
            object_id=subject and str(subject.pk),
            object_repr=str(subject or self.opts.verbose_name_plural)[:200],
            action_flag=ADDITION if done.added else CHANGE,
            change_message=done.text,
        )
