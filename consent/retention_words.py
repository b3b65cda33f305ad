"""What holders read about the data that this app keeps of them, by the “what” of the entry in `retention`."""

from django.conf import settings
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from infra.retention import ForPeople


def _transactions_kept() -> str:
    years = settings.TRANSACTION_RETENTION_YEARS
    if settings.TRANSACTION_LEGAL_HOLD:
        text = ngettext(
            "%(years)d year after you were asked. The law demands it, even if you close your wallet.",
            "%(years)d years after you were asked. The law demands it, even if you close your wallet.",
            years,
        )
    else:
        text = ngettext(
            "%(years)d year after you were asked, or until you close your wallet",
            "%(years)d years after you were asked, or until you close your wallet",
            years,
        )
    return text % {"years": years}


_RECEIPT = ForPeople(
    _("Your receipts: who asked, for what, when, and your answer. Never the values you shared."),
    _("So that you and we have in writing what you agreed to."),
    _("For ever. When you close your wallet, we remove that it was you."),
)
PEOPLE = {
    "consent record: who asked, names of claims, hash of the request, the answer": _RECEIPT,
    "consent record: type, title and hash of each transaction": _RECEIPT,
    "consent record: whether an e-mail about the answer is to be sent": ForPeople(
        _("That an e-mail about what you shared is still to be sent, if you want these e-mails"),
        _("You asked us to send them."),
        _("Until the e-mail is sent, a day at most"),
    ),
    "question that nobody answered": ForPeople(
        _("Requests that you did not answer"),
        _("You may come back to the page."),
        _("A day after the request ended"),
    ),
    "consent record: what the holder was shown of each transaction (amounts, accounts, payer, payee, "
    "reference, device)": ForPeople(
        _("What you were shown of each payment: amounts, accounts, payer, payee, device. Encrypted."),
        _("Your receipts show it."),
        _transactions_kept,
    ),
}
