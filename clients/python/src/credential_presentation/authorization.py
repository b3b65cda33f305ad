"""What a request says (OpenID4VP 1.0 §5). Whatever an answer would be rejected for is refused here already.

Mistakes raise `TypeError` or `ValueError` before anybody is asked.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from typing import Any, TypeAlias

from credential_presentation import jose
from credential_presentation.errors import Rejected

Claims: TypeAlias = Sequence[str] | None
Objects: TypeAlias = Mapping[str, Any] | Sequence[Mapping[str, Any]]
SCOPE = "urn:service:params:scope:verifiable-credentials:"
# The claims of the scopes with which every service begins. A person may leave off one with a question mark.
# Operators may change all of them but FIXED: then the claims that are named in a request count.
SCOPES = {
    "basic": ["given_name", "family_name", "age_equal_or_over.18"],
    "age-over-18": ["age_equal_or_over.18"],
    "identity": ["birth_date", "nationalities?"],
    "contact": ["email"],
}
FIXED = "basic"
MODES = (None, "fragment", "direct_post", "direct_post.jwt")


def scope_names(scope: str) -> list[str]:
    """The names in a scope, without what all of the service's own begin with."""
    if not isinstance(scope, str):
        raise TypeError("scope is a text, with spaces between several scopes")
    names = [name.removeprefix(SCOPE) for name in scope.split()]
    if not names or len(set(names)) != len(names):
        raise ValueError("scope is empty, or has a name twice")
    return names


def expected_claims(names: Sequence[str], claims: Claims, query: Mapping[str, Any] | None) -> list[str]:
    """The claims that an answer must have: those that are given, unless the request surely holds others."""
    if claims is None:
        if query is not None or not SCOPES.keys() >= set(names):
            what = "dcql_query" if query is not None else " ".join(names)
            known = ", ".join(SCOPES)
            raise ValueError(f"the claims of {what} are not known: list them (known: {known})")
        return [claim for name in names for claim in SCOPES[name]]
    if isinstance(claims, str) or not all(isinstance(claim, str) for claim in claims):
        raise TypeError("claims is a list of names, such as ['given_name', 'nationalities?']")
    if not claims or not all(claim.strip(".? ") for claim in claims):
        raise ValueError("claims has no name, or an empty one")
    if query is None:
        held = SCOPES[FIXED] if FIXED in names else []
        all_are_known = list(names) == [FIXED]
    else:
        held = _held_by(query)
        all_are_known = bool(held)
    for claim in held:
        if not any(_is_within(claim, wanted) for wanted in claims):
            raise ValueError(f"claims lacks {claim}, which the request holds: list it, or request less")
    for wanted in claims:
        is_held = any(_is_within(claim, wanted) for claim in held)
        if all_are_known and not is_held and not wanted.endswith("?"):
            raise ValueError(f"the request does not hold {wanted} of claims: request more, or leave it out")
    return list(claims)


def _is_within(claim: str, wanted: str) -> bool:
    return f"{claim.rstrip('?')}.".startswith(f"{wanted.rstrip('?')}.")


def _held_by(query: Mapping[str, Any]) -> list[str]:
    """The paths of the claims in a query for one credential; [] if it names none, or sets to choose from."""
    credentials = query.get("credentials")
    if (
        not isinstance(credentials, Sequence)
        or len(credentials) != 1
        or not isinstance(credentials[0], Mapping)
    ):
        raise ValueError("dcql_query must ask for exactly one credential")
    asked = credentials[0].get("claims", [])
    if "claim_sets" in credentials[0] or not isinstance(asked, Sequence):
        return []
    paths = [claim.get("path", []) for claim in asked if isinstance(claim, Mapping)]
    return [".".join(part for part in path if isinstance(part, str)) for path in paths]


def read_query(query: str | Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """A query for credentials (DCQL), which may be given as JSON."""
    if isinstance(query, str):
        try:
            return jose.read_json(query, dict)
        except Rejected:
            raise ValueError("dcql_query is not the JSON of an object") from None
    if query is not None and not isinstance(query, Mapping):
        raise TypeError("dcql_query is an object or its JSON")
    return query


def as_list(transaction_data: Objects) -> list[Mapping[str, Any]]:
    """The objects to be approved; one may be given without a list."""
    given = [transaction_data] if isinstance(transaction_data, Mapping) else transaction_data
    if isinstance(given, str | bytes) or not all(isinstance(one, Mapping) for one in given):
        raise TypeError("transaction_data is an object, or a list of them")
    return list(given)


def as_json(value: object, name: str) -> str:
    """The JSON of a value; a Decimal is a number there. Raises `TypeError` or `ValueError` with its place."""
    for place, inner in _values(value, name):
        if isinstance(inner, date | time):
            raise TypeError(f"{place} is a date or time: write it as a text, such as {inner.isoformat()!r}")
        if isinstance(inner, Decimal | float) and not math.isfinite(inner):
            raise ValueError(f"{place} is no finite number")
        if isinstance(inner, Decimal) and Decimal(repr(float(inner))) != inner:
            raise ValueError(f"{place} has more digits than a number of JSON keeps: write it as a text")
        if not isinstance(inner, str | int | float | Decimal | None):
            raise TypeError(f"{place} is {type(inner).__name__}, which JSON does not have")
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _values(value: object, place: str) -> Iterator[tuple[str, object]]:
    """Each value that is no object or list, with its place."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if not isinstance(name, str):
                raise TypeError(f"{place} has a name that is no text: {name!r}")
            yield from _values(inner, f"{place}.{name}")
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from _values(inner, f"{place}[{number}]")
    else:
        yield place, value


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else float(value)
