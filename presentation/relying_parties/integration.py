"""What the developer of a relying party needs first: the addresses, and a request to try."""

import secrets
from urllib.parse import quote, urlencode

from django.conf import settings

from presentation.issuer import AUTHORIZE_PATH, JWKS_PATH, PUSH_PATH, TOKEN_PATH
from presentation.models import RelyingParty
from wallet.sd_jwt.issuance import digest


def addresses() -> dict[str, str]:
    """The addresses of this service for relying parties, by name."""
    return {
        "authorization_endpoint": settings.BASE_URL + AUTHORIZE_PATH,
        "pushed_authorization_request_endpoint": settings.BASE_URL + PUSH_PATH,
        "token_endpoint": settings.BASE_URL + TOKEN_PATH,
        "discovery": settings.BASE_URL + "/.well-known/openid-configuration",
        "jwks_uri": settings.BASE_URL + JWKS_PATH,
        "issuer": settings.BASE_URL,
    }


def requests_to_try(relying_party: RelyingParty, *, login_hint: str) -> list[str]:
    """The address of an authorization request for each redirect URI, with a new nonce and state."""
    return [_authorize_url(relying_party, row.uri, login_hint) for row in relying_party.redirect_uris.all()]


def of_openid_connect(scope: str, verifier: str) -> dict[str, str]:
    """What differs in a request of OpenID Connect; verifier: that of PKCE."""
    pkce = {"code_challenge": digest(verifier), "code_challenge_method": "S256"}
    return {"response_type": "code", "scope": f"openid {scope}", **pkce}


def _authorize_url(relying_party: RelyingParty, redirect_uri: str, login_hint: str) -> str:
    """The address of an authorization request with every scope of the relying party."""
    parameters = {
        "response_type": "vp_token",
        "client_id": relying_party.client_id,
        "redirect_uri": redirect_uri,
        "scope": " ".join(relying_party.allowed_scopes),
        "login_hint": login_hint,
        "nonce": secrets.token_urlsafe(24),
        "state": secrets.token_urlsafe(12),
    }
    if relying_party.wire_format == RelyingParty.WireFormat.OPENID_CONNECT:
        parameters |= of_openid_connect(parameters["scope"], secrets.token_urlsafe(32))
    query = urlencode(parameters, quote_via=quote, safe="")
    return f"{settings.BASE_URL}{AUTHORIZE_PATH}?{query}"
