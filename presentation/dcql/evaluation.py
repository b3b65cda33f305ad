"""Evaluates a DCQL query for one credential (OpenID4VP 1.0 §6.4, §7.1). Pure.

A path to an object selects everything in it. A path into a claim selects the whole claim, because claims are
disclosed as a whole. Claims that are in every presentation satisfy a path and need no disclosure.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from presentation.dcql.queries import FORMAT, ClaimsQuery, CredentialQuery, PathPointer, Query
from wallet.credential.claims import ClaimPath

Available = Callable[[ClaimsQuery], bool]


@dataclass(frozen=True)
class Offer:
    """The credential that this service can present: its type, its issuing authority, and its claims.

    claims: those that can be disclosed selectively. plain: those in every presentation, with their members.
    optional: those of `claims` that some credentials do not have. arrays: those of them that are arrays.
    objects: those of them that are objects, with the members that these can have.
    """

    vct: str
    authority_key_ids: Collection[str]
    claims: Collection[ClaimPath]
    plain: Mapping[str, Any]
    optional: Collection[ClaimPath] = ()
    arrays: Collection[ClaimPath] = ()
    objects: Mapping[ClaimPath, Collection[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Selection:
    """The claims to present, and the ids of the credential queries that they answer.

    optional: those of `claims` that may be left out, in any combination, without changing `query_ids`. parts:
    the claims of each presentation, by the ids of the queries that it answers.
    """

    claims: tuple[ClaimPath, ...]
    query_ids: tuple[str, ...]
    optional: tuple[ClaimPath, ...] = ()
    parts: Mapping[tuple[str, ...], tuple[ClaimPath, ...]] = field(default_factory=dict)


# What answers one credential query, and which of it may be left out.
_Answer = tuple[Sequence[ClaimsQuery], Collection[ClaimsQuery]]


def same_for_everyone(query: Query, offer: Offer) -> bool:
    """Whether the selection is the same for every credential, because it depends on no value."""
    return all(
        not claim.values
        and (len(claim.path) == 1 or claim.path in offer.claims)
        and not covered(claim.path, offer.optional)
        for credential_query in query.in_our_format
        for claim in credential_query.asked_for
    )


def demands_value(query: Query, path: ClaimPath) -> bool:
    """Whether only certain values of the claim at this path will do for a credential query."""
    claims = (claim for credential_query in query.in_our_format for claim in credential_query.claims)
    return any(claim.values and claim.path == path for claim in claims)


def has_alternatives(query: Query) -> bool:
    """Whether the query accepts several answers (§6.1, §6.2), beyond leaving out what may be left out."""
    ours = {credential_query.id for credential_query in query.in_our_format}
    return any(
        _has_further_sets(credential_query.claim_sets) for credential_query in query.in_our_format
    ) or any(
        (len(credential_set.options) > 1 or not credential_set.required)
        and any(ours.intersection(ids) for ids in credential_set.options)
        for credential_set in query.credential_sets
    )


def covered(path: PathPointer, claims: Collection[ClaimPath]) -> tuple[ClaimPath, ...]:
    """The claims at, below or above the path."""
    return tuple(claim for claim in claims if all(a == b for a, b in zip(path, claim, strict=False)))


def select_for_anyone(
    query: Query, offer: Offer, certain_claims: Mapping[str, Any] | None = None
) -> Selection | None:
    """The selection from a credential with all requested claims and values; None if none can match.

    certain_claims: claims that the credential certainly has, with their values.
    """

    def possible(claim: ClaimsQuery) -> bool:
        if certain_claims and claim.path[0] in certain_claims:
            return is_there(claim, certain_claims)
        return _can_be_there(claim.path, offer)

    return _select(query, offer, possible)


def unknown_claim(query: Query, offer: Offer) -> PathPointer | None:
    """The path of a claim that no credential can have, if only such claims make the query unanswerable."""
    if select_for_anyone(query, offer) or not _select(query, offer, lambda claim: True):
        return None
    ours = (
        credential_query
        for credential_query in query.credentials
        if _claims_for(credential_query, offer, lambda claim: True)
    )
    paths = (claim.path for credential_query in ours for claim in credential_query.claims)
    return next(path for path in paths if not _can_be_there(path, offer))


def select(query: Query, offer: Offer, whole: Mapping[str, Any]) -> Selection | None:
    """The selection from the credential with the claims `whole`; None if it does not match."""
    held = [path for path in offer.claims if _at(path, whole)]
    return _select(query, replace(offer, claims=held), lambda claim: is_there(claim, whole))


def could_answer(query: CredentialQuery, offer: Offer) -> bool:
    """Whether the credential query is for the credential that is offered, whatever it asks of its claims."""
    if query.format != FORMAT:
        return False
    if query.vct_values is not None and offer.vct not in query.vct_values:
        return False
    named = query.authority_key_ids
    return named is None or not named.isdisjoint(offer.authority_key_ids)


def is_there(claim: ClaimsQuery, whole: Mapping[str, Any]) -> bool:
    """Whether the path leads to a value, and to one of `values` if the query has any (§6.4.1, §7.1)."""
    values = _at(claim.path, whole)
    if not claim.values:
        return bool(values)
    wanted = {(type(value), value) for value in claim.values}
    return any((type(value), value) in wanted for value in values if isinstance(value, (str, int)))


def _select(query: Query, offer: Offer, available: Available) -> Selection | None:
    answerable = {
        credential_query.id: claims
        for credential_query in query.credentials
        if (claims := _claims_for(credential_query, offer, available)) is not None
    }
    preferred = [id for one in query.credential_sets for ids in one.options for id in ids]
    sources = [[id] for id in preferred or answerable if id in answerable] if query.only_one else [answerable]
    answered = next(filter(None, (_answered(query, source) for source in sources)), ())
    if not answered:
        return None
    union: dict[ClaimPath, bool] = {}  # whether each may be left out
    parts = {}
    for ids in [answered] if query.in_one else [(id,) for id in answered]:
        own: dict[ClaimPath, None] = {}
        for claim, may_be_left_out in (
            (claim, answerable[id][1]) for id in ids for claim in answerable[id][0]
        ):
            paths = covered(claim.path, offer.claims)
            optional = claim in may_be_left_out and len(paths) == 1  # several claims are no single choice
            union |= {path: optional and union.get(path, True) for path in paths}
            own |= dict.fromkeys(paths)
        parts[ids] = tuple(own)
    return Selection(
        claims=tuple(union),
        query_ids=answered,
        optional=tuple(path for path, optional in union.items() if optional),
        parts=parts,
    )


def _claims_for(query: CredentialQuery, offer: Offer, available: Available) -> _Answer | None:
    """The answer to one credential query; None if the credential does not match (§6.4.1)."""
    if not could_answer(query, offer):
        return None
    by_id = {claim.id: claim for claim in query.claims}
    if not query.claim_sets:
        if not all(available(claim) for claim in query.claims):
            return None
        optional = tuple(claim for claim in query.optional if available(claim))
        wished = tuple(claim for claim in query.wished if available(claim)) if query.wished else ()
        return (*query.claims, *wished, *optional), optional
    for option in query.claim_sets:
        if all(available(by_id[id]) for id in option):
            free = can_be_left_out(option, query.claim_sets)
            return [by_id[id] for id in option], [by_id[id] for id in free]
    return None


def can_be_left_out(option: Sequence[str], claim_sets: Collection[Sequence[str]]) -> list[str]:
    """Those of `option` that can be left out in any combination so that one of `claim_sets` remains.

    The holder chooses among them one by one, so every choice must be an answer that the query lists (§6.4.1).
    """
    listed, whole = {frozenset(ids) for ids in claim_sets}, frozenset(option)
    free: list[str] = []
    left_out = [frozenset[str]()]  # at most as many as there are sets
    for id in dict.fromkeys(option):
        further = [without | {id} for without in left_out]
        if all(whole - without in listed for without in further):
            free.append(id)
            left_out += further
    return free


def _has_further_sets(claim_sets: Sequence[Sequence[str]]) -> bool:
    """Whether there is a set that is not the first one without claims that can be left out of it."""
    if len(claim_sets) < 2:
        return False
    most, free = frozenset(claim_sets[0]), can_be_left_out(claim_sets[0], claim_sets)
    least = most - set(free)
    return any(not least <= frozenset(ids) <= most for ids in claim_sets)


def _answered(query: Query, answerable: Collection[str]) -> tuple[str, ...]:
    """The ids of the queries to answer, in their order; none if a required one is missing (§6.4.2)."""
    if not query.credential_sets:
        return query.credential_ids if all(id in answerable for id in query.credential_ids) else ()
    chosen: set[str] = set()
    for credential_set in query.credential_sets:
        option = next((ids for ids in credential_set.options if all(id in answerable for id in ids)), None)
        if option is None and credential_set.required:
            return ()
        chosen |= set(option or ())
    return tuple(id for id in query.credential_ids if id in chosen)


def _can_be_there(path: PathPointer, offer: Offer) -> bool:
    """Whether the path leads somewhere in a credential with all claims, whatever is in its arrays."""
    return (path[0] in offer.plain and bool(_at(path, offer.plain))) or any(
        len(path) <= len(claim)
        or (claim in offer.arrays and not isinstance(path[len(claim)], str))
        or (len(path) == len(claim) + 1 and path[-1] in offer.objects.get(claim, ()))
        for claim in covered(path, offer.claims)
    )


def _at(path: PathPointer, whole: Mapping[str, Any]) -> list[Any]:
    """The values to which the path leads."""
    values: list[Any] = [whole]
    for element in path:
        values = _step(values, element)
    return values


def _step(values: list[Any], element: str | int | None) -> list[Any]:
    """The values one path element further; none if any value is of the wrong kind for it (§7.1)."""
    kind: type = dict if isinstance(element, str) else list
    if not all(isinstance(value, kind) for value in values):
        return []
    if element is None:
        return [member for value in values for member in value]
    if isinstance(element, str):
        return [value[element] for value in values if element in value]
    return [value[element] for value in values if element < len(value)]
