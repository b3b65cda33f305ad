"""The operators' site: Django's own admin under this service's name, saying its environment on every page."""

from typing import Any

from django.conf import settings
from django.contrib.admin import AdminSite, site
from django.contrib.admin.apps import AdminConfig
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _


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
