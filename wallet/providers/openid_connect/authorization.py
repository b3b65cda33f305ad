"""The authorization request (OpenID Connect Core §3.1.2.1, Identity Assurance §5, RFC 7636). Pure."""

import json
from typing import Any
from urllib.parse import urlencode

from authlib.oauth2.rfc7636 import create_s256_code_challenge

from wallet.evidence import Assurance
from wallet.providers.openid_connect.metadata import Metadata
from wallet.providers.openid_connect.settings import Settings

_DETAILS: dict[str, dict[str, Any]] = {
    "document": {
        "document_details": {
            "type": None,
            "document_number": None,
            "issuer": {"country_code": None},
            "date_of_expiry": None,
        }
    },
    "electronic_record": {"record": {"type": None, "date_of_expiry": None}},
}


def parameters(
    settings: Settings, metadata: Metadata, *, state: str, nonce: str, verifier: str, redirect_uri: str
) -> dict[str, str]:
    """The parameters of one request."""
    asked = {
        "response_type": "code",
        "client_id": settings.client.id,
        "redirect_uri": redirect_uri,
        "scope": settings.scope,
        "state": state,
        "nonce": nonce,
        "code_challenge": create_s256_code_challenge(verifier),
        "code_challenge_method": "S256",
    }
    if settings.acr_values:
        asked["acr_values"] = settings.acr_values
    if settings.identity_assurance or metadata.takes_claims:
        asked["claims"] = json.dumps(claims_request(settings, metadata), separators=(",", ":"))
    return asked


def address(endpoint: str, asked: dict[str, str]) -> str:
    """The authorization endpoint with the parameters; it may have a query of its own (RFC 6749 §3.1)."""
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(asked)}"


def claims_request(settings: Settings, metadata: Metadata) -> dict[str, Any]:
    """The `claims` parameter: where the claims are asked for, and under which conditions they count."""
    wanted: dict[str, Any] = {}
    for path in settings.claims.values():
        wanted[path[0]] = None
    if settings.identity_assurance:
        frameworks = dict.fromkeys(each.trust_framework for each in settings.accepted)
        groups = [
            {"verification": _verification(settings, metadata, framework), "claims": wanted}
            for framework in frameworks
        ]
        wanted = {"verified_claims": groups[0] if len(groups) == 1 else groups}
    return {"userinfo" if metadata.userinfo_endpoint else "id_token": wanted}


def _verification(settings: Settings, metadata: Metadata, framework: str) -> dict[str, Any]:
    """What is asked of `verification`; what is not named there is not given (Identity Assurance §5.4)."""
    asked: dict[str, Any] = {"trust_framework": {"value": framework}, "time": None}
    asked["assurance_level"] = _levels(
        [each for each in settings.accepted if each.trust_framework == framework]
    )
    kinds = [kind for kind in settings.evidence if metadata.evidence is None or kind in metadata.evidence]
    if kinds:
        asked["evidence"] = [{"type": {"value": kind}, **_DETAILS[kind]} for kind in kinds]
    return asked


def _levels(accepted: list[Assurance]) -> dict[str, Any] | None:
    """A condition on the level, unless every level of the framework will do."""
    levels = [each.level for each in accepted]
    return {"values": levels} if all(levels) else None
