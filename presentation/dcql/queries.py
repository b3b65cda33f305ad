"""DCQL queries, and scopes as aliases of them (OpenID4VP 1.0 §5.5, §6).

`parsing` reads a query from a request; `evaluation` applies it to a credential.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

ClaimPath = tuple[str, ...]
PathPointer = tuple[str | int | None, ...]  # §7; str: a name, int: an index, None: every element of an array
Value = str | int | bool
FORMAT = "dc+sd-jwt"  # of the one credential type that this service issues


@dataclass(frozen=True, repr=False)  # no repr: the values may be personal data
class ClaimsQuery:
    """One requested claim (§6.3). If `values` is not empty, a claim with another value counts as absent."""

    path: PathPointer
    id: str | None = None
    values: tuple[Value, ...] = ()


@dataclass(frozen=True)
class CredentialQuery:
    """A query for one credential (§6.1). `credential_ids` of transaction data refers to its `id`.

    A query for another `format` is valid but cannot be answered here (§6.4). `vct_values` None accepts every
    type, and `authority_key_ids` None every authority. The first of `claim_sets` that the credential has is
    presented; without `claim_sets` all of `claims`; without `claims` no claim.
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
        """The query for all the claims at `paths`, with any value."""
        return cls(id, tuple(ClaimsQuery(path) for path in paths))


@dataclass(frozen=True)
class CredentialSet:
    """Alternative lists of credential query ids (§6.2); the first that can be answered is presented."""

    options: tuple[tuple[str, ...], ...]
    required: bool = True


@dataclass(frozen=True)
class Query:
    """The query of a request: one or more credential queries, which one presentation answers.

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
        """The credential queries for FORMAT."""
        return tuple(query for query in self.credentials if query.format == FORMAT)


BASIC = "urn:service:params:scope:verifiable-credentials:basic"

# The credential query of each scope. The ids of the queries are unique over all scopes (§5.5).
SCOPES: Mapping[str, CredentialQuery] = MappingProxyType(
    {
        BASIC: CredentialQuery.for_paths(
            "basic", ("given_name",), ("family_name",), ("age_equal_or_over", "18")
        ),
    }
)


def claims_of(scope: str) -> tuple[ClaimPath, ...]:
    """The claims of a scope; raises KeyError for an unknown scope."""
    return tuple(tuple(str(name) for name in claim.path) for claim in SCOPES[scope].claims)


def query_for(scopes: Iterable[str]) -> Query:
    """The query of several scopes, each counted once; raises KeyError for an unknown scope."""
    return Query(tuple(SCOPES[scope] for scope in dict.fromkeys(scopes)))
