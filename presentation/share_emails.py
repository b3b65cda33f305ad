"""“You shared …” e-mails, for holders who switched them on.

Nothing of this happens while a relying party or a person waits: the answer stores only, with its question,
that an e-mail is due (`Consent.email_due`), and the worker writes it afterwards and puts
it into the outbox. For holders who have not switched them on, nothing is stored or read.
"""

from datetime import datetime

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext

from consent import decisions
from consent.models import Consent
from consent.receipts import Receipt
from infra import jobs, runs
from presentation.models import Interaction
from wallet.emails import holder_emails
from wallet.models import Wallet


def send_due(*, now: datetime, batch: int = 500) -> int:
    """Put the e-mails that are due into the outbox, and return their number."""
    late = now - decisions.EMAIL_DUE_FOR
    granted = Consent.objects.filter(email_due=True, decision=Consent.Decision.GRANTED)
    granted.filter(decided_at__lte=late).update(email_due=False)
    sent = 0
    for consent in _due(now=now).order_by("decided_at")[:batch]:
        jobs.next_batch()
        with (
            runs.isolated("share_email_not_sent", consent=str(consent.id)),
            holder_emails.as_read_by(consent.wallet),
        ):
            sent += _send_once(consent, now=now)
    return sent


def _due(*, now: datetime) -> QuerySet[Consent]:
    """The answers that were given. A posted answer was given when it was delivered; when it has expired and
    may have arrived, it counts as well, as on the receipt."""
    arrived = Q(interaction__delivery__delivered_at__isnull=False)
    arrived |= Q(interaction__delivery__expires_at__lte=now, interaction__delivery__left_here=True)
    answered = Q(interaction__outcome=Interaction.Outcome.TOKEN)
    return Consent.objects.select_related("wallet").filter(
        answered & (Q(interaction__response_uri="") | arrived),
        email_due=True,
        decision=Consent.Decision.GRANTED,
        undelivered_at=None,
        decided_at__gt=now - decisions.EMAIL_DUE_FOR,
        wallet__state=Wallet.State.ACTIVE,
        wallet__closed_at=None,
        wallet__share_emails=True,
    )


@transaction.atomic
def _send_once(consent: Consent, *, now: datetime) -> bool:
    """Whether this process has put it into the outbox."""
    if Consent.objects.filter(id=consent.id, email_due=True).update(email_due=False) != 1:
        return False  # another process does
    if consent.wallet is None:  # closed meanwhile
        return False
    receipt = Receipt.of(consent, now=now, with_content=False)
    holder_emails.send_shared(
        consent.wallet,
        receipt=str(consent.id),
        requester=receipt.requester.name,
        domain=receipt.requester.domain,
        at=consent.decided_at or consent.asked_at,
        claims=receipt.claims,
        transactions=[gettext(display.title) for display in receipt.transactions],
    )
    return True
