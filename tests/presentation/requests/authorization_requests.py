"""Authorization requests of a relying party, and the answers to them."""

import base64
import json
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from presentation.models import RelyingParty
from tests.people import ALICE

PATH = "/verifiable-credentials/v1/presentation/authorize"
BASIC = "urn:service:params:scope:verifiable-credentials:basic"
IDENTITY = "urn:service:params:scope:verifiable-credentials:identity"
SESSION_DATA = "urn:service:params:vc:transaction-data:session-data"


def encoded(value: Any) -> str:
    """The value as JSON in base64url, as `transaction_data` carries it."""
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def session_data(**changes: Any) -> dict[str, Any]:
    """Transaction data of the simplest type."""
    return {
        "type": SESSION_DATA,
        "credential_ids": ["basic"],
        "payload": {"ip_address": "192.0.2.7"},
    } | changes


def asked(party: RelyingParty, **changes: str | None) -> dict[str, str]:
    """A request of Acme Bank, with parameters changed, added, or (None) left out."""
    parameters: dict[str, str | None] = {
        "response_type": "vp_token",
        "client_id": party.client_id,
        "redirect_uri": "https://bank.example/callback",
        "scope": BASIC,
        "login_hint": ALICE,
        "nonce": "n-0S6_WzA2Mj~0123456",
        "state": "af0ifjsldkj",
    }
    return {name: value for name, value in (parameters | changes).items() if value is not None}


def fragment(location: str) -> dict[str, str]:
    """The parameters of an answer; each must occur once."""
    pairs = parse_qsl(urlsplit(location).fragment, keep_blank_values=True, strict_parsing=True)
    assert len(pairs) == len({name for name, _ in pairs})
    return dict(pairs)
