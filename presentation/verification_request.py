"""What a relying application sends to have a presentation verified for it: a JSON object, read strictly."""

from dataclasses import dataclass
from typing import Any

from infra import strict_json
from infra.strict_json import StrictJsonError
from presentation.errors import InvalidTransactionDataError
from presentation.transaction_data import entries

LONGEST = 262_144  # bytes: the longest presentation, with the longest transaction data beside it, twice
_LONGEST_NONCE = 512


class VerificationRequestError(ValueError):
    """Nothing can be verified for this; the text says why, and nothing of the values."""


@dataclass(frozen=True, repr=False)
class VerificationRequest:
    """What to verify, and what it must be bound to."""

    vp_token: str | dict[str, Any]
    nonce: str
    transaction_data: tuple[str, ...]


def parse(body: bytes) -> VerificationRequest:
    """The request; raises VerificationRequestError."""
    try:
        said = strict_json.loads(body.decode(), deepest=4)
    except UnicodeDecodeError:
        raise VerificationRequestError("The body must be UTF-8.") from None
    except StrictJsonError as error:
        raise VerificationRequestError(f"The body {error}.") from None
    if not isinstance(said, dict):
        raise VerificationRequestError("The body must be a JSON object.")
    vp_token, nonce = said.get("vp_token"), said.get("nonce")
    if not isinstance(vp_token, str | dict) or not vp_token:
        raise VerificationRequestError("vp_token is needed, as it came in the answer.")
    if not isinstance(nonce, str) or not 0 < len(nonce) <= _LONGEST_NONCE:
        raise VerificationRequestError("nonce is needed, as it was in the request.")
    return VerificationRequest(vp_token, nonce, _transaction_data(said.get("transaction_data")))


def _transaction_data(said: Any) -> tuple[str, ...]:
    """The strings in their order, given as a list or as the parameter had them."""
    try:
        values = entries.separate(said) if isinstance(said, str) and said else said
    except InvalidTransactionDataError as error:
        raise VerificationRequestError(f"{error.description}.") from None
    if values is None:
        return ()
    if not isinstance(values, list) or not all(map(entries.is_base64url, values)):
        raise VerificationRequestError(
            "transaction_data must be a list of the strings that were sent, which are base64url."
        )
    if len(values) > entries.MOST_VALUES or sum(map(len, values)) > entries.LONGEST_IN_ALL:
        raise VerificationRequestError("transaction_data is more than a request may have.")
    return tuple(values)
