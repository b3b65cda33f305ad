"""Which claims a request asks for: DCQL queries, and scopes as aliases of them (OpenID4VP 1.0 §5.5, §6).

Reading one from a request is in `parsing`, holding it against a credential in `evaluation`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

ClaimPath = tuple[str, ...]
PathPointer = tuple[str | int | None, ...]  # §7: a name, an index, or every element of an array
Value = str | int | bool
FORMAT = "dc+sd-jwt"  # of the one credential type here


@dataclass(frozen=True, repr=False)  # its values may be somebody's
class ClaimsQuery:
    """One claim that is asked for (§6.3). With `values` it must have one of them or counts as absent."""

    path: PathPointer
    id: str | None = None
    values: tuple[Value, ...] = ()


@dataclass(frozen=True)
class CredentialQuery:
    """A query on one credential; `id` is what `credential_ids` names (§6.1).

    One of another `format` is a query like any other, which nobody here can answer (§6.4).
    `vct_values` is None for whatever type there is; `authority_key_ids` for any authority. Of `claim_sets`,
    the first that can be had is meant; without any, all of `claims` are; without those, none.
    """

    id: str
    claims: tuple[ClaimsQuery, ...] = ()
    claim_sets: tuple[tuple[str, ...], ...] = ()
    vct_values: frozenset[str] | None = None
    authority_key_ids: frozenset[str] | None = None
    holder_binding: bool = True
    format: str = FORMAT

    @classmethod
    def for_paths(cls, id: str, *paths: ClaimPath) -> "CredentialQuery":
        """The query for all the claims at `paths`, whatever they say."""
        return cls(id, tuple(ClaimsQuery(path) for path in paths))

    def to_json(self, *, vct: str) -> dict[str, Any]:
        """An alias written out (§6.1), for documentation and metadata."""
        return {
            "id": self.id,
            "format": self.format,
            "meta": {"vct_values": [vct]},
            "claims": [{"path": list(claim.path)} for claim in self.claims],
        }


@dataclass(frozen=True)
class CredentialSet:
    """Which credential queries will do (§6.2): the first option that can be had."""

    options: tuple[tuple[str, ...], ...]
    required: bool = True


@dataclass(frozen=True)
class Query:
    """What a whole request asks: several credential queries, answered by one presentation.

    Without `credential_sets` all of them are required.
    """

    credentials: tuple[CredentialQuery, ...]
    credential_sets: tuple[CredentialSet, ...] = ()

    @property
    def credential_ids(self) -> tuple[str, ...]:
        """The ids of the credential queries, in their order."""
        return tuple(query.id for query in self.credentials)

    @property
    def in_our_format(self) -> tuple[CredentialQuery, ...]:
        """The credential queries that are about credentials as they are here."""
        return tuple(query for query in self.credentials if query.format == FORMAT)

    def to_json(self, *, vct: str) -> dict[str, Any]:
        """Aliases written out (§6)."""
        return {"credentials": [query.to_json(vct=vct) for query in self.credentials]}


BASIC = "urn:service:params:scope:verifiable-credentials:basic"

# Scope → the credential query it is an alias of. Query ids are unique over all scopes (§5.5).
SCOPES: Mapping[str, CredentialQuery] = MappingProxyType(
    {
        BASIC: CredentialQuery.for_paths(
            "basic", ("given_name",), ("family_name",), ("age_equal_or_over", "18")
        ),
    }
)


def claims_of(scope: str) -> tuple[ClaimPath, ...]:
    """The claims that a scope stands for; raises KeyError for a scope that is unknown."""
    return tuple(tuple(str(name) for name in claim.path) for claim in SCOPES[scope].claims)


def query_for(scopes: Iterable[str], *, table: Mapping[str, CredentialQuery] = SCOPES) -> Query:
    """The query that the scopes stand for, united; a scope named twice counts once.

    Raises KeyError for a scope that is not in the table, ValueError if there is none at all: an empty
    query would disclose nothing and mean nothing.
    """
    wanted: Sequence[str] = tuple(dict.fromkeys(scopes))
    if not wanted:
        raise ValueError("A query needs at least one scope.")
    return Query(tuple(table[scope] for scope in wanted))
