"""More time for an open request, when the person asks for it on a page."""

from datetime import datetime, timedelta

from django.db import transaction

from consent import decisions
from presentation.models import Interaction
from presentation.requests.interactions import LIFETIME, OpenInteraction
from wallet import redirect_tasks

# How long a request can be open when the person asks for more time. With a payment less, because the sign-in
# that it needs (`next_step.FRESH_FACTOR`) is from before the request.
LONGEST = timedelta(hours=2)
LONGEST_WITH_PAYMENT = timedelta(hours=1)


def longest_end(opened: OpenInteraction) -> datetime:
    """The time beyond which the interaction cannot be extended."""
    consequential = any(value.consequential for value in opened.request.transaction_data)
    return opened.row.created_at + (LONGEST_WITH_PAYMENT if consequential else LONGEST)


def give(opened: OpenInteraction, *, now: datetime) -> bool:
    """Gives another `LIFETIME` from now, but never beyond `longest_end`; returns whether it could.

    All rows change together or not at all.
    """
    row = opened.row
    until = min(now + LIFETIME, longest_end(opened))
    still_open = Interaction.objects.filter(
        id=row.id, outcome=Interaction.Outcome.NONE, expires_at__gt=now, expires_at__lt=until
    )
    with transaction.atomic():
        given = row.consent_id is None or decisions.extend(row.consent_id, until=until, now=now)
        given = given and still_open.update(expires_at=until) == 1
        if given and row.redirect_task_id:
            redirect_tasks.extend(row.redirect_task_id, until=until)
        transaction.set_rollback(not given)
    return given
