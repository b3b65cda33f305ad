"""Calls of the verification endpoint."""

import json
from typing import Any

from django.test import Client

from presentation.models import RelyingParty
from tests.presentation.clients import access_token
from wallet.credential.trust_policy import CHECKS

VERIFY = "/verifiable-credentials/v1/presentation/verify"
NONCE = "n-0S6_WzA2Mj-0S6_WzA2Mj"
PERSONAL = ("Alice", "Archer")


def verify(party: RelyingParty, body: Any, *, token: str | None = None) -> Any:
    """The answer of the endpoint to this body, sent with an access token."""
    authorization = f"Bearer {token or access_token(party)}"
    return Client().post(
        VERIFY,
        data=body if isinstance(body, str | bytes) else json.dumps(body),
        content_type="application/json",
        headers={"Authorization": authorization},
    )


def answered(response: Any) -> dict[str, Any]:
    """The members of an answer that has a result for every check."""
    assert response.status_code == 200, response.content
    assert response.headers["Cache-Control"] == "no-store"
    answer: dict[str, Any] = response.json()
    assert [check["name"] for check in answer["checks"]] == list(CHECKS)
    return answer


def failed(response: Any) -> str:
    """Checks that the answer is invalid, names this failed check, and has no claims."""
    answer = answered(response)
    assert answer["valid"] is False
    assert not {"claims", "credential"} & answer.keys()
    assert not any(name in response.content.decode() for name in PERSONAL)
    (check,) = (check for check in answer["checks"] if check["result"] == "failed")
    assert check["reason"]
    name: str = check["name"]
    return name
