"""How this app erases what requests keep of a person. Their download has it as receipts."""

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from consent import decisions
from infra.personal_data import Eraser, Person
from infra.retention import delete, pages
from presentation.errors import AccessDeniedError
from presentation.models import AuthorizationCode, Delivery, Interaction, PushedRequest
from presentation.requests import interactions


def erase_requests(person: Person, *, now: datetime, batch: int) -> int:
    """End open requests without an answer, and empty what they and answered ones say of the person."""
    erased = _forget_all(Interaction.objects.filter(consent__wallet=person.id), now=now, batch=batch)
    if not person.address:
        return erased
    by_login_hint = {"parameters__login_hint__iexact": person.address}
    begun = Interaction.objects.filter(outcome=Interaction.Outcome.NONE, created_at__lte=person.known_until)
    erased += _forget_all(begun.filter(**by_login_hint), now=now, batch=batch)
    until = person.known_until + interactions.LIFETIME
    pushed = PushedRequest.objects.filter(**by_login_hint, expires_at__lte=until)
    return erased + delete(pushed, by="digest", batch=batch)


def _forget_all(rows: QuerySet[Interaction], *, now: datetime, batch: int) -> int:
    id_pages = (page.values_list("id", flat=True) for page in pages(rows, by="id", batch=batch))
    return sum(_forget(list(ids), now) for ids in id_pages)


@transaction.atomic
def _forget(ids: list[Any], now: datetime) -> int:
    rows = Interaction.objects.filter(id__in=ids)
    unanswered, not_posted = Q(outcome=Interaction.Outcome.NONE), Q(delivery__delivered_at=None)
    never = rows.filter(unanswered | (not_posted & ~Q(delivery=None)))
    consents = never.exclude(consent=None).values_list("consent_id", flat=True)
    decisions.note_undelivered(*consents, now=now)
    rows.filter(outcome=Interaction.Outcome.NONE).update(
        outcome=Interaction.Outcome.ERROR, error=AccessDeniedError.error, answered_at=now
    )
    Delivery.objects.filter(interaction__in=ids).update(sealed_body=b"", sealed_onward=b"", expires_at=now)
    codes = AuthorizationCode.objects.filter(interaction__in=ids)
    codes.update(sealed_answer=b"", access_digest=None, expires_at=now)
    return rows.update(browser="", parameters={}, sealed_transaction_data=None, redirect_task=None)


ERASERS: tuple[Eraser, ...] = (erase_requests,)
