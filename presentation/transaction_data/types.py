"""The four types of transaction data. Validation, display and documentation follow from these declarations.

Names, JSON types and which fields are required come from the contract (Resources: transaction data object).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from infra.words import Words
from presentation.transaction_data.fields import (
    MOST_MONEY,
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
    payee: the paths of the fields that name who is paid, the best first; none if the requester is paid.
    introduction: a sentence above the first block, with a place `%(requester)s`.
    rules: Markdown for the rules that concern several fields.
    """

    urn: str
    title: Words
    about: str
    fields: Mapping[str, Field]
    layout: tuple[str | tuple[str, ...], ...]
    amount: str = ""
    payee: tuple[tuple[str, str], ...] = ()
    introduction: Words = ""
    rules: str = ""

    @property
    def consequential(self) -> bool:
        """Whether the holder's consent moves money."""
        return bool(self.amount)

    @property
    def payload(self) -> Object:
        """The member `payload`."""
        return Object(about="Type-specific data", fields=self.fields)

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


_CURRENCY = Currency(_("Currency"), "Currency code")

_LINE_ITEMS = f"""\
* The total of a line is `quantity` × `unit_cost`, rounded to the currency's own minor units (two decimal
  places for `EUR`, none for `JPY`). Exact halves are rounded away from zero: 0.125 EUR becomes 0.13 EUR, and
  -0.125 EUR becomes -0.13 EUR.
* The amount to pay is the sum of the rounded lines. It must be zero or more, and less than {MOST_MONEY:,}.
* The person sees quantity, price and rounded total of each line, and the sum. Work out the amount that you
  charge in the same way, with decimal numbers: in binary floating point `0.1 + 0.2` is not `0.3`.
* A discount is a line with a negative `unit_cost`. A `quantity` is never negative.
"""

_ITEM = Object(
    fields={
        "quantity": Integer(_("Quantity"), "Quantity of the item", least=1, most=1_000_000),
        "unit_cost": UnitPrice(_("Price each"), "Cost per unit"),
        "label": Text(_("Item"), "Label describing the item"),
    }
)

_RECIPIENT = Object(
    _("To"),
    "Recipient of the transfer",
    fields={
        "individual_name": Text(_("Name"), "Name of the recipient individual", required=False),
        "institution_name": Text(_("Bank"), "Name of the recipient institution"),
        "routing_number": Text(_("Routing number"), "Routing number of the recipient account", longest=64),
        "account_number": AccountNumber(_("Account number"), "Account number of the recipient"),
        "website": Text(_("Website"), "Website of the recipient", required=False, longest=200),
    },
)

_SOURCE = Object(
    _("From"),
    "Funding source",
    fields={
        "individual_name": Text(_("Name"), "Name of the source individual"),
        "institution_name": Text(_("Bank"), "Name of the source institution", required=False),
        "account_number": AccountNumber(_("Account number"), "Account number of the source"),
        "routing_number": Text(_("Routing number"), "Routing number of the source account", longest=64),
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
    "Instrument used for the mandate",
    fields={
        "type": Text(_("Kind"), "Type of payment instrument"),
        "id": Text(_("Identifier"), "Identifier of the payment instrument", longest=200),
        "instruction": Text(
            _("Instruction"), "Instruction associated with the instrument", required=False, longest=500
        ),
    },
)

_PAYEE = Object(
    _("Paid to"),
    "Payee receiving the payment",
    fields={
        "id": Text(_("Identifier"), "Identifier of the payee", required=False, longest=200),
        "name": Text(_("Name"), "Name of the payee"),
        "website": Text(_("Website"), "Website of the payee", required=False, longest=200),
    },
)

SESSION_DATA = TransactionDataType(
    urn=_URN + "session-data",
    title=_("This device"),
    about="Binds session context to the presentation.",
    fields={
        "ip_address": IPAddress(_("IP address"), "IP address of the end user"),
        "device_id": Text(
            _("Device identifier"), "Device identifier of the end user", required=False, longest=200
        ),
    },
    layout=(("ip_address", "device_id"),),
    introduction=_("%(requester)s says you are on this device. Your answer will include:"),
)

PAYMENT_ITEMIZED = TransactionDataType(
    urn=_URN + "payment-itemized:v1",
    title=_("Approve a payment"),
    about="Binds an itemized payment summary.",
    fields={
        "title": Text(_("Payment"), "Title of the payment", required=False),
        "description": Text(_("Description"), "Description of the payment", required=False, longest=500),
        "currency": _CURRENCY,
        "items": ListOf(_("Items"), "Line items", most=100, item=_ITEM),
    },
    amount="items",
    layout=(("title", "description"), "items"),
    rules=_LINE_ITEMS,
)

WIRE_INSTRUCTIONS = TransactionDataType(
    urn=_URN + "wire-instructions:v1",
    title=_("Approve a bank transfer"),
    about="Binds wire transfer instructions.",
    fields={
        "recipient": _RECIPIENT,
        "source": _SOURCE,
        "amount": Amount(_("Amount"), "Transfer amount"),
        "currency": _CURRENCY,
        "memo": Text(_("Reference"), "Memo or reference note", required=False, longest=500),
    },
    amount="amount",
    payee=(("recipient", "individual_name"), ("recipient", "institution_name")),
    layout=(("memo",), "recipient", "source"),  # the memo last would look like a part of the source
)

PAYMENT_MANDATE = TransactionDataType(
    urn=_URN + "payment-mandate:v1",
    title=_("Authorise a payment"),
    about="Binds a payment mandate authorization.",
    fields={
        "payment_instrument": _PAYMENT_INSTRUMENT,
        "payee": _PAYEE,
        "prompt_summary": Text(
            _("In their words"), "Summary text displayed to the user for consent", longest=1000
        ),
        "amount": Amount(_("Amount"), "Payment amount", zero=True),
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
