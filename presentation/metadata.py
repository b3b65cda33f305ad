"""Metadata for relying parties: discovery (RFC 8414, OpenID4VP 1.0 §10) and where the issuer's keys are.

Only what works is published. The first three members come from the contract.
"""

import json

from django.conf import settings

from infra.published.documents import PublishedDocument
from presentation.relying_parties.metadata.grants import GRANTS
from presentation.requests import encryption
from presentation.requests.parameters import RESPONSE_MODES
from presentation.scopes import catalogue
from presentation.scopes.records import Scopes
from wallet.status_lists import allocation

AUTHORIZE_PATH = "/verifiable-credentials/v1/presentation/authorize"
PUSH_PATH = "/verifiable-credentials/v1/presentation/par"
TOKEN_PATH = "/oauth/v2/token"  # noqa: S105 - a path
JWKS_PATH = "/openid-connect/jwks"


def discovery_document(scopes: Scopes | None = None) -> bytes:
    """The discovery metadata as JSON bytes; reads the scopes from the database unless they are given."""
    return _as_json(
        {
            "issuer": settings.BASE_URL,
            "token_endpoint": settings.BASE_URL + TOKEN_PATH,
            "jwks_uri": settings.BASE_URL + JWKS_PATH,
            "authorization_endpoint": settings.BASE_URL + AUTHORIZE_PATH,
            "pushed_authorization_request_endpoint": settings.BASE_URL + PUSH_PATH,
            # False, because each relying party's registration decides.
            "require_pushed_authorization_requests": False,
            "require_signed_request_object": False,
            "request_parameter_supported": True,
            "request_uri_parameter_supported": True,
            "require_request_uri_registration": True,
            "request_object_signing_alg_values_supported": ["ES256"],
            "response_types_supported": ["vp_token"],
            "response_modes_supported": list(RESPONSE_MODES),
            # RFC 9207 §3. README, "Where we differ", names the answers without `iss`.
            "authorization_response_iss_parameter_supported": True,
            # For `direct_post.jwt`; JARM §4 defines the names.
            "authorization_encryption_alg_values_supported": [encryption.ALGORITHM],
            "authorization_encryption_enc_values_supported": list(encryption.METHODS),
            # `implicit`, because the answer comes from the authorization endpoint. If the member is left out,
            # clients assume the authorization code grant (RFC 8414 §2).
            "grant_types_supported": ["implicit", "client_credentials"],
            "token_endpoint_auth_methods_supported": [
                "client_secret_basic",
                "client_secret_post",
                "private_key_jwt",
            ],
            "token_endpoint_auth_signing_alg_values_supported": ["ES256"],
            "scopes_supported": [*(scopes or catalogue.advertised()), *GRANTS],
            "ui_locales_supported": [language_tag(language) for language, _name in settings.LANGUAGES],
            "client_id_prefixes_supported": ["pre-registered"],
            "status_list_aggregation_endpoint": settings.BASE_URL + allocation.PATH,
            "vp_formats_supported": {
                "dc+sd-jwt": {"sd-jwt_alg_values": ["ES256"], "kb-jwt_alg_values": ["ES256"]}
            },
        }
    )


def language_tag(language: str) -> str:
    """A language of the pages as a tag of BCP 47, with its region in capitals."""
    name, _hyphen, region = language.partition("-")
    return f"{name}-{region.upper()}" if region else name


def credential_issuer_document() -> bytes:
    """JWT VC Issuer Metadata (SD-JWT VC §4) as JSON bytes."""
    return _as_json({"issuer": settings.BASE_URL, "jwks_uri": settings.BASE_URL + JWKS_PATH})


def _as_json(document: dict[str, object]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


discovery = PublishedDocument(discovery_document)
credential_issuer = PublishedDocument(credential_issuer_document, asks_database=False)
