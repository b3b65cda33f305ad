"""The mutants, by the part of the service that they break."""

from tests.mutants.tables import (
    clients,
    consents,
    keys,
    operators,
    outbound,
    service,
    sign_in,
    statuses,
    tokens,
)

_PARTS = (sign_in, clients, consents, tokens, statuses, keys, outbound, operators, service)
MUTANTS = tuple(mutant for part in _PARTS for mutant in part.MUTANTS)
