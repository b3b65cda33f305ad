"""The addresses of the project, with those of the product that is installed."""

import json

from django.apps import apps
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.urls import include, path
from django.utils.html import format_html

# The button of social-auth-app-django, which has no page of its own.
BUTTON = '<form method="post" action="/login/oidc/"><input name="csrfmiddlewaretoken" value="{}"></form>'


def home(request: HttpRequest) -> HttpResponse:
    """Who is signed in, what the product told them, and a button to sign in."""
    user = request.user
    account = {name: getattr(user, name, "") for name in ("username", "first_name", "last_name", "email")}
    told = [str(message) for message in messages.get_messages(request)]
    shown = json.dumps({"id": user.pk, **account, "messages": told})
    return HttpResponse(shown + format_html(BUTTON, get_token(request)))


urlpatterns = [path("", home)]
if apps.is_installed("allauth"):
    urlpatterns += [path("accounts/", include("allauth.urls"))]
if apps.is_installed("mozilla_django_oidc"):
    urlpatterns += [path("oidc/", include("mozilla_django_oidc.urls"))]
if apps.is_installed("social_django"):
    urlpatterns += [path("", include("social_django.urls", namespace="social"))]
