"""The four types of transaction data, declared once: validation, display and documentation follow from here.

Names, types and requiredness are the contract's (Resources: transaction data object).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from presentation.transaction_data.fields import (
    MOST_MONEY,
    AccountNumber,
    Amount,
    Currency,
    Integer,
    IPAddress,
    ListOf,
    Object,
    Text,
    UnitPrice,
)

_URN = "urn:service:params:vc:transaction-data:"


@dataclass(frozen=True)
class Figure:
    """The amount of money it is about: that of a field, or the sum of the line items."""

    label: str | Promise
    field: str = ""
    sum_of: str = ""


@dataclass(frozen=True)
class Quote:
    """One text, in the relying application's own words."""

    field: str


@dataclass(frozen=True)
class Rows:
    """Labels and values: the whole object at `inside`, or the named fields of the payload."""

    heading: str | Promise = ""
    inside: str = ""
    fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class Items:
    """Line items with what each comes to, and their sum."""

    field: str
    heading: str | Promise


Part = Figure | Quote | Rows | Items


@dataclass(frozen=True)
class TransactionDataType:
    """One type: its name on the wire, what it asks of the person, its payload, and how that is laid out.

    `consequential` says that agreeing moves money; `rules` is Markdown for what no single field can say.
    """

    urn: str
    title: str | Promise
    about: str
    payload: Object
    layout: tuple[Part, ...]
    consequential: bool = True
    rules: str = ""

    @property
    def envelope(self) -> Object:
        """The whole transaction data object."""
        return Object(
            fields={
                "type": Text(about="One of the supported type URNs", longest=100),
                "credential_ids": ListOf(
                    item=Text(longest=100),
                    most=10,
                    about="Credential query IDs this transaction data applies to",
                ),
                "payload": self.payload,
                "transaction_data_hashes_alg": ListOf(
                    item=Text(longest=40),
                    most=10,
                    required=False,
                    about="Hash algorithms the application accepts (OpenID4VP 1.0 B.3.3); one is `sha-256`",
                ),
            }
        )


def _currency() -> Currency:
    return Currency(label=_("Currency"), about="Currency code")


_LINE_ITEMS = f"""\
* The total of a line is `quantity` × `unit_cost`, rounded to the currency's own minor units (two decimal
  places for `EUR`, none for `JPY`). Exact halves are rounded away from zero: 0.125 EUR becomes 0.13 EUR, and
  -0.125 EUR becomes -0.13 EUR.
* The amount to pay is the sum of the rounded lines. It must be zero or more, and less than {MOST_MONEY:,}.
* The person sees quantity, price and rounded total of each line, and the sum. Work out the amount that you
  charge in the same way, with decimal numbers: in binary floating point `0.1 + 0.2` is not `0.3`.
* A discount is a line with a negative `unit_cost`. A `quantity` is never negative.
"""


SESSION_DATA = TransactionDataType(
    urn=_URN + "session-data",
    title=_("This device"),
    about="Binds session context to the presentation.",
    consequential=False,
    payload=Object(
        about="Type-specific data",
        fields={
            "ip_address": IPAddress(label=_("IP address"), about="IP address of the end user"),
            "device_id": Text(
                label=_("Device identifier"),
                about="Device identifier of the end user",
                required=False,
                longest=200,
            ),
        },
    ),
    layout=(Rows(fields=("ip_address", "device_id")),),
)

PAYMENT_ITEMIZED = TransactionDataType(
    urn=_URN + "payment-itemized:v1",
    title=_("Approve a payment"),
    about="Binds an itemized payment summary.",
    payload=Object(
        about="Type-specific data",
        fields={
            "title": Text(label=_("Payment"), about="Title of the payment", required=False),
            "description": Text(
                label=_("Description"), about="Description of the payment", required=False, longest=500
            ),
            "currency": _currency(),
            "items": ListOf(
                label=_("Items"),
                about="Line items",
                most=100,
                item=Object(
                    fields={
                        "quantity": Integer(
                            label=_("Quantity"), about="Quantity of the item", least=1, most=1_000_000
                        ),
                        "unit_cost": UnitPrice(label=_("Price each"), about="Cost per unit"),
                        "label": Text(label=_("Item"), about="Label describing the item"),
                    },
                ),
            ),
        },
    ),
    layout=(
        Figure(_("To pay"), sum_of="items"),
        Rows(fields=("title", "description")),
        Items("items", _("Items")),
    ),
    rules=_LINE_ITEMS,
)

WIRE_INSTRUCTIONS = TransactionDataType(
    urn=_URN + "wire-instructions:v1",
    title=_("Approve a bank transfer"),
    about="Binds wire transfer instructions.",
    payload=Object(
        about="Type-specific data",
        fields={
            "recipient": Object(
                label=_("To"),
                about="Recipient of the transfer",
                fields={
                    "individual_name": Text(
                        label=_("Name"), about="Name of the recipient individual", required=False
                    ),
                    "institution_name": Text(label=_("Bank"), about="Name of the recipient institution"),
                    "routing_number": Text(
                        label=_("Routing number"), about="Routing number of the recipient account", longest=64
                    ),
                    "account_number": AccountNumber(
                        label=_("Account number"), about="Account number of the recipient"
                    ),
                    "website": Text(
                        label=_("Website"), about="Website of the recipient", required=False, longest=200
                    ),
                },
            ),
            "source": Object(
                label=_("From"),
                about="Funding source",
                fields={
                    "individual_name": Text(label=_("Name"), about="Name of the source individual"),
                    "institution_name": Text(
                        label=_("Bank"), about="Name of the source institution", required=False
                    ),
                    "account_number": AccountNumber(
                        label=_("Account number"), about="Account number of the source"
                    ),
                    "routing_number": Text(
                        label=_("Routing number"), about="Routing number of the source account", longest=64
                    ),
                },
            ),
            "amount": Amount(label=_("Amount"), about="Transfer amount"),
            "currency": _currency(),
            "memo": Text(label=_("Reference"), about="Memo or reference note", required=False, longest=500),
        },
    ),
    layout=(
        Figure(_("Amount"), field="amount"),
        Rows(fields=("memo",)),  # before the headings, or it would read as the source's
        Rows(_("To"), inside="recipient"),
        Rows(_("From"), inside="source"),
    ),
)

PAYMENT_MANDATE = TransactionDataType(
    urn=_URN + "payment-mandate:v1",
    title=_("Authorise a payment"),
    about="Binds a payment mandate authorization.",
    payload=Object(
        about="Type-specific data",
        fields={
            "payment_instrument": Object(
                label=_("Paid with"),
                about="Instrument used for the mandate",
                fields={
                    "type": Text(label=_("Kind"), about="Type of payment instrument"),
                    "id": Text(
                        label=_("Identifier"), about="Identifier of the payment instrument", longest=200
                    ),
                    "instruction": Text(
                        label=_("Instruction"),
                        about="Instruction associated with the instrument",
                        required=False,
                        longest=500,
                    ),
                },
            ),
            "payee": Object(
                label=_("Paid to"),
                about="Payee receiving the payment",
                fields={
                    "id": Text(
                        label=_("Identifier"), about="Identifier of the payee", required=False, longest=200
                    ),
                    "name": Text(label=_("Name"), about="Name of the payee"),
                    "website": Text(
                        label=_("Website"), about="Website of the payee", required=False, longest=200
                    ),
                },
            ),
            "prompt_summary": Text(
                label=_("In their words"),
                about="Summary text displayed to the user for consent",
                longest=1000,
            ),
            "amount": Amount(label=_("Amount"), about="Payment amount", zero=True),
            "currency": _currency(),
        },
    ),
    layout=(
        Figure(_("Amount"), field="amount"),
        Quote("prompt_summary"),
        Rows(_("Paid to"), inside="payee"),
        Rows(_("Paid with"), inside="payment_instrument"),
    ),
)

TYPES: Mapping[str, TransactionDataType] = {
    declared.urn: declared
    for declared in (SESSION_DATA, PAYMENT_ITEMIZED, WIRE_INSTRUCTIONS, PAYMENT_MANDATE)
}
