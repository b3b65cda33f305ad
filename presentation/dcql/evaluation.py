"""Evaluates a DCQL query for one credential (OpenID4VP 1.0 §6.4, §7.1). Pure.

A path to an object selects everything in it. A path into a claim selects the whole claim, because claims are
disclosed as a whole. Claims that are in every presentation satisfy a path and need no disclosure.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from presentation.dcql.queries import FORMAT, ClaimPath, ClaimsQuery, CredentialQuery, PathPointer, Query

Available = Callable[[ClaimsQuery], bool]


@dataclass(frozen=True)
class Offer:
    """The credential that this service can present: its type, its issuing authority, and its claims.

    claims: those that can be disclosed selectively. plain: the names of those in every presentation.
    optional: those of `claims` that some credentials do not have.
    """

    vct: str
    authority_key_ids: Collection[str]
    claims: Collection[ClaimPath]
    plain: Collection[str]
    optional: Collection[ClaimPath] = ()


@dataclass(frozen=True)
class Selection:
    """The claims to present, and the ids of the credential queries that they answer."""

    claims: tuple[ClaimPath, ...]
    query_ids: tuple[str, ...]


def same_for_everyone(query: Query, offer: Offer) -> bool:
    """Whether the selection is the same for every credential, because it depends on no value."""
    return all(
        not claim.values
        and (len(claim.path) == 1 or claim.path in offer.claims)
        and not covered(claim.path, offer.optional)
        for credential_query in query.in_our_format
        for claim in credential_query.claims
    )


def covered(path: PathPointer, claims: Collection[ClaimPath]) -> tuple[ClaimPath, ...]:
    """The claims at, below or above the path."""
    return tuple(claim for claim in claims if all(a == b for a, b in zip(path, claim, strict=False)))


def select_for_anyone(query: Query, offer: Offer, known: Mapping[str, Any] | None = None) -> Selection | None:
    """The selection from a credential with all requested claims and values; None if none can match.

    known: claims that the credential certainly has, with their values.
    """

    def possible(claim: ClaimsQuery) -> bool:
        if known and claim.path[0] in known:
            return _is_there(claim, known)
        return claim.path[0] in offer.plain or bool(covered(claim.path, offer.claims))

    return _select(query, offer, possible)


def select(query: Query, offer: Offer, whole: Mapping[str, Any]) -> Selection | None:
    """The selection from the credential with the claims `whole`; None if it does not match."""
    return _select(query, offer, lambda claim: _is_there(claim, whole))


def _select(query: Query, offer: Offer, available: Available) -> Selection | None:
    found = {
        credential_query.id: claims
        for credential_query in query.credentials
        if (claims := _claims_for(credential_query, offer, available)) is not None
    }
    answered = _answered(query, found)
    if not answered:
        return None
    union = dict.fromkeys(
        path for id in answered for claim in found[id] for path in covered(claim.path, offer.claims)
    )
    return Selection(claims=tuple(union), query_ids=answered)


def _claims_for(query: CredentialQuery, offer: Offer, available: Available) -> tuple[ClaimsQuery, ...] | None:
    """The claims to return for one credential query; None if the credential does not match (§6.4.1)."""
    if query.format != FORMAT:
        return None
    if query.vct_values is not None and offer.vct not in query.vct_values:
        return None
    if query.authority_key_ids is not None and query.authority_key_ids.isdisjoint(offer.authority_key_ids):
        return None
    by_id = {claim.id: claim for claim in query.claims}
    options = [tuple(by_id[id] for id in option) for option in query.claim_sets] or [query.claims]
    return next((option for option in options if all(available(claim) for claim in option)), None)


def _answered(query: Query, found: Collection[str]) -> tuple[str, ...]:
    """The ids of the queries to answer, in their order; none if a required one is missing (§6.4.2)."""
    if not query.credential_sets:
        return query.credential_ids if all(id in found for id in query.credential_ids) else ()
    chosen: set[str] = set()
    for credential_set in query.credential_sets:
        option = next((ids for ids in credential_set.options if all(id in found for id in ids)), None)
        if option is None and credential_set.required:
            return ()
        chosen |= set(option or ())
    return tuple(id for id in query.credential_ids if id in chosen)


def _is_there(claim: ClaimsQuery, whole: Mapping[str, Any]) -> bool:
    """Whether the path leads to a value, and to one of `values` if the query has any (§6.4.1, §7.1)."""
    found: list[Any] = [whole]
    for element in claim.path:
        found = _step(found, element)
    if not claim.values:
        return bool(found)
    wanted = {(type(value), value) for value in claim.values}
    return any((type(value), value) in wanted for value in found if isinstance(value, (str, int)))


def _step(found: list[Any], element: str | int | None) -> list[Any]:
    """The values one path element further; none if any value is of the wrong kind for it (§7.1)."""
    kind: type = dict if isinstance(element, str) else list
    if not all(isinstance(value, kind) for value in found):
        return []
    if element is None:
        return [member for value in found for member in value]
    if isinstance(element, str):
        return [value[element] for value in found if element in value]
    return [value[element] for value in found if element < len(value)]
