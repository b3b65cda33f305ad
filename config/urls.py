"""All URLs of the service. The paths of the protocol are a contract, so they are written out in full."""

from django.apps import apps
from django.contrib import admin
from django.urls import include, path

import keys.endpoints
import presentation.endpoints
import presentation.metadata
import presentation.views
import wallet.credential.type_metadata
import wallet.status_lists.endpoints
from config import endpoints, views
from consent.views import question as question_pages
from consent.views import receipts as receipt_pages
from consent.views import requesters as requester_pages
from infra.published.documents import PublishedDocument
from infra.published.families import PublishedFamily
from presentation.models import RelyingParty
from presentation.relying_parties import views as relying_party_pages
from wallet.account.views import what_is_kept

# Public documents. `config.wsgi` answers them without Django; the routes are for other servers and tests.
PUBLISHED_DOCUMENTS: dict[str, PublishedDocument] = {
    ".well-known/openid-configuration": presentation.metadata.discovery,
    # RFC 8414 §3.1: the issuer has no path, so nothing follows the inserted name.
    ".well-known/oauth-authorization-server": presentation.metadata.discovery,
    ".well-known/jwt-vc-issuer": presentation.metadata.credential_issuer,
    "openid-connect/jwks": keys.endpoints.jwks,
    "credential-types/identity/v1": wallet.credential.type_metadata.published,
    "statements/jwks": keys.endpoints.statement_jwks,
    "trust/root.pem": keys.endpoints.root_pem,
    "trust/root.der": keys.endpoints.root_der,
    "status-lists": wallet.status_lists.endpoints.aggregation,
}
# The same with a number at the end of the URL.
PUBLISHED_FAMILIES: dict[str, PublishedFamily] = {"status-lists": wallet.status_lists.endpoints.lists}

PRESENTATION = "verifiable-credentials/v1/presentation"
# Some clients take the URL of our authorization endpoint for the issuer and insert the well-known name before
# its path. That is safe, because clients compare the issuer in the document (RFC 8414 §3.3).
INSERTED_BEFORE = ("", PRESENTATION, f"{PRESENTATION}/authorize")

urlpatterns = [
    # Django tries them in this order, so those of every presentation come first.
    path(f"{PRESENTATION}/authorize", presentation.views.authorize, name="authorize"),
    path(f"{PRESENTATION}/interactions/<uuid:interaction_id>/", presentation.views.resume, name="resume"),
    path("consent/<uuid:consent_id>/", question_pages.review, name="consent_review"),
    path("", views.home, name="home"),
    path("language/", views.choose_language, name="language"),
    path(f"{PRESENTATION}/par", presentation.endpoints.push, name="push"),
    path(f"{PRESENTATION}/interactions/<uuid:interaction_id>/leave/", presentation.views.leave, name="leave"),
    path(
        f"{PRESENTATION}/interactions/<uuid:interaction_id>/delivery/",
        presentation.views.delivery,
        name="delivery",
    ),
    path("relying-parties/<str:client_id>/logo", relying_party_pages.logo, name="relying_party_logo"),
    path("relying-parties/<str:client_id>/begin-again/", relying_party_pages.begin_again, name="begin_again"),
    path(f"{PRESENTATION}/verify", presentation.endpoints.verify, name="verify"),
    path(f"{PRESENTATION}/outcome", presentation.endpoints.outcome, name="outcome"),
    path("openid-connect/userinfo", presentation.endpoints.user_info, name="userinfo"),
    path("oauth/v2/token", presentation.endpoints.token, name="token"),
    path("wallet/history/", receipt_pages.history, name="consent_history"),
    path("wallet/history/<uuid:consent_id>/", receipt_pages.receipt, name="consent_receipt"),
    path("wallet/history/<uuid:consent_id>/number/", receipt_pages.new_number, name="consent_new_number"),
    path("wallet/history/<uuid:consent_id>/invalidate/", receipt_pages.invalidate, name="consent_invalidate"),
    path("wallet/history/<uuid:consent_id>/statement/", receipt_pages.statement, name="consent_statement"),
    path("receipt-check/", receipt_pages.check, name="receipt_check"),
    path("wallet/requesters/", requester_pages.listed, name="consent_requesters"),
    path("wallet/requesters/<str:requester_id>/", requester_pages.one, name="consent_requester"),
    path(
        "wallet/requesters/<str:requester_id>/deletion/",
        requester_pages.deletion,
        {"contact_of": RelyingParty.contact_of},
        name="consent_deletion",
    ),
    path("wallet/requesters/<str:requester_id>/report/", requester_pages.report, name="consent_report"),
    path("what-is-kept/", what_is_kept.what_is_kept, name="what_is_kept"),
    path("wallet/", include("wallet.urls")),
    path("admin/", admin.site.urls),
    path("operator/logo", views.operator_logo, name="operator_logo"),
    path("operator/style.css", views.operator_style, name="operator_style"),
    path("metrics", endpoints.metrics, name="metrics"),
    path("health/live", endpoints.live, name="health_live"),
    path("health/ready", endpoints.ready, name="health_ready"),
    *(path(address, document) for address, document in PUBLISHED_DOCUMENTS.items()),
    *(
        path(f".well-known/{name}/{inserted_before}", presentation.metadata.discovery)
        for name in ("oauth-authorization-server", "openid-configuration")
        for inserted_before in INSERTED_BEFORE
    ),
    *(path(f"{address}/<int:number>", family) for address, family in PUBLISHED_FAMILIES.items()),
]
# Only a sandbox installs this app (settings), so only a sandbox has its URLs.
if apps.is_installed("sandbox"):
    urlpatterns.append(path("", include("sandbox.urls")))

handler400 = "config.views.bad_request"
handler403 = "config.views.forbidden"
handler404 = "config.views.not_found"
handler500 = "config.views.server_error"
