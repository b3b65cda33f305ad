"""One scope: its name, its title, its claims; the rules for them, and the query that it is an alias of. Pure.

A scope is an alias of one credential query (OpenID4VP 1.0 §5.5). Its optional claims stand for `claim_sets`
with every combination of them (§6.4.1): holders switch them on one by one.
"""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any

from infra.characters import is_legible
from presentation.dcql.queries import BASIC, ClaimsQuery, CredentialQuery
from wallet.credential.claims import FAMILIES, MOST_QUESTIONS, ClaimPath, is_named, named

LONGEST_URN = 200
LONGEST_TITLE = 100
MOST_CLAIMS = 50

# RFC 8141 §2, without percent-encoding: what OAuth allows in a scope (RFC 6749 §3.3) and people can read. The
# last part is the id of the credential query, whose characters DCQL limits (OpenID4VP 1.0 §6.1).
_URN = re.compile(r"urn:[a-z0-9][a-z0-9-]{1,31}(?::[A-Za-z0-9._-]+)*:([A-Za-z0-9_-]{1,100})")


class ScopeError(ValueError):
    """A part of a scope is invalid. `part` names it, the text says why."""

    def __init__(self, part: str, why: str) -> None:
        super().__init__(why)
        self.part = part


@dataclass(frozen=True)
class ScopeRecord:
    """A scope. `required` and `optional` hold the names of claims, such as `age_equal_or_over.18`.

    Raises ScopeError unless all rules are kept.
    """

    urn: str
    title: str
    required: tuple[str, ...]
    optional: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.urn) > LONGEST_URN or not _URN.fullmatch(self.urn):
            raise ScopeError(
                "urn",
                f"must be a URN of at most {LONGEST_URN} letters, digits and “:._-”, such as {BASIC}",
            )
        if not 0 < len(self.title) <= LONGEST_TITLE or not is_legible(self.title):
            raise ScopeError("title", f"must be one line of 1 to {LONGEST_TITLE} characters")
        check_claims(self.required, self.optional)

    @property
    def query_id(self) -> str:
        """The id of its credential query, which transaction data names: the last part of the URN."""
        return self.urn.rpartition(":")[2]

    @property
    def claims(self) -> tuple[ClaimPath, ...]:
        """The paths of its claims, first the required ones."""
        return tuple(map(named, (*self.required, *self.optional)))

    @cached_property
    def text(self) -> str:
        """What the scope means, as JSON; a list of these is kept with a request, and `from_text` reads it."""
        kept = [self.urn, self.title, self.required, self.optional]
        return json.dumps(kept, separators=(",", ":"), ensure_ascii=False)

    @cached_property
    def query(self) -> CredentialQuery:
        """The credential query that it is an alias of."""
        return CredentialQuery(
            self.query_id,
            tuple(ClaimsQuery(named(name)) for name in self.required),
            optional=tuple(ClaimsQuery(named(name)) for name in self.optional),
        )


def check_claims(required: Collection[str], optional: Collection[str]) -> None:
    """Raises ScopeError unless these are names of claims, each once, at least one of them required."""
    if not required:
        raise ScopeError("required_claims", "must name at least one claim")
    if len(required) + len(optional) > MOST_CLAIMS:
        raise ScopeError("optional_claims", f"and the required claims must be at most {MOST_CLAIMS}")
    for family in FAMILIES:
        if sum(str(name).startswith(f"{family}.") for name in (*required, *optional)) > MOST_QUESTIONS:
            raise ScopeError(
                "optional_claims", f"and the required claims must name at most {MOST_QUESTIONS} of {family}"
            )
    for part, names in (("required_claims", required), ("optional_claims", optional)):
        if unknown := [name for name in names if not is_named(name)]:
            raise ScopeError(part, f"must name claims: {str(unknown[0])[:100]} is none")
        if len(set(names)) != len(names):
            raise ScopeError(part, "must name each claim once")
    if both := [name for name in optional if name in required]:
        raise ScopeError("optional_claims", f"must not name {both[0]}, which is required")


THE_BASIC_SCOPE = ScopeRecord(
    BASIC, "Name and age over 18", ("given_name", "family_name", "age_equal_or_over.18")
)

Scopes = Mapping[str, ScopeRecord]
ONLY_BASIC: Scopes = MappingProxyType({BASIC: THE_BASIC_SCOPE})


@lru_cache(maxsize=200)  # every request of an interaction reads it, and there are few scopes
def from_text(text: str) -> Scopes:
    """The scopes in a list of `text`s; raises ScopeError for anything else, and for claims that are gone."""
    try:
        kept: Any = json.loads(text)
        scopes = [
            ScopeRecord(urn, title, tuple(required), tuple(optional))
            for urn, title, required, optional in kept
        ]
    except (ValueError, TypeError, RecursionError) as error:
        if isinstance(error, ScopeError):
            raise
        raise ScopeError("claims", "were not written by this service") from None
    return MappingProxyType({scope.urn: scope for scope in scopes})
