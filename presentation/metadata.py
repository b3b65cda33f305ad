"""Metadata for relying parties: discovery (RFC 8414, OpenID4VP 1.0 §10) and where the issuer's keys are.

Only what works is published. The first three members come from the contract.
"""

import json
from contextlib import suppress

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.utils.translation import to_locale

from infra.published.documents import PublishedDocument
from keys.issuer_key import signs_with_rs256
from presentation import encryption
from presentation.dcql.queries import ALGORITHMS, FORMAT
from presentation.issuer import AUTHORIZE_PATH, JWKS_PATH, PUSH_PATH, TOKEN_PATH, USERINFO_PATH
from presentation.openid_connect.claims_parameter import OF_THE_ANSWER, PRESENTATION
from presentation.openid_connect.translation import BY_PASSKEY, OPENID
from presentation.parameters import CODE, FORM_POST, QUERY, RESPONSE_MODES, VP_TOKEN
from presentation.relying_parties.metadata import certificates
from presentation.relying_parties.metadata.grants import GRANTS
from presentation.scopes import catalogue
from presentation.scopes.records import Scopes
from wallet.credential.claims import CLAIMS, OPENID_PARTS, OPENID_PROVEN, OPENID_SCOPES, SUBJECT, openid_name
from wallet.credential.evidence import EVIDENCE
from wallet.providers import registry
from wallet.status_lists import allocation


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
            "response_types_supported": [VP_TOKEN, CODE],
            "response_modes_supported": [*RESPONSE_MODES, QUERY, FORM_POST],
            **_of_openid_connect(),
            # RFC 9207 §3. README, "Where we differ", names the answers without `iss`.
            "authorization_response_iss_parameter_supported": True,
            # For `direct_post.jwt`; JARM §4 defines the names.
            "authorization_encryption_alg_values_supported": [encryption.ALGORITHM],
            "authorization_encryption_enc_values_supported": list(encryption.METHODS),
            # `implicit`, because a presentation comes from the authorization endpoint.
            "grant_types_supported": ["authorization_code", "implicit", "client_credentials"],
            "token_endpoint_auth_methods_supported": [
                "client_secret_basic",
                "client_secret_post",
                "private_key_jwt",
            ],
            "token_endpoint_auth_signing_alg_values_supported": ["ES256"],
            "scopes_supported": [OPENID, *OPENID_SCOPES, *(scopes or catalogue.advertised()), *GRANTS],
            # Tags of BCP 47, with the region in capitals.
            "ui_locales_supported": [to_locale(code).replace("_", "-") for code, _name in settings.LANGUAGES],
            "client_id_prefixes_supported": ["pre-registered", *certificates.PREFIXES],
            "status_list_aggregation_endpoint": settings.BASE_URL + allocation.PATH,
            "vp_formats_supported": {FORMAT: ALGORITHMS},
        }
    )


def _of_openid_connect() -> dict[str, object]:
    """What only clients of OpenID Connect use (Discovery 1.0 §3, Identity Assurance 1.0 §7)."""
    assurances = [assurance for provider in registry.offered().values() for assurance in provider.assurances]
    names = {path: openid_name(path) for path in (*OPENID_PARTS, *CLAIMS) if path != SUBJECT}
    return {
        "userinfo_endpoint": settings.BASE_URL + USERINFO_PATH,
        "subject_types_supported": ["pairwise"],
        "id_token_signing_alg_values_supported": _id_token_algorithms(),
        "code_challenge_methods_supported": ["S256"],
        "claims_parameter_supported": True,
        "claim_types_supported": ["normal"],
        "claims_supported": [
            *OF_THE_ANSWER,
            *names.values(),
            *OPENID_PROVEN.values(),
            *("verified_claims", PRESENTATION),
        ],
        "prompt_values_supported": ["login", "consent", "select_account"],
        "acr_values_supported": [BY_PASSKEY],
        "verified_claims_supported": True,
        "trust_frameworks_supported": sorted({assurance.trust_framework for assurance in assurances}),
        "evidence_supported": list(EVIDENCE),
        "claims_in_verified_claims_supported": [
            name for path, name in names.items() if path[0] != "verification"
        ],
    }


# Whether there was an RSA key when the database was last asked.
_had_rsa_key = False


def _id_token_algorithms() -> list[str]:
    """Discovery 1.0 §3 wants RS256 in any case; it is there once the operator has made a key for it.

    While the database is away, as it was before.
    """
    global _had_rsa_key
    with suppress(OperationalError, InterfaceError):
        _had_rsa_key = signs_with_rs256()
    return ["ES256", "RS256"] if _had_rsa_key else ["ES256"]


def credential_issuer_document() -> bytes:
    """JWT VC Issuer Metadata (SD-JWT VC §4) as JSON bytes."""
    return _as_json({"issuer": settings.BASE_URL, "jwks_uri": settings.BASE_URL + JWKS_PATH})


def _as_json(document: dict[str, object]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


discovery = PublishedDocument(discovery_document)
credential_issuer = PublishedDocument(credential_issuer_document, asks_database=False)
