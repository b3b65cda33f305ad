"""More time for a request that a person has begun (WCAG 2.2, success criterion 2.2.1).

Only the end of the interaction, of its question and of its errand moves. Request, nonce, hash and the day for
which ages are computed stay as they were, so an extended request is answered like any other.
"""

from datetime import datetime

from django.db import transaction

from consent import decisions
from presentation.models import Interaction
from presentation.requests.interactions import LIFETIME, OpenInteraction
from presentation.requests.next_step import longest_end
from wallet import errands


class _TooLateError(Exception):
    """The question was answered, or the request ended, meanwhile."""


def give(opened: OpenInteraction, *, now: datetime) -> bool:
    """Gives another `LIFETIME` from now, but never beyond `longest_end`; returns whether it could.

    All rows change together or not at all. The rows are changed in the order in which `answers` changes them,
    so that neither waits for the other.
    """
    row = opened.row
    until = min(now + LIFETIME, longest_end(opened))
    still_open = Interaction.objects.filter(
        id=row.id, outcome=Interaction.Outcome.NONE, expires_at__gt=now, expires_at__lt=until
    )
    try:
        with transaction.atomic():
            if still_open.update(expires_at=until) != 1:
                raise _TooLateError
            if row.consent_id and not decisions.extend(row.consent_id, until=until, now=now):
                raise _TooLateError
            if row.errand_id:
                errands.extend(row.errand_id, until=until)
    except _TooLateError:
        return False
    return True
