"""The mutants, by the part of the service that they break."""

from tests.mutants.tables import (
    answers,
    clients,
    consents,
    emails,
    identities,
    keys,
    operators,
    outbound,
    passkeys,
    requests,
    settings_and_headers,
    sign_in,
    statuses,
    stripe_identity,
    tokens,
)

_PARTS = (
    sign_in,
    passkeys,
    clients,
    requests,
    consents,
    answers,
    tokens,
    statuses,
    keys,
    outbound,
    emails,
    operators,
    settings_and_headers,
    identities,
    stripe_identity,
)
MUTANTS = tuple(mutant for part in _PARTS for mutant in part.MUTANTS)
