"""Addresses of the sandbox's own wallet pages."""

from django.urls import path

from wallet.sandbox import views

urlpatterns = [
    path("sandbox/identity/<uuid:verification_id>/", views.identity, name="sandbox_identity"),
    path("sandbox/mailbox/", views.mailbox, name="sandbox_mailbox"),
]
