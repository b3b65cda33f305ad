"""The scopes that can be requested now.

The authorization endpoint reads the sum of all stamps in the statement that reads the relying party. While it
is that of the scopes in memory, no further statement is needed; once an operator has changed a scope in any
process, the next request reads them again.
"""

from types import MappingProxyType

import structlog
from django.db import InterfaceError, OperationalError
from django.db.models import Sum

from presentation.dcql.queries import BASIC
from presentation.scopes.models import Scope
from presentation.scopes.records import ONLY_BASIC, THE_BASIC_SCOPE, ScopeError, ScopeRecord, Scopes

log = structlog.get_logger(__name__)

# The scopes in memory with the sum of their stamps; replaced as a whole, so threads need no lock.
_known: tuple[int | None, Scopes] | None = None


def stamp() -> int | None:
    """The sum of all stamps, read now; None without scopes."""
    total: int | None = Scope.objects.aggregate(sum=Sum("stamp"))["sum"]
    return total


def at(stamp: int | None) -> Scopes:
    """The scopes whose stamps have this sum, from memory where possible."""
    return _known[1] if _known and _known[0] == stamp else current()


def remembered() -> Scopes:
    """The scopes in memory, as they were read last; read now if there are none."""
    return _known[1] if _known else current()


def advertised() -> Scopes:
    """The scopes for discovery: read now or, while the database is away, those in memory or the basic one.

    RFC 8414 §2 allows a server to advertise fewer scopes than it supports.
    """
    try:
        return current()
    except (OperationalError, InterfaceError):
        return _known[1] if _known else ONLY_BASIC


def current() -> Scopes:
    """The scopes, read now; the basic one first."""
    global _known
    rows = list(Scope.objects.order_by("urn"))
    records: dict[str, ScopeRecord] = {BASIC: THE_BASIC_SCOPE}  # whatever its row says
    for row in rows:
        if row.urn == BASIC:
            continue
        try:
            records[row.urn] = row.record
        except ScopeError as error:  # a claim of an earlier release, or a row changed by hand
            log.error("scope_not_usable", urn=row.urn, part=error.part)
    scopes = MappingProxyType(records)
    _known = sum(row.stamp for row in rows) if rows else None, scopes
    return scopes
