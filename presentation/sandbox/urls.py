"""The sandbox's own addresses: the playground, and what developers of relying applications use."""

from django.urls import path

from presentation.sandbox import api_views, endpoints, self_service_views, views

OWN = "sandbox/relying-parties"

urlpatterns = [
    path("playground/", views.playground, name="playground"),
    path("playground/callback/", views.callback, name="playground_callback"),
    path("sandbox/api/", api_views.page, name="api_description"),
    path("sandbox/api/openapi.json", api_views.document, name="openapi"),
    path("sandbox/holder", endpoints.act_as_holder, name="sandbox_holder"),
    path(f"{OWN}/", self_service_views.home, name="self_service"),
    path(f"{OWN}/new/", self_service_views.new, name="self_service_new"),
    path(f"{OWN}/sign-out/", self_service_views.sign_out, name="developer_sign_out"),
    path(f"{OWN}/link/<str:token>/", self_service_views.link, name="developer_link"),
    path(f"{OWN}/<str:client_id>/", self_service_views.party, name="self_service_party"),
    path(f"{OWN}/<str:client_id>/secret/", self_service_views.secret, name="self_service_secret"),
    path(f"{OWN}/<str:client_id>/delete/", self_service_views.delete, name="self_service_delete"),
]
