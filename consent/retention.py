"""The personal data in this app's tables, why it is stored, and for how long."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from consent import decisions
from consent.models import Consent, Report
from infra.moments import in_words, years_before
from infra.retention import Clearing, Due, ForPeople, Kept, expired, pages

UNANSWERED_KEPT = timedelta(days=1)  # after the question expired
REPORTS_KEPT = timedelta(days=365)


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
    _("Your receipts: who asked, for what, when, your answer, when you asked for deletion. Never values."),
    _("So that you and we have in writing what you agreed to."),
    _("For ever. When you close your wallet, we remove that it was you."),
)


def erase_transactions(*, now: datetime, batch: int) -> int:
    """Erase the content of transactions in records of questions asked so many years ago.

    Returns the number of records; each database transaction erases `batch` of them. The question and the
    answer stay, with the type and the hash of each transaction. A concurrent `reseal` does not restore the
    content, because it replaces only the value that it has read.
    """
    (due,) = old_transactions(now)
    batches = pages(due.rows, by=due.by, batch=batch)
    return sum(page.update(sealed_transactions=None, erased_at=now) for page in batches)


def old_transactions(now: datetime) -> list[Due]:
    """What `erase_transactions` erases."""
    before = years_before(now, settings.TRANSACTION_RETENTION_YEARS)
    rows = Consent.objects.filter(asked_at__lte=before, sealed_transactions__isnull=False)
    return [Due(rows, "asked_at", before)]


# A question to which another table refers is kept until the reference is gone.
_UNREFERENCED = Q(**{f"{relation.name}__isnull": True for relation in Consent._meta.related_objects})

ENTRIES = (
    Kept(
        "consent.Consent",
        columns=(
            "requester_id",
            "requester",
            "requester_sought",
            "claims",
            "optional_claims",
            "switched_on",
            "told",
            "request_hash",
            "return_to",
            "decision",
        ),
        what="consent record: who asked, names of claims, hash of the request, the answer",
        how="in clear; never a claim’s value",
        why="it is what you and the holder have in writing",
        how_long="for ever; without the holder once the wallet is closed",
        people=_RECEIPT,
    ),
    Kept(
        "consent.Consent",
        columns=("email_due",),
        what="consent record: whether an e-mail about the answer is to be sent",
        how="in clear",
        why="holders who switched these e-mails on get one for each answer",
        how_long=f"until it was sent, {in_words(decisions.EMAIL_DUE_FOR)} at most",
        people=ForPeople(
            _("That an e-mail about what you shared is still to be sent, if you want these e-mails"),
            _("You asked us to send them."),
            _("Until the e-mail is sent, a day at most"),
        ),
    ),
    Kept(
        "consent.Consent",
        columns=("transactions",),
        what="consent record: type, title and hash of each transaction",
        how="in clear",
        why="to tell which transaction a record is about",
        how_long="for ever",
        people=_RECEIPT,
    ),
    Kept(
        "consent.Consent",
        columns=(
            "requester_id",
            "requester",
            "requester_sought",
            "claims",
            "optional_claims",
            "told",
            "request_hash",
            "return_to",
            "transactions",
        ),
        what="question that nobody answered",
        how="as a consent record",
        why="the person may come back to the page",
        how_long=f"{in_words(UNANSWERED_KEPT)} after it expired",
        cleared_as="questions",
        clear=expired(
            Consent.objects.filter(decision=Consent.Decision.ASKED),
            kept=UNANSWERED_KEPT,
            where=_UNREFERENCED,
        ),
        people=ForPeople(
            _("Requests that you did not answer"),
            _("You may come back to the page."),
            _("A day after the request ended"),
        ),
    ),
    Kept(
        "consent.Consent",
        columns=("sealed_transactions",),
        what=(
            "consent record: what the holder was shown of each transaction (amounts, accounts, payer, "
            "payee, reference, device)"
        ),
        how="sealed",
        why="receipts show it; afterwards they and the admin say that it was erased, and when",
        how_long=(
            "`TRANSACTION_RETENTION_YEARS` calendar years after the question; until the wallet is closed "
            "unless `TRANSACTION_LEGAL_HOLD` is set"
        ),
        cleared_as="transactions",
        clear=Clearing(erase_transactions, old_transactions),
        people=ForPeople(
            _("What you were shown of each payment: amounts, accounts, payer, payee, device. Encrypted."),
            _("Your receipts show it."),
            _transactions_kept,
        ),
    ),
    Kept(
        "consent.Report",
        columns=("requester_id", "reason", "sealed_text"),
        what="report about a requester: the reason, and what the holder wrote",
        how="the text sealed; nothing leads to the holder",
        why="operators look into it",
        how_long=in_words(REPORTS_KEPT),
        cleared_as="reports",
        clear=expired(Report.objects.all(), kept=REPORTS_KEPT, by="reported_at"),
        people=ForPeople(
            _(
                "What you reported about an application: the reason and your words, encrypted. Not who you "
                "are."
            ),
            _("We look into it."),
            _("A year"),
        ),
    ),
)
