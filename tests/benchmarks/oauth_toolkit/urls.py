"""django-oauth-toolkit where its tutorial puts it, and a page that says the server is up."""

from django.http import HttpRequest, HttpResponse
from django.urls import include, path


def ready(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ready")


urlpatterns = [
    path("o/", include("oauth2_provider.urls", namespace="oauth2_provider")),
    path("ready", ready),
]
