"""The mutants, by the part of the service that they break."""

from tests.mutants.tables import clients, keys, outbound, sign_in, statuses, tokens

MUTANTS = (
    *sign_in.MUTANTS,
    *clients.MUTANTS,
    *tokens.MUTANTS,
    *statuses.MUTANTS,
    *keys.MUTANTS,
    *outbound.MUTANTS,
)
