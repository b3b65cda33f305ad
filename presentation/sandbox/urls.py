"""The sandbox's own addresses: the playground, and what tests of relying applications use."""

from django.urls import path

from presentation.sandbox import endpoints, views

urlpatterns = [
    path("playground/", views.playground, name="playground"),
    path("playground/callback/", views.callback, name="playground_callback"),
    path("sandbox/holder", endpoints.act_as_holder, name="sandbox_holder"),
]
