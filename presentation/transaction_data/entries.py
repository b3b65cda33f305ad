"""The `transaction_data` parameter: what a presentation is bound to beyond its claims (OpenID4VP 1.0 §8.4).

Values arrive separated by spaces (the contract) or as a JSON array (OpenID4VP 1.0 §5.1). Each value keeps the
string exactly as received, because the hash is over that string.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from django.utils import translation

from infra import base64url, strict_json
from infra.base64url import Base64urlError
from infra.strict_json import StrictJsonError
from presentation.errors import InvalidTransactionDataError
from presentation.transaction_data import money
from presentation.transaction_data.display import blocks, payment
from presentation.transaction_data.fields import MOST_MONEY, Amount, FieldError
from presentation.transaction_data.types import TYPES, TransactionDataType
from wallet.sd_jwt.issuance import digest

MOST_VALUES = 10
LONGEST_VALUE = 8192
LONGEST_IN_ALL = 32768  # as `parameters.LIMITS` has checked
HASH_ALGORITHM = "sha-256"


@dataclass(frozen=True, repr=False)  # no repr: it would show account numbers in logs
class TransactionData:
    """One value: the string as received, and what was read from it. Amounts in the payload are Decimals."""

    received: str
    type: str
    credential_ids: tuple[str, ...]
    payload: dict[str, Any]

    @property
    def hash(self) -> str:
        """Its entry in `transaction_data_hashes` of the KB-JWT."""
        return digest(self.received)

    @property
    def consequential(self) -> bool:
        """Whether the holder's consent moves money."""
        return TYPES[self.type].consequential


def parse(
    parameter: str, *, credential_ids: Collection[str], allowed_types: Collection[str]
) -> tuple[TransactionData, ...]:
    """The values of the parameter, in their order.

    Raises InvalidTransactionDataError naming the value's position (from 1) and the field.
    """
    values = separate(parameter)
    if not 1 <= len(values) <= MOST_VALUES:
        raise InvalidTransactionDataError(f"transaction_data must have from 1 to {MOST_VALUES} values")
    parsed = []
    for position, value in enumerate(values, start=1):
        try:
            parsed.append(_parse_value(value, credential_ids, allowed_types))
        except FieldError as error:
            raise InvalidTransactionDataError(f"transaction_data value {position}: {error}") from None
    return tuple(parsed)


def display(value: TransactionData) -> dict[str, Any]:
    """The value as the consent page shows it (`consent.blocks.Transaction` as JSON), in source texts."""
    declared = TYPES[value.type]
    with translation.override(None):  # `consent` translates when it shows them
        shown = {
            "kind": declared.urn,
            "title": str(declared.title),
            "blocks": blocks(declared, value.payload),
            "consequential": declared.consequential,
        }
    paid = payment(declared, value.payload)
    return shown | ({"payment": paid} if paid else {})


def authorising(credential_ids: Iterable[str], answered: Collection[str]) -> str | None:
    """The query whose presentation has the hash of a value with these `credential_ids` (§8.4: only one)."""
    return next((id for id in credential_ids if id in answered), None)


def separate(parameter: str) -> list[Any]:
    """The values of the parameter in either form, not validated; raises InvalidTransactionDataError."""
    if not parameter.startswith("["):
        return parameter.split(" ")
    try:
        values = strict_json.loads(parameter)
    except StrictJsonError as error:
        raise InvalidTransactionDataError(f"transaction_data as an array {error}") from None
    assert isinstance(values, list)
    return values


def is_base64url(value: Any) -> bool:
    """Whether the value is base64url, as every value that the parameter accepts."""
    try:
        return isinstance(value, str) and bool(_octets(value))
    except Base64urlError:
        return False


def decoded(value: Any) -> Any:
    """The JSON inside one base64url value (RFC 4648 §5, canonical); raises FieldError."""
    if not isinstance(value, str):
        raise FieldError("must be a string")
    if len(value) > LONGEST_VALUE:
        raise FieldError(f"must not be longer than {LONGEST_VALUE} characters")
    if not is_base64url(value):
        raise FieldError("must be base64url in its canonical form")
    try:
        text = _octets(value).decode("utf-8")
    except UnicodeDecodeError:
        raise FieldError("must be UTF-8") from None
    try:
        return strict_json.loads(text)
    except StrictJsonError as error:
        raise FieldError(str(error)) from None


def _octets(value: str) -> bytes:
    """Padding may be there, as Python's own encoder writes it; raises Base64urlError."""
    bare = value.rstrip("=")
    complete = len(value) % 4 == 0 and len(value) - len(bare) < 3
    return base64url.decode(bare if complete else value)


def _parse_value(value: Any, credential_ids: Collection[str], allowed: Collection[str]) -> TransactionData:
    members = decoded(value)
    declared = _declared(members, allowed)
    clean = declared.envelope.read(members, "")
    for index, credential_id in enumerate(clean["credential_ids"]):
        if credential_id not in credential_ids:
            raise FieldError(
                f"credential_ids[{index}] names no credential query of this request that wants holder binding"
            )
    if HASH_ALGORITHM not in clean.get("transaction_data_hashes_alg", (HASH_ALGORITHM,)):
        raise FieldError(f"transaction_data_hashes_alg must contain {HASH_ALGORITHM}")
    _check_money(declared, clean["payload"])
    return TransactionData(value, declared.urn, clean["credential_ids"], clean["payload"])


def _declared(members: Any, allowed: Collection[str]) -> TransactionDataType:
    if not isinstance(members, dict):
        raise FieldError("must be a JSON object")
    if "type" not in members:
        raise FieldError("type is missing")
    urn = members["type"]
    if not isinstance(urn, str):
        raise FieldError("type must be a string")
    if urn not in TYPES:
        raise FieldError("type is unknown")
    if urn not in allowed:
        raise FieldError("type is not allowed for this client")
    return TYPES[urn]


def _check_money(declared: TransactionDataType, payload: dict[str, Any]) -> None:
    """Checks what depends on the currency: the decimal places of the amount, or the sum of the line items."""
    name = declared.amount
    if not name:
        return
    if isinstance(declared.fields[name], Amount):
        try:
            money.in_minor_units(payload[name], payload["currency"])
        except ValueError as error:
            raise FieldError(f"payload.{name} {error}") from None
    elif not 0 <= money.total(payload[name], payload["currency"]) < MOST_MONEY:
        raise FieldError(f"payload.{name} must come to zero or more, and less than {MOST_MONEY}")
