"""The parameters of a request in the database: transaction data is sealed, because it names accounts.

The others stay in clear. The way back needs `state` and `response_mode` even while a sealing key is missing.
"""

from infra.sealing import seal, unseal
from presentation.models import Interaction, PushedRequest
from presentation.requests.parameters import Parameters

_SEALED = "transaction_data"


def store(row: Interaction | PushedRequest, parameters: Parameters) -> None:
    """Put the parameters into a row that is not saved yet."""
    row.parameters = {name: value for name, value in parameters.values.items() if name != _SEALED}
    if said := parameters.get(_SEALED):
        row.sealed_transaction_data = seal(said.encode(), context=_context(row))


def stored(row: Interaction | PushedRequest) -> Parameters:
    """The parameters as they were received; raises `SealError` when the transaction data does not open."""
    if row.sealed_transaction_data is None:
        return Parameters(row.parameters)
    said = unseal(row.sealed_transaction_data, context=_context(row)).decode()
    return Parameters({**row.parameters, _SEALED: said})


def _context(row: Interaction | PushedRequest) -> str:
    return row.SEALED["sealed_transaction_data"].format(pk=row.pk)
