"""Operations of the admin as data; `infra.admin.operations` offers, confirms, runs and records them."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Model
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from infra.words import Words

Wording = Words | Callable[[Any], Words]  # one text for all rows, or a function of the row
# The exceptions by which operations refuse, and the text for the operator ("": the text of the exception).
Refusals = Mapping[type[Exception], Words]

SOMEBODY_WAS_FASTER = _("Somebody was faster: nothing was changed.")


class WrongStateError(Exception):
    """The row is not in the state that the operation begins from, or not any more. Nothing was changed."""


class Done(NamedTuple):
    """The text for the history of the row, or of the row that the operation added."""

    text: str
    added: Model | None = None


Run = Callable[[Any, dict[str, Any], str, datetime], Done]


def _has_a_page_of_its_own(row: Any, values: dict[str, Any], operator: str, now: datetime) -> Done:
    raise NotImplementedError("This operation has a page of its own in place of `run`.")


@dataclass(frozen=True, kw_only=True)
class Operation:
    """An action that an operator may run on a row or, with `on_list`, without a row.

    `run` takes the row (the model with `on_list`), the form's values, the operator's name and the time. It
    raises WrongStateError or one of the admin's `refusals` if it changes nothing.
    """

    label: Wording  # of the button
    title: Wording = ""  # of the page; empty: the label
    question: Wording = ""
    run: Run = _has_a_page_of_its_own
    on_list: bool = False
    states: Collection[Any] = ()  # of the rows that show its button; empty: any state
    suits: Callable[[Any], bool] = lambda row: True  # a further condition for the button
    form: type[Form] = Form
    initial: Callable[[Any], dict[str, Any]] = lambda row: {}
    details: Callable[[Any, datetime], list[str]] = lambda row, now: []  # for the confirmation page
    needs: str = ""  # a permission, besides the one to change such rows
    irreversible: bool = False
    # Whether it stops the service for everybody: the operator then types the row's name and a second factor.
    stops_all: Callable[[Any, datetime], bool] = lambda row, now: False
    # In place of the confirmation page: takes the admin, the request and the row.
    page: Callable[[Any, HttpRequest, Any], HttpResponse] | None = None


def text_for(wording: Wording, row: Any) -> Words:
    """The text for this row."""
    return wording(row) if callable(wording) else wording
