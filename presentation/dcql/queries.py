"""DCQL queries (OpenID4VP 1.0 §6). Scopes, which are aliases of them, are in `presentation.scopes`.

`parsing` reads a query from a request; `evaluation` applies it to a credential.
"""

from dataclasses import dataclass

PathPointer = tuple[str | int | None, ...]  # §7; str: a name, int: an index, None: every element of an array
Value = str | int | bool
FORMAT = "dc+sd-jwt"  # of the one credential type that this service issues
# The algorithms that sign it, and its key binding, by their names in metadata (OpenID4VP 1.0 Appendix B.3.4).
ALGORITHMS = {"sd-jwt_alg_values": ["ES256"], "kb-jwt_alg_values": ["ES256"]}


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
    presented; without `claim_sets` all of `claims`; without `claims` no claim. `optional` (of scopes only)
    stands for `claim_sets` of `claims` with every combination of these, the largest first. `wished` (only of
    OpenID Connect) are presented with `claims` if the credential has them.
    """

    id: str
    claims: tuple[ClaimsQuery, ...] = ()
    claim_sets: tuple[tuple[str, ...], ...] = ()
    vct_values: frozenset[str] | None = None
    authority_key_ids: frozenset[str] | None = None
    holder_binding: bool = True
    format: str = FORMAT
    optional: tuple[ClaimsQuery, ...] = ()
    wished: tuple[ClaimsQuery, ...] = ()

    @property
    def asked_for(self) -> tuple[ClaimsQuery, ...]:
        """Every claim that the answer may have."""
        return (*self.claims, *self.wished, *self.optional)


@dataclass(frozen=True)
class CredentialSet:
    """Alternative lists of credential query ids (§6.2); the first that can be answered is presented."""

    options: tuple[tuple[str, ...], ...]
    required: bool = True


@dataclass(frozen=True)
class Query:
    """The query of a request: one or more credential queries, each answered by a presentation of its own.

    Without `credential_sets` all of them are required. in_one: scopes, which ask for the same credential, are
    answered by one presentation together. only_one: the answer must not need several presentations.
    """

    credentials: tuple[CredentialQuery, ...]
    credential_sets: tuple[CredentialSet, ...] = ()
    in_one: bool = False
    only_one: bool = False

    @property
    def credential_ids(self) -> tuple[str, ...]:
        """The ids of the credential queries, in their order."""
        return tuple(query.id for query in self.credentials)

    @property
    def in_our_format(self) -> tuple[CredentialQuery, ...]:
        """The credential queries for FORMAT."""
        return tuple(query for query in self.credentials if query.format == FORMAT)


BASIC = "urn:service:params:scope:verifiable-credentials:basic"
