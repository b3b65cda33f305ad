"""The parameter `claims` (OpenID Connect Core 1.0 §5.5), with `verified_claims` (OpenID Connect for Identity
Assurance 1.0). Pure.

Names of unknown claims, and of those that the relying party may not ask for, are ignored.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from infra import strict_json
from infra.strict_json import StrictJsonError
from presentation.dcql.queries import ClaimsQuery, PathPointer, Value
from presentation.errors import InvalidRequestError
from wallet.credential.claims import ARRAYS, ClaimPath, openid_parts, openid_values

PLACES = ("id_token", "userinfo")
AUTH_TIME = "auth_time"
OF_THE_ANSWER = ("sub", AUTH_TIME, "acr", "amr", "nonce")  # claims that no credential has
PRESENTATION = "vp_token"  # as a claim: the presentation itself
TRUST_FRAMEWORK = "trust_framework"  # the only member that every verification has
MOST_CLAIMS = 50  # of one object
MOST_VALUES = 50  # of one claim
MOST_VERIFIED = 5  # elements of `verified_claims` in one place
DEEPEST = 12

PathOf = Callable[[str], ClaimPath | None]  # of the claim of this name; None if it is to be ignored


@dataclass(frozen=True, repr=False)  # no repr: the values may be personal data
class Asked:
    """One claim. If `values` is not empty, a claim with another value counts as absent."""

    path: ClaimPath
    essential: bool = False
    values: tuple[Value, ...] = ()

    @property
    def queries(self) -> tuple[ClaimsQuery, ...]:
        """The same as claims queries. Those of parts have no values, because values are of the whole."""
        parts = openid_parts(tuple(map(str, self.path)))
        return tuple(map(ClaimsQuery, parts)) if len(parts) > 1 else (self._query,)

    @property
    def _query(self) -> ClaimsQuery:
        # The elements of an array are what its values are compared with.
        elements = (None,) if self.values and self.path in ARRAYS else ()
        values = [value for requested in self.values for value in openid_values(self.path, requested)]
        return ClaimsQuery((*self.path, *elements), values=tuple(values))


@dataclass(frozen=True, repr=False)
class VerifiedClaimsRequest:
    """One element of `verified_claims`. verification: as received, by the names of claims that there are.

    can_fit: whether nothing is demanded of a member of `verification` that there is not.
    """

    verification: Mapping[str, Any]
    claims: tuple[Asked, ...]
    can_fit: bool

    @property
    def members(self) -> tuple[ClaimsQuery, ...]:
        """The members of the verification that it asks for."""
        return tuple(ClaimsQuery(("verification", name)) for name in self.verification)

    @property
    def conditions(self) -> tuple[ClaimsQuery, ...]:
        """What it demands of the verification: the trust framework, and values."""
        demanded = _demanded(dict(self.verification), ("verification",))
        return (ClaimsQuery(("verification", TRUST_FRAMEWORK)), *demanded)


@dataclass(frozen=True, repr=False)
class RequestedClaims:
    """What is asked for in one place, the ID token or UserInfo."""

    claims: tuple[Asked, ...] = ()
    verified: tuple[VerifiedClaimsRequest, ...] = ()
    verified_in_array: bool = False
    presentation: bool = False
    auth_time: bool = False  # essential; as a voluntary claim it is left out (Core 1.0 §2)
    # The values of `sub` of which the answer must have one (Core 1.0 §3.1.2.2).
    subjects: tuple[Value, ...] = ()
    # The values of an essential `acr` of which the sign-in must have one (Core 1.0 §5.5.1.1).
    sign_ins: tuple[Value, ...] = ()


def parse(text: str, path_of: PathOf) -> dict[str, RequestedClaims]:
    """What is asked for in each of PLACES; raises InvalidRequestError."""
    try:
        parameter = strict_json.loads(text, deepest=DEEPEST)
    except StrictJsonError as error:
        raise InvalidRequestError(f"claims {error}") from None
    if not isinstance(parameter, dict):
        raise InvalidRequestError("claims must be a JSON object")
    return {name: _place(name, parameter.get(name), path_of) for name in PLACES}


def _place(where: str, value: Any, path_of: PathOf) -> RequestedClaims:
    members = _members(where, {} if value is None else value)
    verified = members.pop("verified_claims", None)
    elements = verified if isinstance(verified, list) else [] if verified is None else [verified]
    if len(elements) > MOST_VERIFIED:
        raise InvalidRequestError(f"claims must have at most {MOST_VERIFIED} elements of verified_claims")
    return RequestedClaims(
        _claims(members, path_of),
        tuple(_verified(element, path_of) for element in elements),
        isinstance(verified, list),
        PRESENTATION in members,
        (members.get(AUTH_TIME) or {}).get("essential") is True,
        _values(members.get("sub") or {}),
        _demanded_sign_ins(members.get("acr") or {}),
    )


def _demanded_sign_ins(how: Mapping[str, Any]) -> tuple[Value, ...]:
    """The values of an essential `acr`; one that is not essential demands nothing (Core 1.0 §5.5.1.1)."""
    values = _values(how)
    return values if how.get("essential") is True else ()


def _verified(element: Any, path_of: PathOf) -> VerifiedClaimsRequest:
    members = _members("verified_claims", element)
    verification = {TRUST_FRAMEWORK: None, **_members("verification", members.get("verification", {}))}
    for name in verification:
        list(_demanded(verification[name], (name,)))  # checks the values
    supported = {name: how for name, how in verification.items() if path_of(f"verification.{name}")}
    ignored = verification.keys() - supported
    return VerifiedClaimsRequest(
        supported,
        _claims(_members("claims of verified_claims", members.get("claims", {})), path_of),
        TRUST_FRAMEWORK in supported
        and not any(list(_demanded(verification[name], (name,))) for name in ignored),
    )


def _claims(members: Mapping[str, Any], path_of: PathOf) -> tuple[Asked, ...]:
    claims = []
    for name, how in members.items():
        if how is not None and not isinstance(how, dict):
            raise InvalidRequestError("claims: a request for a claim must be null or an object")
        if path := path_of(name):
            how = how or {}
            claims.append(Asked(path, how.get("essential") is True, _values(how)))
    return tuple(claims)


def _members(where: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidRequestError(f"claims: {where} must be an object")
    if len(value) > MOST_CLAIMS:
        raise InvalidRequestError(f"claims: {where} must have at most {MOST_CLAIMS} members")
    return dict(value)


def _demanded(how: Any, path: PathPointer) -> Iterator[ClaimsQuery]:
    """The values that are demanded at the path and below it; in an array, of any element."""
    if isinstance(how, list):
        for element in how:
            yield from _demanded(element, (*path, None))
    elif isinstance(how, dict) and (values := _values(how)):
        yield ClaimsQuery(path, values=values)
    elif isinstance(how, dict):
        for name, inner in how.items():
            yield from _demanded(inner, (*path, name))


def _values(how: Mapping[str, Any]) -> tuple[Value, ...]:
    """The values that are asked for, by `value` or `values`."""
    values = how["values"] if "values" in how else [how["value"]] if "value" in how else []
    if not isinstance(values, list) or not all(isinstance(value, str | int) for value in values):
        raise InvalidRequestError("claims: values must be text, whole numbers, true or false")
    if len(values) > MOST_VALUES:
        raise InvalidRequestError(f"claims: a claim must have at most {MOST_VALUES} values")
    return tuple(values)
