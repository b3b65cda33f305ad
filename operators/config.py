"""Django's admin with the site of this service."""

from django.contrib.admin.apps import AdminConfig


class ServiceAdminConfig(AdminConfig):
    """Installed in place of `django.contrib.admin`, so that all models register on `ServiceAdminSite`."""

    default_site = "operators.site.ServiceAdminSite"
