"""Discovery and issuer metadata."""

from typing import Any

import pytest
from django.test import Client

PATHS = [
    "/.well-known/openid-configuration",
    "/.well-known/oauth-authorization-server",
    "/.well-known/jwt-vc-issuer",
]


AUTHORIZE = "/verifiable-credentials/v1/presentation/authorize"
NAMES = ["openid-configuration", "oauth-authorization-server"]


@pytest.fixture(autouse=True)
def fresh(db: None) -> None:
    """Empties the cached documents, which would outlive a test and its settings."""
    from config.urls import PUBLISHED_DOCUMENTS

    for document in PUBLISHED_DOCUMENTS.values():
        document.refresh()


OPENID_CLAIMS = [
    *("name", "given_name", "family_name", "birthdate"),
    *(f"age_equal_or_over.{age}" for age in (18, 21, 65)),
    *("nationalities", "email"),
    *(f"address.{part}" for part in ("formatted", "street_address", "locality")),
    *(f"address.{part}" for part in ("postal_code", "region", "country")),
    "place_of_birth",
    *(f"document.{part}" for part in ("type", "number", "issuing_country", "expiry_date")),
]


def test_discovery_has_the_contracts_members_and_only_what_works(client: Client, settings: Any) -> None:
    base = settings.BASE_URL

    assert client.get("/.well-known/openid-configuration").json() == {
        "issuer": base,
        "token_endpoint": f"{base}/oauth/v2/token",
        "jwks_uri": f"{base}/openid-connect/jwks",
        "authorization_endpoint": f"{base}/verifiable-credentials/v1/presentation/authorize",
        "pushed_authorization_request_endpoint": f"{base}/verifiable-credentials/v1/presentation/par",
        "require_pushed_authorization_requests": False,
        "require_signed_request_object": False,
        "request_parameter_supported": True,
        "request_uri_parameter_supported": True,
        "require_request_uri_registration": True,
        "request_object_signing_alg_values_supported": ["ES256"],
        "response_types_supported": ["vp_token", "code"],
        "response_modes_supported": ["fragment", "direct_post", "direct_post.jwt", "query", "form_post"],
        "userinfo_endpoint": f"{base}/openid-connect/userinfo",
        "subject_types_supported": ["pairwise"],
        "id_token_signing_alg_values_supported": ["ES256"],
        "code_challenge_methods_supported": ["S256"],
        "claims_parameter_supported": True,
        "claim_types_supported": ["normal"],
        "claims_supported": [
            *("sub", "auth_time", "acr", "amr", "nonce", *OPENID_CLAIMS),
            *(f"verification.{name}" for name in ("trust_framework", "assurance_level", "time", "evidence")),
            *("email_verified", "verified_claims", "vp_token"),
        ],
        "prompt_values_supported": ["login", "consent", "select_account"],
        "acr_values_supported": ["phr"],
        "verified_claims_supported": True,
        "trust_frameworks_supported": [f"{base}/assurance"],
        "evidence_supported": ["document", "electronic_record"],
        "claims_in_verified_claims_supported": OPENID_CLAIMS,
        "authorization_response_iss_parameter_supported": True,
        "authorization_encryption_alg_values_supported": ["ECDH-ES"],
        "authorization_encryption_enc_values_supported": ["A256GCM", "A128GCM"],
        "grant_types_supported": ["authorization_code", "implicit", "client_credentials"],
        "token_endpoint_auth_methods_supported": [
            "client_secret_basic",
            "client_secret_post",
            "private_key_jwt",
        ],
        "token_endpoint_auth_signing_alg_values_supported": ["ES256"],
        "ui_locales_supported": ["en-GB", "es"],
        "scopes_supported": [
            *("openid", "profile", "email", "address"),
            "urn:service:params:scope:verifiable-credentials:basic",
            "urn:service:params:scope:verifiable-credentials:age-over-18",
            "urn:service:params:scope:verifiable-credentials:contact",
            "urn:service:params:scope:verifiable-credentials:identity",
            "presentation:verify",
            "presentation:push",
            "presentation:read",
        ],
        "client_id_prefixes_supported": ["pre-registered", "x509_hash", "x509_san_dns"],
        "status_list_aggregation_endpoint": f"{base}/status-lists",
        "vp_formats_supported": {
            "dc+sd-jwt": {"sd-jwt_alg_values": ["ES256"], "kb-jwt_alg_values": ["ES256"]}
        },
    }


# What their code reads, and fails or guesses without: the library of Spring Security (Nimbus) with
# `ClientRegistrations`, and the import of an identity provider in Keycloak.
OF_SPRING_SECURITY = [
    *("issuer", "subject_types_supported", "jwks_uri", "authorization_endpoint", "token_endpoint"),
    *("userinfo_endpoint", "scopes_supported", "response_types_supported"),
]
OF_KEYCLOAK = ["issuer", "authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri"]


def test_discovery_has_what_spring_security_and_keycloak_demand(client: Client, signing_key: Any) -> None:
    document = client.get("/.well-known/openid-configuration").json()
    assert all(document[name] for name in OF_SPRING_SECURITY + OF_KEYCLOAK)
    # Spring Security refuses other grants, and takes the first of these methods that it knows.
    assert "authorization_code" in document["grant_types_supported"]
    assert "client_secret_basic" in document["token_endpoint_auth_methods_supported"]
    # Keycloak ignores keys without `use`.
    keys = client.get("/openid-connect/jwks").json()["keys"]
    assert {(key["use"], key["kty"], key["crv"]) for key in keys} == {("sig", "EC", "P-256")}


def test_the_authorization_server_metadata_is_the_same_document(client: Client) -> None:
    """RFC 8414 §3.1: the issuer has no path, so nothing is inserted into the address."""
    here, there = (client.get(f"/.well-known/{name}").content for name in NAMES)

    assert here == there


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("known", ["/", "/verifiable-credentials/v1/presentation", AUTHORIZE])
def test_it_is_also_found_by_clients_that_insert_the_name_before_the_path_they_know(
    client: Client, settings: Any, name: str, known: str
) -> None:
    """The document names the one issuer, so a client that compares it (RFC 8414 §3.3) is not misled."""
    found = client.get(f"/.well-known/{name}{known}")

    assert found.content == client.get("/.well-known/openid-configuration").content
    assert found.headers["Content-Type"] == "application/json"
    assert found.json()["issuer"] == settings.BASE_URL


UNKNOWN = ["", "/", "/nothing", "/openid-credential-issuer", "/oauth-authorization-server/elsewhere"]
UNKNOWN += ["/jwt-vc-issuer/x", "/vct/credential-types/identity/v1", "/openid-configuration/../x", "/%00"]


@pytest.mark.parametrize("method", ["get", "post", "options"])
@pytest.mark.parametrize("path", UNKNOWN)
def test_unknown_well_known_addresses_answer_in_json(
    client: Client, db: None, path: str, method: str
) -> None:
    response = getattr(client, method)(f"/.well-known{path}")

    assert response.status_code == 404
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    assert response.headers["Cache-Control"] == "no-store"
    assert response.json().keys() == {"error", "error_description"}
    assert response.json()["error"] == "not_found"


def test_other_unknown_addresses_are_pages_as_before(client: Client, db: None) -> None:
    for path in ("/well-known/nothing", "/.well-knownx", "/x/.well-known/y"):
        assert client.get(path).headers["Content-Type"].startswith("text/html")


def test_nothing_is_said_about_issuing_to_other_wallets(client: Client) -> None:
    """Credentials stay in this wallet; OpenID4VCI §12.2.2 would require an endpoint that issues them."""
    assert client.get("/.well-known/openid-credential-issuer").status_code == 404


def test_the_issuer_names_itself_and_its_keys(client: Client, settings: Any) -> None:
    assert client.get("/.well-known/jwt-vc-issuer").json() == {
        "issuer": settings.BASE_URL,
        "jwks_uri": f"{settings.BASE_URL}/openid-connect/jwks",
    }


@pytest.mark.parametrize("path", PATHS)
def test_documents_are_publicly_cacheable_and_need_a_query_only_to_be_made(
    client: Client, db: None, statements: Any, path: str
) -> None:
    first = client.get(path)
    with statements() as asked:
        again = client.get(path, headers={"If-None-Match": first.headers["ETag"]})
        head = client.head(path)

    assert asked.texts == []
    assert first.headers["Content-Type"] == "application/json"
    assert first.headers["Cache-Control"] == "public, max-age=3600"
    assert first.headers["Access-Control-Allow-Origin"] == "*"
    assert "Set-Cookie" not in first.headers
    assert (again.status_code, again.content) == (304, b"")
    assert (head.status_code, head.content) == (200, b"")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_documents_are_only_read(client: Client, path: str, method: str) -> None:
    response = getattr(client, method)(path)

    assert response.status_code == 405
    assert "GET" in response.headers["Allow"]
