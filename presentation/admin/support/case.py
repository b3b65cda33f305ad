"""Everything that operators may know about a holder or a request, as tables that refer to each other.

It contains no claim, no parameter of a request and no transaction. A row's number leads to its page in the
admin if the operator may see that page.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from operator import attrgetter
from typing import Any

from django.contrib.auth.models import AbstractUser
from django.db.models import Model, Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from consent import decisions
from consent.models import Consent
from infra.admin.row_ids import short
from infra.mail import outbox
from infra.mail.models import OutgoingEmail
from infra.moments import moment
from presentation.admin.support.search import SearchResult
from presentation.models import Interaction
from presentation.requests.delivery import deliveries
from presentation.webhooks.models import WebhookEvent
from wallet.credential.validity import for_operators
from wallet.models import IdentityVerification, Recovery, Wallet

SHOWN = 25  # rows of each kind, the newest
# What each column shows of a row, by its head: a cell, a time, a text or a number.
Columns = Mapping[str, Callable[[Any], object]]


@dataclass(frozen=True)
class Cell:
    """A text; address: where it leads, on this page (`#…`) or in the admin, or empty."""

    text: str
    address: str = ""
    whole: str = ""  # of a shortened ID


# A table: its name, title, heads and rows, and whether there are `more`, older ones. Each row has an anchor,
# which is its place on the page, and cells.
Table = dict[str, Any]


def case_of(result: SearchResult, user: AbstractUser, *, now: datetime) -> dict[str, Any]:
    """What the page shows: facts about the wallet, if there is one, and tables of what belongs to it.

    user: the operator, whose permissions decide which links it has.
    """
    show = _Show(user, now)
    wallet = result.wallet
    checks = list(wallet.verifications.order_by("-created_at")[: SHOWN + 1]) if wallet else []
    consents = _consents(result)
    requests = _requests(result, checks, consents)
    events = list(
        WebhookEvent.objects.filter(type__in=WebhookEvent.Type, subject__in=[str(one.pk) for one in requests])
        .select_related("relying_party")
        .order_by("-created_at")[: SHOWN + 1]
    )
    moves = list(Recovery.objects.filter(Q(old=wallet) | Q(new=wallet))[: SHOWN + 1]) if wallet else []
    tables = [
        show.checks(checks),
        show.consents(consents, requests),
        show.requests(requests),
        show.events(events),
        show.emails(_emails(result, now)),
        *([show.moves(moves)] if moves else []),
    ]
    return {"facts": show.facts(result), "tables": tables}


def masked(email: str) -> str:
    """The address with one letter and its domain, by which a holder recognises it and others do not."""
    name, _at, domain = email.rpartition("@")
    return f"{name[:1]}…@{domain}"


def _consents(result: SearchResult) -> list[Consent]:
    rows = list(result.wallet.consents.order_by("-asked_at")[: SHOWN + 1]) if result.wallet else []
    if result.consent and result.consent not in rows:
        rows.insert(0, result.consent)
    return rows


def _emails(result: SearchResult, now: datetime) -> list[OutgoingEmail]:
    address = result.address or (result.wallet.email if result.wallet else "")
    rows = outbox.written_to(address, until=now).defer("sealed_letter") if address else None
    return list(rows.order_by("-created_at")[: SHOWN + 1]) if rows is not None else []


def _requests(
    result: SearchResult, checks: Sequence[IdentityVerification], consents: Sequence[Consent]
) -> list[Interaction]:
    """The requests that led to these questions, and those whose browsers are on an identity check."""
    redirect_tasks = [check.redirect_task_id for check in checks if check.redirect_task_id]
    belong = Q(consent__in=consents) | (Q(redirect_task__in=redirect_tasks) if redirect_tasks else Q())
    rows = Interaction.objects.filter(belong) if consents or redirect_tasks else Interaction.objects.none()
    rows = rows.select_related("relying_party", "delivery", "code")
    rows = rows.defer("parameters", "sealed_transaction_data", "code__sealed_answer")
    listed = list(rows.order_by("-created_at"))
    return [*(one for one in result.interactions if one not in listed), *listed]


class _Show:
    """Makes the tables, with the links that this operator may follow."""

    def __init__(self, user: AbstractUser, now: datetime) -> None:
        self.user, self.now = user, now

    def facts(self, result: SearchResult) -> list[tuple[str, Cell]]:
        wallet = result.wallet
        if wallet is None:
            text = _("None: nobody has signed in yet, or the wallet was closed.")
            return [(_("Wallet"), Cell(text))]
        email = wallet.email if result.address else masked(wallet.email)
        return [
            (_("Wallet"), self._link(wallet, str(wallet.pk))),
            (_("E-mail address"), Cell(email)),
            (_("State"), Cell(_state_of(wallet))),
            (_("Credential"), self._credential(wallet)),
            (_("Opened"), Cell(moment(wallet.created_at))),
        ]

    def _credential(self, wallet: Wallet) -> Cell:
        credential = getattr(wallet, "credential", None)
        state = for_operators(credential, now=self.now)
        if credential is None:
            return Cell(state)
        text = _("%(state)s, ends %(ends)s") % {"state": state, "ends": moment(credential.expires_at)}
        return self._link(credential, text)

    def checks(self, rows: Sequence[IdentityVerification]) -> Table:
        columns: Columns = {
            _("ID"): self._id,
            _("State"): IdentityVerification.get_state_display,
            _("Reason"): attrgetter("reason"),
            _("Provider"): attrgetter("provider"),
            _("Begun"): attrgetter("created_at"),
            _("Last change"): attrgetter("changed_at"),
        }
        return _table("check", _("Identity checks"), rows, columns)

    def consents(self, rows: Sequence[Consent], requests: Sequence[Interaction]) -> Table:
        of = {one.consent_id: one for one in requests}
        columns: Columns = {
            _("Receipt number"): self._id,
            _("Who asked"): lambda one: one.requester["name"],
            _("Answer"): _answer_of,
            _("Asked"): attrgetter("asked_at"),
            _("Answered"): attrgetter("decided_at"),
            _("Request"): lambda one: _to("request", of[one.pk].pk if one.pk in of else None),
        }
        return _table("receipt", _("Receipts"), rows, columns)

    def requests(self, rows: Sequence[Interaction]) -> Table:
        columns: Columns = {
            _("ID"): self._id,
            _("Relying party"): lambda one: self._link(one.relying_party, one.relying_party.name),
            _("Outcome"): self._outcome,
            _("Error"): attrgetter("error"),
            _("Begun"): attrgetter("created_at"),
            _("Answered"): attrgetter("answered_at"),
            _("Delivery"): self._delivery,
            _("Receipt"): lambda one: _to("receipt", one.consent_id),
        }
        return _table("request", _("Requests"), rows, columns)

    def events(self, rows: Sequence[WebhookEvent]) -> Table:
        columns: Columns = {
            _("ID"): partial(self._id, permission="presentation.view_relyingparty"),
            _("Event"): attrgetter("type"),
            _("State"): WebhookEvent.get_state_display,
            _("Tries"): attrgetter("attempts"),
            _("Problem"): attrgetter("problem"),
            _("Happened"): attrgetter("created_at"),
            _("Request"): lambda one: _to("request", one.subject),
        }
        return _table("webhook", _("Webhooks"), rows, columns)

    def emails(self, rows: Sequence[OutgoingEmail]) -> Table:
        columns: Columns = {
            _("ID"): self._id,
            _("About"): attrgetter("purpose"),
            _("State"): OutgoingEmail.get_state_display,
            _("Reason"): attrgetter("reason"),
            _("Tries"): attrgetter("tries"),
            _("Written"): attrgetter("created_at"),
            _("Ended"): attrgetter("ended_at"),
        }
        return _table("email", _("E-mails of the last days"), rows, columns)

    def moves(self, rows: Sequence[Recovery]) -> Table:
        columns: Columns = {
            _("ID"): partial(self._id, permission="wallet.view_wallet"),
            _("State"): Recovery.get_state_display,
            _("Reason"): attrgetter("reason"),
            _("Asked"): attrgetter("asked_at"),
            _("Moves"): attrgetter("due_at"),
        }
        return _table("move", _("Moves to another address"), rows, columns)

    def _outcome(self, one: Interaction) -> str:
        if one.outcome or one.expires_at > self.now:
            return str(one.get_outcome_display())
        return _("expired without an answer")

    def _delivery(self, one: Interaction) -> str:
        if code := getattr(one, "code", None):  # it is deleted when its time is over
            return _("code exchanged") if code.used_at else _("code not exchanged")
        kept = getattr(one, "delivery", None)
        return "" if kept is None else deliveries.state_of(kept, now=self.now).name.lower()

    def _id(self, row: Model, *, permission: str = "") -> Cell:
        cell = self._link(row, short(row.pk), permission=permission)
        return Cell(cell.text, cell.address, str(row.pk))

    def _link(self, row: Model, text: str, *, permission: str = "") -> Cell:
        label, name = row._meta.app_label, row._meta.model_name
        if not self.user.has_perm(permission or f"{label}.view_{name}"):
            return Cell(text)
        return Cell(text, reverse(f"admin:{label}_{name}_change", args=[row.pk]))


def _to(kind: str, pk: Any) -> Cell:
    """A link to another row of the page; empty if there is none."""
    return Cell(short(pk), f"#{kind}-{pk}", str(pk)) if pk else Cell("")


def _table(kind: str, title: str, rows: Sequence[Model], columns: Columns) -> Table:
    """A table of the first rows."""
    shown = [
        {"anchor": f"{kind}-{row.pk}", "cells": [_cell(value(row)) for value in columns.values()]}
        for row in rows[:SHOWN]
    ]
    more = len(rows) > SHOWN
    return {"name": f"{kind}s", "title": title, "heads": list(columns), "rows": shown, "more": more}


def _cell(value: Any) -> Cell:
    if isinstance(value, datetime):
        value = moment(value)
    return value if isinstance(value, Cell) else Cell("" if value is None else str(value))


def _state_of(wallet: Wallet) -> str:
    if wallet.closed_at:
        return _("closed on %(at)s") % {"at": moment(wallet.closed_at)}
    if wallet.closes_at:
        return _("closes on %(at)s") % {"at": moment(wallet.closes_at)}
    return str(wallet.get_state_display())


def _answer_of(consent: Consent) -> str:
    if decisions.is_collectable(consent, now=timezone.now()):
        return _("agreed, not collected yet")
    if consent.undelivered_at:
        return _("agreed, but nothing was shared")
    return str(consent.get_decision_display())
