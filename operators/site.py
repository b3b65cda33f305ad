"""The admin site of the operators: Django's own, with the name and environment of this service."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from types import MethodType
from typing import Any, cast

from django.conf import settings
from django.contrib.admin import AdminSite, ModelAdmin
from django.contrib.admin.models import LogEntry
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.contrib.auth.models import AbstractUser
from django.core.exceptions import BadRequest, FieldDoesNotExist
from django.db import DataError, ProgrammingError, transaction
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path, reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache

from infra.again import again_after
from infra.audit.recording import record
from operators import second_factor, views
from operators.sign_in import OperatorSignInForm, remember_browser
from operators.single_sign_on import views as single_sign_on
from operators.single_sign_on.provider import configured

# Raised by Django, Python's dates and the databases for NUL, huge numbers and impossible dates.
UNUSABLE = (ValueError, IndexError, OverflowError, DataError, ProgrammingError)


class CarefulChangeList(ChangeList):
    """A list that redirects to itself without filters (`?e=1`) when a value in its URL is unusable.

    Filters, search and page number come from the URL. Django does this for errors when it builds a filter,
    but not when the database evaluates it.
    """

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        try:
            super().__init__(request, *args, **kwargs)
        except UNUSABLE as error:
            if not request.GET:
                raise
            raise IncorrectLookupParameters(error) from error


class ServiceAdminSite(AdminSite):
    """Django's site with our name, styled by `admin-brand.css`, without inline scripts and styles."""

    site_header = _("Credential presentation · operators")
    site_title = _("Operators")
    index_title = _("Today")
    index_template = "admin/start_page.html"
    empty_value_display = "–"
    login_form = OperatorSignInForm

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """Adds the environment banner to the context of every admin page."""
        return {**super().each_context(request), "environment_banner": settings.ENVIRONMENT_BANNER}

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        """Gives every list, also those of Django's own models, the class that handles unusable filters.

        Every change and every look goes into the audit record.
        """
        own = {"get_changelist": lambda admin, request, **kwargs: CarefulChangeList, **options}
        super().register(model_or_iterable, audited(admin_class), **own)

    def get_urls(self) -> list[URLResolver | URLPattern]:
        """Adds the support view, single sign-on and the second step of the sign-in.

        Leaves out "view on site", which raises an error for UUIDs.
        """
        shown = [
            entry
            for entry in super().get_urls()
            if not (isinstance(entry, URLPattern) and entry.name == "view_on_site")
        ]
        return [
            path("support/", self.admin_view(self.support), name="support"),
            # Not wrapped in `admin_view`, which admits only sessions that have proved the second factor.
            path("second-factor/", never_cache(views.step), name="second_factor"),
            path("second-factor/options/", never_cache(views.options), name="passkey_options"),
            path("second-factor/passkeys/", self.admin_view(views.own_passkeys), name="own_passkeys"),
            path("single-sign-on/", never_cache(single_sign_on.begin), name="single_sign_on"),
            path(
                "single-sign-on/return/",
                never_cache(single_sign_on.end),
                name="single_sign_on_return",
            ),
            path("logout/", self.logout, name="logout"),  # also before the second step
            path(
                "auth/user/<int:user_id>/reset-second-factor/",
                self.admin_view(views.reset),
                name="second_factor_reset",
            ),
            *shown,
        ]

    def has_permission(self, request: HttpRequest) -> bool:
        """Staff who have proved their second factor in this session, where one is needed."""
        return super().has_permission(request) and second_factor.is_proved(request)

    def support(self, request: HttpRequest) -> HttpResponse:
        """The page that finds a holder or a request for operators who help."""
        from presentation.admin.support.views import look_up  # registers models, so it needs this site

        return look_up(request, self)

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Any:
        """Answers 400 if the URL has an unknown field (`_to_field=`) or a value that no column can store.

        What the operator sees of a model is in the audit record before it is sent.
        """

        @wraps(view)
        def careful(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            try:
                with in_one_transaction(view, request):
                    response = view(request, *args, **kwargs)
                    seen(view, request, response, str(kwargs.get("object_id", "")))
                return response
            except (OverflowError, DataError, FieldDoesNotExist) as error:
                raise BadRequest("There is no such field, or its value does not fit the database.") from error

        return super().admin_view(careful, cacheable)

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        """The start page (`operators.start_page`): open tasks of the operator, and recent failures."""
        from operators.start_page import panels  # as in `support`

        shown_panels = panels(cast(AbstractUser, request.user), now=timezone.now())
        return super().index(request, {"panels": shown_panels, **(extra_context or {})})

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Sets the status of a refused attempt, and remembers the browser after a successful one.

        A session that has shown the password goes on to the second step.
        """
        if request.method == "GET" and super().has_permission(request) and not self.has_permission(request):
            return HttpResponseRedirect(second_factor.address(request))
        if provider := configured():
            extra_context = {"single_sign_on": provider.settings.name, **(extra_context or {})}
        response = super().login(request, extra_context)
        if request.method == "POST" and response.status_code == 302:
            record(request, "signed_in")
            remember_browser(request, response, now=timezone.now())
        shown = response.context_data or {} if isinstance(response, TemplateResponse) else {}
        form = shown.get("form")
        if isinstance(form, OperatorSignInForm) and form.refusal:
            response.status_code, seconds = form.refusal
            again_after(seconds, response)
        return response

    def logout(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Records the sign-out, of whoever was signed in."""
        if not request.user.is_authenticated:
            return HttpResponseRedirect(reverse("admin:index"))
        if request.method == "POST":
            record(request, "signed_out")
        return super().logout(request, extra_context)

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Records that an operator changed their own password, in the same transaction."""
        with transaction.atomic():
            response = super().password_change(request, extra_context)
            if request.method == "POST" and response.status_code == 302:
                record(request, "password_changed")
        return response


_LOOKS = {"changelist_view": "list_seen", "history_view": "history_seen"}
PAGE_SEEN = "page_seen"
# Views that write a line of their own, which says more.
_RECORDED_BY_THEMSELVES = {"picture"}


class Audited(ModelAdmin):
    """Adds a line for each change, in the transaction of the change. The reason names the changed fields.

    `ServiceAdminSite` puts it before the class of each model and asks `seen` after each view, so that a new
    page of the admin is recorded unless its class says that it shows no person.
    """

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> LogEntry:
        entry = super().log_addition(request, obj, message)
        record(request, "added", obj)
        return entry

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> LogEntry:
        entry = super().log_change(request, obj, message)
        record(request, "changed", obj, entry.get_change_message())
        return entry

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        entries = super().log_deletions(request, queryset)
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
    own = _admin_of(view)
    one = own is not None and getattr(own, "one_transaction", True)
    return transaction.atomic() if one and request.method == "POST" else nullcontext()


def _admin_of(view: Callable[..., Any]) -> ModelAdmin | None:
    """The admin of a model that the view is a method of."""
    own = view.__self__ if isinstance(view, MethodType) else None
    return own if isinstance(own, ModelAdmin) else None


def seen(view: Callable[..., Any], request: HttpRequest, response: HttpResponse, row_id: str) -> None:
    """Records that the operator saw a page of a model; called before the page is sent.

    Pages of classes with `shows_no_person` are left out, and so are redirects and errors.
    """
    own = _admin_of(view)
    if own is None or response.status_code != 200 or view.__name__ in _RECORDED_BY_THEMSELVES:
        return
    if not getattr(own, "shows_no_person", False):
        about = own.opts.label_lower + (f":{row_id}" if row_id else "")
        record(request, _LOOKS.get(view.__name__, PAGE_SEEN), about)
