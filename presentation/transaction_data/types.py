"""The four types of transaction data. Validation and display follow from these declarations.

Names, JSON types and which fields are required come from the contract (Resources: transaction data object).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from infra.words import Words
from presentation.transaction_data.fields import (
    AccountNumber,
    Amount,
    Currency,
    Field,
    Integer,
    IPAddress,
    ListOf,
    Object,
    PaymentInstrument,
    Text,
    UnitPrice,
)

_URN = "urn:service:params:vc:transaction-data:"


@dataclass(frozen=True, kw_only=True)
class TransactionDataType:
    """One type: its name on the wire, its title for the holder, the fields of its payload, and its layout.

    amount: the field with the sum of money that the holder approves, or with the line items that add up to
    it. Empty for a type that moves no money. The consent page shows the sum first.
    layout: what the consent page shows below. A name stands for an object or line items (shown as a table
    under their label) or for a text (shown as a quotation). A tuple of names is one table of texts.
    payee: the paths of the fields that name who is paid, the best first; none if the type names nobody.
    introduction: a sentence above the first block, with a place `%(requester)s`.
    """

    urn: str
    title: Words
    fields: Mapping[str, Field]
    layout: tuple[str | tuple[str, ...], ...]
    amount: str = ""
    payee: tuple[tuple[str, str], ...] = ()
    introduction: Words = ""

    @property
    def consequential(self) -> bool:
        """Whether the holder's consent moves money."""
        return bool(self.amount)

    @property
    def payload(self) -> Object:
        """The member `payload`."""
        return Object(fields=self.fields)

    @property
    def envelope(self) -> Object:
        """The whole transaction data object."""
        return Object(
            fields={
                "type": Text(longest=100),
                "credential_ids": ListOf(item=Text(longest=100), most=10),
                "payload": self.payload,
                "transaction_data_hashes_alg": ListOf(item=Text(longest=40), most=10, required=False),
            }
        )


_CURRENCY = Currency(_("Currency"))

_ITEM = Object(
    fields={
        "quantity": Integer(_("Quantity"), least=1, most=1_000_000),
        "unit_cost": UnitPrice(_("Price each")),
        "label": Text(_("Item")),
    }
)

_RECIPIENT = Object(
    _("To"),
    fields={
        "individual_name": Text(_("Name"), required=False),
        "institution_name": Text(_("Bank")),
        "routing_number": Text(_("Routing number"), longest=64),
        "account_number": AccountNumber(_("Account number")),
        "website": Text(_("Website"), required=False, longest=200),
    },
)

_SOURCE = Object(
    _("From"),
    fields={
        "individual_name": Text(_("Name")),
        "institution_name": Text(_("Bank"), required=False),
        "account_number": AccountNumber(_("Account number")),
        "routing_number": Text(_("Routing number"), longest=64),
    },
)

# How people know the common kinds of instruments. Each name stands for one value of `type`, so that nothing
# is lost; other values are shown as received.
KINDS_OF_INSTRUMENTS: Mapping[str, Words] = {
    "card": _("Card, %(identifier)s"),
    "credit_card": _("Credit card, %(identifier)s"),
    "debit_card": _("Debit card, %(identifier)s"),
    "prepaid_card": _("Prepaid card, %(identifier)s"),
    "bank_account": _("Bank account, %(identifier)s"),
    "us_bank_account": _("US bank account, %(identifier)s"),
    "bank_transfer": _("Bank transfer, %(identifier)s"),
    "sepa_debit": _("SEPA debit, %(identifier)s"),
    "sepa_direct_debit": _("SEPA direct debit, %(identifier)s"),
    "sepa_credit_transfer": _("SEPA credit transfer, %(identifier)s"),
    "bacs_debit": _("Bacs Direct Debit, %(identifier)s"),
    "ach_debit": _("ACH debit, %(identifier)s"),
    "apple_pay": "Apple Pay, %(identifier)s",
    "google_pay": "Google Pay, %(identifier)s",
    "paypal": "PayPal, %(identifier)s",
    "ideal": "iDEAL, %(identifier)s",
    "pix": "Pix, %(identifier)s",
    "upi": "UPI, %(identifier)s",
}

_PAYMENT_INSTRUMENT = PaymentInstrument(
    _("Paid with"),
    fields={
        "type": Text(_("Kind")),
        "id": Text(_("Identifier"), longest=200),
        "instruction": Text(_("Instruction"), required=False, longest=500),
    },
)

_PAYEE = Object(
    _("Paid to"),
    fields={
        "id": Text(_("Identifier"), required=False, longest=200),
        "name": Text(_("Name")),
        "website": Text(_("Website"), required=False, longest=200),
    },
)

SESSION_DATA = TransactionDataType(
    urn=_URN + "session-data",
    title=_("This device"),
    fields={
        "ip_address": IPAddress(_("IP address")),
        "device_id": Text(_("Device identifier"), required=False, longest=200),
    },
    layout=(("ip_address", "device_id"),),
    introduction=_("%(requester)s says you are on this device. Your answer will include:"),
)

PAYMENT_ITEMIZED = TransactionDataType(
    urn=_URN + "payment-itemized:v1",
    title=_("Approve a payment"),
    fields={
        "title": Text(_("Payment"), required=False),
        "description": Text(_("Description"), required=False, longest=500),
        "currency": _CURRENCY,
        "items": ListOf(_("Items"), most=100, item=_ITEM),
    },
    amount="items",
    layout=(("title", "description"), "items"),
)

WIRE_INSTRUCTIONS = TransactionDataType(
    urn=_URN + "wire-instructions:v1",
    title=_("Approve a bank transfer"),
    fields={
        "recipient": _RECIPIENT,
        "source": _SOURCE,
        "amount": Amount(_("Amount")),
        "currency": _CURRENCY,
        "memo": Text(_("Reference"), required=False, longest=500),
    },
    amount="amount",
    payee=(("recipient", "individual_name"), ("recipient", "institution_name")),
    layout=(("memo",), "recipient", "source"),  # the memo last would look like a part of the source
)

PAYMENT_MANDATE = TransactionDataType(
    urn=_URN + "payment-mandate:v1",
    title=_("Authorise a payment"),
    fields={
        "payment_instrument": _PAYMENT_INSTRUMENT,
        "payee": _PAYEE,
        "prompt_summary": Text(_("In their words"), longest=1000),
        "amount": Amount(_("Amount"), zero=True),
        "currency": _CURRENCY,
    },
    amount="amount",
    payee=(("payee", "name"),),
    layout=("prompt_summary", "payee", "payment_instrument"),
)

TYPES: Mapping[str, TransactionDataType] = {
    declared.urn: declared
    for declared in (SESSION_DATA, PAYMENT_ITEMIZED, WIRE_INSTRUCTIONS, PAYMENT_MANDATE)
}
