"""django-oauth-toolkit at the addresses of its tutorial, and a page that answers when the server is ready."""

from django.http import HttpRequest, HttpResponse
from django.urls import include, path


def ready(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ready")


urlpatterns = [
    path("o/", include("oauth2_provider.urls", namespace="oauth2_provider")),
    path("ready", ready),
]
