"""Requests with `dcql_query`, and what a token discloses."""

import json
from base64 import urlsafe_b64decode
from typing import Any

from wallet.credential.credentials import credential_type


def query(*asked_for: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A credential query for these claims of our credential."""
    said = {"id": "identity", "format": "dc+sd-jwt", "meta": {"vct_values": [credential_type()]}} | more
    return said | ({"claims": list(asked_for)} if asked_for else {})


def with_query(*queries: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The changes that turn a request with a scope into one with a query."""
    return {"scope": None, "dcql_query": json.dumps({"credentials": list(queries)} | more)}


def path(*elements: Any, **more: Any) -> dict[str, Any]:
    """A claims query for this path."""
    return {"path": list(elements)} | more


def disclosed(token: str) -> set[str]:
    """The names in the disclosures of a token."""
    read = [json.loads(urlsafe_b64decode(sent + "==")) for sent in token.split("~")[1:-1]]
    return {name for _salt, name, _value in read}
