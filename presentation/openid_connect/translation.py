"""Translates a request of OpenID Connect (Core 1.0 §3.1.2.1) into the query that every request has. Pure.

What a scope asks for is required if the credential has it, and so is what `claims` calls essential, if it has
one of the demanded values: no claim is an error (Core 1.0 §5.5.1), except a `sub` that is demanded. What else
`claims` asks for is optional: the holder switches it on. An element of `verified_claims` is asked for if it
can be met.
"""

import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta

from presentation.dcql.queries import ClaimsQuery, CredentialQuery, CredentialSet, Query, Value
from presentation.errors import (
    InvalidRequestError,
    InvalidScopeError,
    UnmetAuthenticationRequirementsError,
)
from presentation.openid_connect import claims_parameter
from presentation.openid_connect.claims_parameter import (
    OF_THE_ANSWER,
    PRESENTATION,
    Asked,
    RequestedClaims,
    VerifiedClaimsRequest,
)
from presentation.parameters import SHORTEST_NONCE, is_bindable, space_delimited
from presentation.scopes.records import Scopes
from wallet.credential.claims import (
    OPENID_PROVEN,
    OPENID_SCOPES,
    OPENID_WHOLE_NAME,
    SUBJECT,
    ClaimPath,
    openid_name,
    openid_named,
    openid_parts,
    permitted,
)

Names = Collection[str]
PROFILE = "profile"
OPENID = "openid"  # the scope that every request has, and the id of its credential query
NONE, LOGIN = "none", "login"  # values of `prompt`; `consent` and `select_account` are what happens anyway
BY_PASSKEY = "phr"  # the only `acr` of a sign-in here (OpenID Connect EAP ACR Values 1.0); a code has none
_CHALLENGE = re.compile("[A-Za-z0-9_-]{43}", re.ASCII)
_GIVEN = {*OF_THE_ANSWER, *OPENID_PROVEN.values(), PRESENTATION}  # though no path of a credential has them
_LEGIBLE = re.compile(r"(scope|claim) [\w.:-]{1,80}", re.ASCII)  # others are not repeated in a log
_SECONDS = re.compile("[0-9]{1,9}", re.ASCII)


@dataclass(frozen=True, repr=False)
class OpenIDRequest:
    """What only OpenID Connect asks.

    scope: what of it is answered. code_challenge: empty if a nonce takes its place. left_out: what else the
    request names.
    """

    scope: str
    nonce: str | None
    code_challenge: str
    prompt: frozenset[str] = frozenset()
    max_age: int | None = None
    of_scopes: tuple[ClaimPath, ...] = ()
    places: Mapping[str, RequestedClaims] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    @property
    def allows_no_page(self) -> bool:
        """With `prompt=none`, which is refused, because a page is always shown."""
        return NONE in self.prompt

    @property
    def demanded_subjects(self) -> tuple[tuple[Value, ...], ...]:
        """The values of `sub` that each place demands, if it demands any."""
        return tuple(place.subjects for place in self.places.values() if place.subjects)

    @property
    def demanded_sign_ins(self) -> tuple[Value, ...]:
        """The values of which the `acr` of the ID token must be one; any sign-in will do if it is empty."""
        return self.places["id_token"].sign_ins if "id_token" in self.places else ()

    @property
    def needs_passkey(self) -> bool:
        """Whether a code from an e-mail is not a sign-in that will do (Core 1.0 §5.5.1.1)."""
        return bool(self.demanded_sign_ins)

    @property
    def wants_auth_time(self) -> bool:
        """Whether the ID token has to say when the holder signed in (Core 1.0 §2)."""
        auth_time = self.places.get("id_token", RequestedClaims()).auth_time
        return auth_time or self.max_age is not None

    @property
    def longest_since_sign_in(self) -> timedelta | None:
        """How long before the request the holder may have signed in; None if it does not matter."""
        if LOGIN in self.prompt:
            return timedelta(0)
        return None if self.max_age is None else timedelta(seconds=self.max_age)


def read(
    values: Mapping[str, str],
    *,
    known_scopes: Scopes,
    allowed_scopes: Collection[str],
    allowed_claims: Collection[ClaimPath],
    nonce_may_replace_pkce: bool = False,
) -> tuple[OpenIDRequest, Query]:
    """The request, and its query; raises AuthorizationError.

    allowed_scopes, allowed_claims: what the relying party may ask for. It is not told of what it may not,
    because OpenID Connect ignores what is unknown; the answer names the scopes that it is for. Who may
    recognise people always asks for the number, which is then `sub`. nonce_may_replace_pkce: whether the
    registration lets a request with a nonce do without PKCE.
    """
    _check(values)
    _check_pkce(values, nonce_may_replace_it=nonce_may_replace_pkce)
    scopes = space_delimited(values.get("scope", ""))
    if OPENID not in scopes:
        raise InvalidScopeError("scope must contain openid")
    required, optional, granted = list[ClaimsQuery](), list[ClaimsQuery](), [OPENID]
    wished, unmet = list[ClaimsQuery](), list[str]()
    for name in scopes:
        if name in known_scopes and name in allowed_scopes:
            required += (claim for claim in known_scopes[name].query.claims if claim.path != SUBJECT)
            optional += (claim for claim in known_scopes[name].query.optional if claim.path != SUBJECT)
            granted.append(name)
        elif paths := [path for path in OPENID_SCOPES.get(name, ()) if permitted(path, allowed_claims)]:
            wished += map(ClaimsQuery, paths)
            granted.append(name)

    def path_of(name: str) -> ClaimPath | None:
        with suppress(KeyError):
            path = openid_named(name)
            if all(permitted(part, allowed_claims) for part in openid_parts(path)):
                return path
        unmet.append(name)
        return None

    # Scopes ask for whole claims, so their paths consist of names.
    of_scopes = dict.fromkeys(tuple(map(str, claim.path)) for claim in (*required, *wished, *optional))
    if PROFILE in granted and of_scopes.keys() >= set(openid_parts(OPENID_WHOLE_NAME)):
        of_scopes[OPENID_WHOLE_NAME] = None
    if permitted(SUBJECT, allowed_claims):
        required.insert(0, ClaimsQuery(SUBJECT))  # as `sub`
    places = claims_parameter.parse(values.get("claims", "{}"), path_of)
    requested_claims = [claim for place in places.values() for claim in place.claims if claim.path != SUBJECT]
    # Also of a client that may not recognise people: nobody has that `sub` for it.
    required += (ClaimsQuery(SUBJECT, values=place.subjects) for place in places.values() if place.subjects)
    wished += _queries(requested_claims, essential=True)
    optional += _queries(requested_claims, essential=False)
    verified = [
        verified_request
        for place in places.values()
        for verified_request in place.verified
        if verified_request.can_fit
    ]
    request = OpenIDRequest(
        scope=" ".join(granted),
        nonce=values.get("nonce"),
        code_challenge=values.get("code_challenge", ""),
        prompt=frozenset(space_delimited(values.get("prompt", ""))),
        max_age=int(values["max_age"]) if "max_age" in values else None,
        of_scopes=tuple(of_scopes),
        places=places,
        left_out=_left_out(scopes, granted, unmet, allowed_claims),
    )
    _check_sign_ins(request)
    asked_for = {claim.path for claim in (*required, *wished) if not claim.values}
    optional = [claim for claim in optional if claim.path not in asked_for]
    first = CredentialQuery(
        OPENID, _each_once(required), optional=_each_once(optional), wished=_each_once(wished)
    )
    return request, _query(first, verified)


def _left_out(scopes: Names, granted: Names, unmet: Names, allowed: Collection[ClaimPath]) -> tuple[str, ...]:
    """The scopes and claims that are not asked for. unmet: the claims without a path that is allowed."""
    of_scopes = [path for name in granted for path in OPENID_SCOPES.get(name, ())]
    lacking = [openid_name(path) for path in of_scopes if not permitted(path, allowed)]
    left_out = [f"scope {name}" for name in scopes if name not in granted]
    left_out += [f"claim {name}" for name in (*lacking, *unmet) if name not in _GIVEN]
    return tuple(dict.fromkeys(filter(_LEGIBLE.fullmatch, left_out)))


def _check(values: Mapping[str, str]) -> None:
    if "dcql_query" in values:
        raise InvalidRequestError("dcql_query is not for this client: scope and claims say what it asks for")
    prompt = space_delimited(values.get("prompt", ""))
    if NONE in prompt and len(prompt) > 1:
        raise InvalidRequestError("prompt must not have other values beside none")
    if not _SECONDS.fullmatch(values.get("max_age", "0")):
        raise InvalidRequestError("max_age must be a number of seconds")


def _check_sign_ins(request: OpenIDRequest) -> None:
    """Refuses a request whose demanded `acr` no sign-in has, before anybody is asked to sign in."""
    if request.needs_passkey and BY_PASSKEY not in request.demanded_sign_ins:
        raise UnmetAuthenticationRequirementsError


def _check_pkce(values: Mapping[str, str], *, nonce_may_replace_it: bool) -> None:
    """Refuses a request whose code could be injected into the session of somebody else (RFC 9700 §2.1.1).

    A client of OpenID Connect proves itself when it exchanges the code, so a nonce, which it compares with
    that of the ID token, protects it too. PKCE that was begun is always carried out.
    """
    sends_pkce = "code_challenge" in values or "code_challenge_method" in values
    if not sends_pkce and nonce_may_replace_it:
        if is_bindable(values.get("nonce", "")):
            return
        raise InvalidRequestError(
            "PKCE or a nonce is needed: code_challenge with code_challenge_method S256, or a nonce of at "
            f"least {SHORTEST_NONCE} visible ASCII characters"
        )
    if values.get("code_challenge_method") != "S256":
        raise InvalidRequestError("PKCE is needed: code_challenge_method must be S256")
    if not _CHALLENGE.fullmatch(values.get("code_challenge", "")):
        raise InvalidRequestError("PKCE is needed: code_challenge must be 43 characters of base64url")


def _queries(requested_claims: Collection[Asked], *, essential: bool) -> list[ClaimsQuery]:
    return [query for claim in requested_claims if claim.essential is essential for query in claim.queries]


def _query(first: CredentialQuery, verified: Collection[VerifiedClaimsRequest]) -> Query:
    """One presentation for all; the queries of `verified_claims` are answered if they can be."""
    further = tuple(
        CredentialQuery(
            f"verified_claims_{number}",
            _each_once([*verified_request.conditions, *_queries(verified_request.claims, essential=True)]),
            wished=verified_request.members,
            optional=_each_once(_queries(verified_request.claims, essential=False)),
        )
        for number, verified_request in enumerate(verified)
    )
    sets = (
        CredentialSet(((OPENID,),)),
        *(CredentialSet(((credential_query.id,),), required=False) for credential_query in further),
    )
    return Query((first, *further), sets if further else (), in_one=True)


def _each_once(claims: Collection[ClaimsQuery]) -> tuple[ClaimsQuery, ...]:
    return tuple(dict.fromkeys(claims))
