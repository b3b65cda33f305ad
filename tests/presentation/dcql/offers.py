"""One credential that is offered for a query, and what of it a query finds."""

import json
from typing import Any

from presentation.dcql.evaluation import Offer, Selection, select
from presentation.dcql.parsing import parse
from wallet.credential.claims import ARRAYS, CLAIMS

AGE = "age_equal_or_over"
WHOLE: dict[str, Any] = {
    "iss": "https://wallet.example",
    "vct": "type",
    "iat": None,
    "cnf": {"jwk": {"kty": None}},
    "given_name": "Alice",
    "family_name": "Archer",
    "birth_date": "1990-04-01",
    AGE: {"18": True, "21": True, "65": False},
    "nationalities": ["GB", "FR"],
}
PLAIN = {name: WHOLE[name] for name in ("iss", "vct", "iat", "cnf")}
OFFER = Offer("type", {"a2V5MQ", "key-2"}, CLAIMS, PLAIN, arrays=ARRAYS)


def credential(*claims: Any, **more: Any) -> dict[str, Any]:
    """A credential query for these claims."""
    said = {"id": "a", "format": "dc+sd-jwt", "meta": {"vct_values": ["type"]}} | more
    return said | ({"claims": list(claims)} if claims else {})


def path(*elements: Any, **more: Any) -> dict[str, Any]:
    """A claims query for this path."""
    return {"path": list(elements)} | more


def found(*credentials: dict[str, Any], **more: Any) -> Selection | None:
    """What these credential queries select from the offer."""
    return select(parse(json.dumps({"credentials": list(credentials)} | more)), OFFER, WHOLE)
