"""The claims of the ID token and of UserInfo, from what a presentation discloses. Pure.

So nothing leaves that the holder did not see and share. Claims are nested as in the presentation.
"""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

from keys.jws import decode_segment
from presentation.openid_connect.claims_parameter import (
    PRESENTATION,
    TRUST_FRAMEWORK,
    Asked,
    VerifiedClaimsRequest,
)
from presentation.openid_connect.translation import OpenIDRequest
from wallet.credential.claims import (
    OPENID_PARTS,
    OPENID_PROVEN,
    ClaimPath,
    openid_name,
    openid_parts,
    openid_value,
)
from wallet.sd_jwt.parsing import parse
from wallet.sd_jwt.processing import Processing


def of_places(request: OpenIDRequest, presentation: str, *, now: datetime) -> dict[str, dict[str, Any]]:
    """The claims for each place. presentation: one that this service has just made."""
    read = parse(presentation)
    payload = decode_segment(read.jwt.split(".")[1])
    del payload["_sd_alg"]
    shared = Processing(read.disclosures).object(payload, ())
    claims_by_place = {}
    for name, place in request.places.items():
        claims_by_place[name] = _claims([*map(Asked, request.of_scopes), *place.claims], shared)
        if verified := [element for one in place.verified if (element := _verified(one, shared, now=now))]:
            claims_by_place[name]["verified_claims"] = verified if place.verified_in_array else verified[0]
        if place.presentation:
            claims_by_place[name][PRESENTATION] = presentation
    return claims_by_place


def _verified(
    one: VerifiedClaimsRequest, shared: Mapping[str, Any], *, now: datetime
) -> dict[str, Any] | None:
    """The element of `verified_claims`; None if it cannot be met, or all its claims were withheld."""
    verification = shared.get("verification", {})
    claims = _claims(one.claims, shared)
    lacks = any(claim.essential and _value(claim, shared) is None for claim in one.claims)
    if not (one.can_fit and claims) or lacks or not _fits(dict(one.verification), verification, now=now):
        return None
    members = {name: verification[name] for name in one.verification if name in verification}
    return {"verification": members, "claims": claims} if TRUST_FRAMEWORK in members else None


def _claims(requested_claims: Collection[Asked], shared: Mapping[str, Any]) -> dict[str, Any]:
    """Those that were shared, with one of the values that were asked for, if any were.

    Without a name that somebody does not have: an empty text should not be there (Core §5.3.2).
    """
    tree: dict[str, Any] = {}
    for claim in requested_claims:
        value = _value(claim, shared)
        if value in (None, ""):
            continue
        *groups, name = openid_name(claim.path).split(".")
        here = tree
        for group in groups:
            here = here.setdefault(group, {})
        here[name] = value
        if name in OPENID_PROVEN:
            here[OPENID_PROVEN[name]] = True
    return tree


def _value(claim: Asked, shared: Mapping[str, Any]) -> Any:
    """What was shared of it; None if it was withheld, or is none of the values that were asked for."""
    path = tuple(map(str, claim.path))
    value = _whole(path, shared) if path in OPENID_PARTS else openid_value(path, _at(path, shared))
    return value if value is not None and _is_one_of(claim.values, value) else None


def _whole(path: ClaimPath, shared: Any) -> str | None:
    """Its parts with a space between; None if one was withheld. Somebody may lack one: then it is empty."""
    parts = [_at(part, shared) for part in openid_parts(path)]
    return None if None in parts else " ".join(part for part in parts if part)


def _at(path: ClaimPath, shared: Any) -> Any:
    for name in path:
        shared = shared.get(name) if isinstance(shared, dict) else None
    return shared


def _is_one_of(wanted: Collection[Any], value: Any) -> bool:
    """Whether it, or an element of it, is among the wanted values. `1` is not `True`."""
    values = value if isinstance(value, list) else [value]
    return not wanted or any(type(a) is type(b) and a == b for a in wanted for b in values)


def _fits(demand: Any, value: Any, *, now: datetime) -> bool:
    """Whether the value meets what a request demands of it; what it only names may be absent."""
    if isinstance(demand, list):
        elements = value if isinstance(value, list) else []
        return all(any(_fits(entry, element, now=now) for element in elements) for entry in demand)
    if not isinstance(demand, dict):
        return True
    if "value" in demand or "values" in demand:
        return _is_one_of(demand.get("values", [demand.get("value")]), value)
    if "max_age" in demand:
        return _is_recent(value, demand["max_age"], now)
    members = value if isinstance(value, dict) else {}
    return all(_fits(inner, members.get(name), now=now) for name, inner in demand.items())


def _is_recent(value: Any, seconds: Any, now: datetime) -> bool:
    """Whether the time is at most so many seconds ago; the verification knows only the day."""
    try:
        return now - datetime.fromisoformat(str(value)) <= timedelta(seconds=int(seconds))
    except (ValueError, TypeError, OverflowError):
        return False
