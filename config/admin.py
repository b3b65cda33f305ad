"""The operators' site: Django's own admin under this service's name, saying its environment on every page."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib.admin import AdminSite, site
from django.contrib.admin.apps import AdminConfig
from django.core.exceptions import BadRequest, FieldDoesNotExist
from django.db import DataError
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from infra.again import again_after


class ServiceAdminConfig(AdminConfig):
    """Installed in place of `django.contrib.admin`; everything registers on `ServiceAdminSite`."""

    default_site = "config.admin.ServiceAdminSite"

    def ready(self) -> None:
        """The form counts tries in a model, and models exist only now."""
        from config.operator_sign_in import OperatorSignInForm

        super().ready()
        site.login_form = OperatorSignInForm


class ServiceAdminSite(AdminSite):
    """The stock site, branded. Its look is `admin-brand.css`; its pages need no inline script or style."""

    site_header = _("Credential presentation · operators")
    site_title = _("Operators")
    index_title = _("What would you like to do?")
    empty_value_display = "–"

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """Adds the environment banner to what every admin page knows."""
        return {**super().each_context(request), "environment_banner": settings.ENVIRONMENT_BANNER}

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        """Gives every list, also those of Django's own models, the class that survives unusable filters."""
        super().register(model_or_iterable, admin_class, **{"get_changelist": _get_changelist, **options})

    def get_urls(self) -> list[URLResolver | URLPattern]:
        """Leaves out "view on site": no model here has a public page, and the view fails on UUIDs."""
        return [entry for entry in super().get_urls() if getattr(entry, "name", "") != "view_on_site"]

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Any:
        """Answers 400 where the address names no field (`_to_field=`), or a value that no column can hold."""

        @wraps(view)
        def careful(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            try:
                return view(request, *args, **kwargs)
            except (OverflowError, DataError, FieldDoesNotExist) as error:
                raise BadRequest("There is no such field, or its value does not fit the database.") from error

        return super().admin_view(careful, cacheable)

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Sends the status that belongs to a refused attempt; remembers the browser of a good one."""
        response = super().login(request, extra_context)
        if request.method == "POST" and response.status_code == 302:
            from config.operator_sign_in import remember_browser

            remember_browser(request, response, now=timezone.now())
        form = (getattr(response, "context_data", None) or {}).get("form")
        if refusal := getattr(form, "refusal", None):
            response.status_code = refusal.status
            again_after(refusal.seconds, response)
        return response


def _get_changelist(own: Any, request: HttpRequest, **kwargs: Any) -> type:
    """In place of `ModelAdmin.get_changelist`. Imported late, because Django's module needs the models."""
    from config.operator_lists import CarefulChangeList

    return CarefulChangeList
