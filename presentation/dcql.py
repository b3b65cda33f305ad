"""Which claims a request asks for: scopes as aliases of DCQL queries (OpenID4VP 1.0 §5.5, §6)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

ClaimPath = tuple[str, ...]


@dataclass(frozen=True)
class CredentialQuery:
    """A query on the one credential type of this service; `id` is what `credential_ids` names."""

    id: str
    claims: tuple[ClaimPath, ...]

    def to_json(self, *, vct: str) -> dict[str, Any]:
        """The Credential Query as JSON (OpenID4VP 1.0 §6.1), for documentation and metadata."""
        return {
            "id": self.id,
            "format": "dc+sd-jwt",
            "meta": {"vct_values": [vct]},
            "claims": [{"path": list(path)} for path in self.claims],
        }


@dataclass(frozen=True)
class Query:
    """What a whole request asks: several credential queries, answered by one presentation."""

    credentials: tuple[CredentialQuery, ...]

    @property
    def claims(self) -> tuple[ClaimPath, ...]:
        """The union of the claims, each once, in the order they were first asked for."""
        return tuple(dict.fromkeys(path for query in self.credentials for path in query.claims))

    @property
    def credential_ids(self) -> tuple[str, ...]:
        """The ids of the credential queries, in the order of the scopes."""
        return tuple(query.id for query in self.credentials)

    def to_json(self, *, vct: str) -> dict[str, Any]:
        """The DCQL query as JSON (OpenID4VP 1.0 §6)."""
        return {"credentials": [query.to_json(vct=vct) for query in self.credentials]}


BASIC = "urn:service:params:scope:verifiable-credentials:basic"

# Scope → the credential query it is an alias of. Query ids are unique over all scopes (§5.5).
SCOPES: Mapping[str, CredentialQuery] = MappingProxyType(
    {
        BASIC: CredentialQuery(
            id="basic",
            claims=(("given_name",), ("family_name",), ("age_equal_or_over", "18")),
        ),
    }
)


def query_for(scopes: Iterable[str], *, table: Mapping[str, CredentialQuery] = SCOPES) -> Query:
    """The query that the scopes stand for, united; a scope named twice counts once.

    Raises KeyError for a scope that is not in the table, ValueError if there is none at all: an empty
    query would disclose nothing and mean nothing.
    """
    wanted: Sequence[str] = tuple(dict.fromkeys(scopes))
    if not wanted:
        raise ValueError("A query needs at least one scope.")
    return Query(tuple(table[scope] for scope in wanted))
