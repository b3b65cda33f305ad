"""What the operations of the admin have in common: a reason, which goes into the history, and who gave it."""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any, cast

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractUser
from django.db.models import QuerySet
from django.utils.html import format_html
from django.utils.translation import ngettext

from infra.operations import Done, Operation, Run
from infra.words import Words
from wallet.models import StatusEntry
from wallet.sign_in.forms import ReasonForm


def done(said: Words, values: dict[str, Any]) -> Done:
    """What the history says: what was done, and the reason that was given."""
    return Done(f"{said}: {values['reason']}")


def with_reason(use_case: Callable[..., object], said: Words) -> Run:
    """Runs a use case with the row, the actor, the reason and the time; `said` goes into the history."""

    def run(row: Any, values: dict[str, Any], operator: str, now: datetime) -> Done:
        use_case(row, actor=operator, reason=values["reason"], now=now)
        return done(said, values)

    return run


def operator_named(name: str) -> AbstractUser:
    """Who is signed in: entries of the audit name them by ID."""
    return cast(AbstractUser, get_user_model()._default_manager.get_by_natural_key(name))


def presented_count(presented: Callable[..., QuerySet[StatusEntry]]) -> Callable[[Any, datetime], list[str]]:
    """For the confirmation page: how many unexpired presented credentials the operation invalidates."""

    def details(row: Any, now: datetime) -> list[str]:
        count = presented(row, now=now).count()
        said = ngettext(
            "<strong>{}</strong> presented credential that has not ended is hit.",
            "<strong>{}</strong> presented credentials that have not ended are hit.",
            count,
        )
        return [format_html(said, count)]

    return details


needs_reason = partial(Operation, form=ReasonForm)
