"""The URLs that exist in the sandbox only."""

from django.urls import path

from sandbox.api import views as api
from sandbox.guide import views as guide
from sandbox.holder import endpoints
from sandbox.identity_provider import views as identity_provider
from sandbox.playground import endpoints as playground_endpoints
from sandbox.playground import views as playground
from sandbox.request_log.views import request_log
from sandbox.self_service import views as self_service

OWN = "sandbox/relying-parties"

urlpatterns = [
    path("playground/", playground.playground, name="playground"),
    path("playground/callback/", playground.callback, name="playground_callback"),
    path("playground/answers/", playground_endpoints.answers, name="playground_answers"),
    path("playground/answers/read/", playground_endpoints.read, name="playground_read"),
    path("sandbox/identity/<uuid:verification_id>/", identity_provider.identity, name="sandbox_identity"),
    path("sandbox/mailbox/", identity_provider.mailbox, name="sandbox_mailbox"),
    path("sandbox/api/", api.page, name="api_description"),
    path("sandbox/api/openapi.json", api.document, name="openapi"),
    path("sandbox/guide/", guide.guide, name="guide"),
    path("sandbox/guide/<str:name>/", guide.guide, name="guide_page"),
    path("sandbox/holder", endpoints.act_as_holder, name="sandbox_holder"),
    path(f"{OWN}/", self_service.home, name="self_service"),
    path(f"{OWN}/new/", self_service.new, name="self_service_new"),
    path(f"{OWN}/sign-out/", self_service.sign_out, name="developer_sign_out"),
    path(f"{OWN}/requests/", request_log, name="desk_all"),
    path(f"{OWN}/link/<str:token>/", self_service.link, name="developer_link"),
    path(f"{OWN}/<str:client_id>/", self_service.party, name="self_service_party"),
    path(f"{OWN}/<str:client_id>/secret/", self_service.secret, name="self_service_secret"),
    path(
        f"{OWN}/<str:client_id>/webhook-secret/",
        self_service.webhook_secret,
        name="self_service_webhook_secret",
    ),
    path(f"{OWN}/<str:client_id>/requests/", request_log, name="desk"),
    path(f"{OWN}/<str:client_id>/delete/", self_service.delete, name="self_service_delete"),
]
