"""The attack table as one JSON file for the client libraries of every language."""

import json
from functools import cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from tests.forgery import (
    BASE_URL,
    CLIENT_ID,
    HONEST,
    NONCE,
    NOW,
    REDIRECT_URI,
    TAMPERINGS,
    WRONG_CHAINS,
    Forger,
    Tampering,
)

CLAIMS = ["given_name", "family_name", "age_equal_or_over.18"]
STATE = "s" * 32


def pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode()


def case(forger: Forger, tampering: Tampering, failing: list[str]) -> dict[str, Any]:
    """What an application has and gets. One of the checks in `failing` must fail; none if it is honest."""
    vp_token = forger.present(tampering)
    published = {
        forger.base_url + path: content if isinstance(content, str) else json.dumps(content)
        for path, content in forger.documents().items()
    }
    return {
        "failing": failing,
        "wallet": {
            "base_url": BASE_URL,
            "client_id": CLIENT_ID,
            "redirect_uri": REDIRECT_URI,
            "root": pem(forger.root),
            "documents": published,
            "now": NOW,
        },
        "pending": {
            "issuer": BASE_URL,
            "client_id": CLIENT_ID,
            "nonce": NONCE,
            "claims": CLAIMS,
            "transaction_data": tampering.expect.get("transactionData", []),
            "state": STATE,
            "begun": NOW,
        },
        "fields": {"vp_token": vp_token, "state": STATE},
    }


@cache
def vectors() -> dict[str, dict[str, Any]]:
    """The cases by name."""
    found = {name: case(Forger(), each, each.failing) for name, each in (HONEST | TAMPERINGS).items()}
    for name, (chain, check) in WRONG_CHAINS.items():
        forger = Forger()
        forger.publish(chain(forger))
        found[f"chain: {name}"] = case(forger, Tampering([]), [check])
    return found
