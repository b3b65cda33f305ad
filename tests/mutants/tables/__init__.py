"""The mutants, by the part of the service that they break."""

from tests.mutants.tables import clients, consents, keys, outbound, service, sign_in, statuses, tokens

MUTANTS = (
    *sign_in.MUTANTS,
    *clients.MUTANTS,
    *tokens.MUTANTS,
    *statuses.MUTANTS,
    *consents.MUTANTS,
    *keys.MUTANTS,
    *outbound.MUTANTS,
    *service.MUTANTS,
)
