"""The playground's addresses, there in the sandbox only."""

from django.urls import path

from presentation.sandbox import views

urlpatterns = [
    path("playground/", views.playground, name="playground"),
    path("playground/callback/", views.callback, name="playground_callback"),
]
