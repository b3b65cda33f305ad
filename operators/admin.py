"""The admin site of the operators: Django's own, with the name and environment of this service."""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, cast

from django.conf import settings
from django.contrib.admin import AdminSite, site
from django.contrib.admin.apps import AdminConfig
from django.core.exceptions import BadRequest, FieldDoesNotExist
from django.db import DataError, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path, reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache

from infra.again import again_after

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractUser


class ServiceAdminConfig(AdminConfig):
    """Installed in place of `django.contrib.admin`, so that all models register on `ServiceAdminSite`."""

    default_site = "operators.admin.ServiceAdminSite"

    def ready(self) -> None:
        """Sets the sign-in form and registers a check, which need the models to be loaded."""
        from operators.sign_in import OperatorSignInForm
        from operators.single_sign_on import provider  # noqa: F401, registers its check

        super().ready()
        site.login_form = OperatorSignInForm


class ServiceAdminSite(AdminSite):
    """Django's site with our name, styled by `admin-brand.css`, without inline scripts and styles."""

    site_header = _("Credential presentation · operators")
    site_title = _("Operators")
    index_title = _("Today")
    index_template = "admin/start_page.html"
    empty_value_display = "–"

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """Adds the environment banner to the context of every admin page."""
        return {**super().each_context(request), "environment_banner": settings.ENVIRONMENT_BANNER}

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        """Gives every list, also those of Django's own models, the class that handles unusable filters.

        Every change and every look goes into the audit record (`operators.audited`).
        """
        from operators.audited import audited

        own = {"get_changelist": _get_changelist, **options}
        super().register(model_or_iterable, audited(admin_class), **own)

    def get_urls(self) -> list[URLResolver | URLPattern]:
        """Adds the support view, single sign-on and the second step of the sign-in.

        Leaves out "view on site", which raises an error for UUIDs.
        """
        from operators import second_factor
        from operators.single_sign_on import views as single_sign_on

        shown = [entry for entry in super().get_urls() if getattr(entry, "name", "") != "view_on_site"]
        return [
            path("support/", self.admin_view(self.support), name="support"),
            # Not wrapped in `admin_view`, which admits only sessions that have proved the second factor.
            path("second-factor/", never_cache(second_factor.step), name="second_factor"),
            path("single-sign-on/", never_cache(single_sign_on.begin), name="single_sign_on"),
            path(
                "single-sign-on/return/",
                never_cache(single_sign_on.end),
                name="single_sign_on_return",
            ),
            path("logout/", self.logout, name="logout"),  # also before the second step
            path(
                "auth/user/<int:user_id>/reset-second-factor/",
                self.admin_view(second_factor.reset),
                name="second_factor_reset",
            ),
            *shown,
        ]

    def has_permission(self, request: HttpRequest) -> bool:
        """Staff who have proved their second factor in this session, where one is needed."""
        from operators.second_factor import is_proved

        return super().has_permission(request) and is_proved(request)

    def support(self, request: HttpRequest) -> HttpResponse:
        """The page that finds a holder or a request for operators who help."""
        from presentation.admin.support.views import look_up

        return look_up(request, self)

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Any:
        """Answers 400 if the URL has an unknown field (`_to_field=`) or a value that no column can store.

        What the operator sees of a model is in the audit record before it is sent.
        """

        @wraps(view)
        def careful(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            from operators.audited import in_one_transaction, seen

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
        from operators.start_page import panels

        found = panels(cast("AbstractUser", request.user), now=timezone.now())
        return super().index(request, {"panels": found, **(extra_context or {})})

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Sets the status of a refused attempt, and remembers the browser after a successful one.

        A session that has shown the password goes on to the second step.
        """
        from operators.single_sign_on.provider import configured

        if request.method == "GET" and super().has_permission(request) and not self.has_permission(request):
            from operators.second_factor import address

            return HttpResponseRedirect(address(request))
        if provider := configured():
            extra_context = {"single_sign_on": provider.settings.name, **(extra_context or {})}
        response = super().login(request, extra_context)
        if request.method == "POST" and response.status_code == 302:
            from infra.audit.recording import record
            from operators.sign_in import remember_browser

            record(request, "signed_in")
            remember_browser(request, response, now=timezone.now())
        form = (getattr(response, "context_data", None) or {}).get("form")
        if refusal := getattr(form, "refusal", None):
            response.status_code = refusal.status
            again_after(refusal.seconds, response)
        return response

    def logout(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Records the sign-out, of whoever was signed in."""
        from infra.audit.recording import record

        if not request.user.is_authenticated:
            return HttpResponseRedirect(reverse("admin:index"))
        if request.method == "POST":
            record(request, "signed_out")
        return super().logout(request, extra_context)

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Records that an operator changed their own password, in the same transaction."""
        from infra.audit.recording import record

        with transaction.atomic():
            response = super().password_change(request, extra_context)
            if request.method == "POST" and response.status_code == 302:
                record(request, "password_changed")
        return response


def _get_changelist(own: Any, request: HttpRequest, **kwargs: Any) -> type:
    """Replaces `ModelAdmin.get_changelist`. Imports late, because Django's module needs the models."""
    from operators.lists import CarefulChangeList

    return CarefulChangeList
