"""Everything that operators may know about a holder or a request, as tables that refer to each other.

It contains no claim, no parameter of a request and no transaction. A row's number leads to its page in the
admin if the operator may see that page.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AbstractUser
from django.db.models import Model, Q
from django.urls import reverse
from django.utils.translation import gettext as _

from consent.models import Consent
from infra.admin.row_ids import short
from infra.mail import outbox
from infra.mail.models import OutgoingEmail
from infra.moments import moment
from presentation.admin.support.finding import Found
from presentation.models import Interaction
from presentation.requests.delivery import deliveries
from presentation.webhooks.models import WebhookEvent
from wallet.models import IdentityVerification, Recovery, Wallet
from wallet.validity import for_operators

SHOWN = 25  # rows of each kind, the newest


@dataclass(frozen=True)
class Cell:
    """A text; address: where it leads, on this page (`#…`) or in the admin, or empty."""

    text: str
    address: str = ""
    whole: str = ""  # of a shortened ID


@dataclass(frozen=True)
class Row:
    """anchor: its place on the page, which other rows lead to."""

    anchor: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """Rows of one kind; `more` says that there are older ones."""

    name: str
    title: str
    heads: tuple[str, ...]
    rows: tuple[Row, ...]
    more: bool = False


@dataclass(frozen=True)
class Case:
    """A wallet, if there is one, as facts, and what belongs to it."""

    facts: tuple[tuple[str, Cell], ...]
    tables: tuple[Table, ...]


def case_of(found: Found, user: AbstractUser, *, now: datetime) -> Case:
    """What the page shows. user: the operator, whose permissions decide which links it has."""
    show = _Show(user, now)
    wallet = found.wallet
    checks = list(wallet.verifications.order_by("-created_at")[: SHOWN + 1]) if wallet else []
    consents = _consents(found)
    requests = _requests(found, checks, consents)
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
        show.emails(_emails(found, now)),
        *([show.moves(moves)] if moves else []),
    ]
    return Case(show.facts(found), tuple(tables))


def masked(email: str) -> str:
    """The address with one letter and its domain, by which a holder recognises it and others do not."""
    name, _at, domain = email.rpartition("@")
    return f"{name[:1]}…@{domain}"


def _consents(found: Found) -> list[Consent]:
    rows = list(found.wallet.consents.order_by("-asked_at")[: SHOWN + 1]) if found.wallet else []
    if found.consent and found.consent not in rows:
        rows.insert(0, found.consent)
    return rows


def _emails(found: Found, now: datetime) -> list[OutgoingEmail]:
    address = found.address or (found.wallet.email if found.wallet else "")
    rows = outbox.written_to(address, until=now).defer("sealed_letter") if address else None
    return list(rows.order_by("-created_at")[: SHOWN + 1]) if rows is not None else []


def _requests(
    found: Found, checks: Sequence[IdentityVerification], consents: Sequence[Consent]
) -> list[Interaction]:
    """The requests that led to these questions, and those whose browsers are on an identity check."""
    errands = [check.errand_id for check in checks if check.errand_id]
    belong = Q(consent__in=consents) | (Q(errand__in=errands) if errands else Q())
    rows = Interaction.objects.filter(belong) if consents or errands else Interaction.objects.none()
    rows = rows.select_related("relying_party", "delivery").defer("parameters", "sealed_transaction_data")
    listed = list(rows.order_by("-created_at"))
    return [*(one for one in found.interactions if one not in listed), *listed]


class _Show:
    """Makes the tables, with the links that this operator may follow."""

    def __init__(self, user: AbstractUser, now: datetime) -> None:
        self.user, self.now = user, now

    def facts(self, found: Found) -> tuple[tuple[str, Cell], ...]:
        wallet = found.wallet
        if wallet is None:
            text = _("None: nobody has signed in yet, or the wallet was closed.")
            return ((_("Wallet"), Cell(text)),)
        email = wallet.email if found.address else masked(wallet.email)
        facts = [
            (_("Wallet"), self._link(wallet, str(wallet.pk))),
            (_("E-mail address"), Cell(email)),
            (_("State"), Cell(_state_of(wallet))),
            (_("Credential"), self._credential(wallet)),
            (_("Opened"), Cell(moment(wallet.created_at))),
        ]
        return tuple(facts)

    def _credential(self, wallet: Wallet) -> Cell:
        credential = getattr(wallet, "credential", None)
        state = for_operators(credential, now=self.now)
        if credential is None:
            return Cell(state)
        text = _("%(state)s, ends %(ends)s") % {"state": state, "ends": moment(credential.expires_at)}
        return self._link(credential, text)

    def checks(self, checks: Sequence[IdentityVerification]) -> Table:
        heads = (_("ID"), _("State"), _("Reason"), _("Provider"), _("Begun"), _("Last change"))
        rows = (
            Row(
                f"check-{one.pk}",
                (
                    self._id(one),
                    Cell(str(one.get_state_display())),
                    Cell(one.reason),
                    Cell(one.provider),
                    Cell(moment(one.created_at)),
                    Cell(moment(one.changed_at)),
                ),
            )
            for one in checks
        )
        return _table("checks", _("Identity checks"), heads, rows)

    def consents(self, consents: Sequence[Consent], requests: Sequence[Interaction]) -> Table:
        of = {one.consent_id: one for one in requests}
        heads = (_("Receipt number"), _("Who asked"), _("Answer"), _("Asked"), _("Answered"), _("Request"))
        rows = (
            Row(
                f"receipt-{one.pk}",
                (
                    self._id(one),
                    Cell(str(one.requester["name"])),
                    Cell(_answer_of(one)),
                    Cell(moment(one.asked_at)),
                    Cell(moment(one.decided_at) if one.decided_at else ""),
                    _to("request", of[one.pk].pk) if one.pk in of else Cell(""),
                ),
            )
            for one in consents
        )
        return _table("receipts", _("Receipts"), heads, rows)

    def requests(self, requests: Sequence[Interaction]) -> Table:
        heads = (
            *(_("ID"), _("Relying party"), _("Outcome"), _("Error"), _("Begun"), _("Answered")),
            *(_("Posted"), _("Receipt")),
        )
        rows = (
            Row(
                f"request-{one.pk}",
                (
                    self._id(one),
                    self._link(one.relying_party, one.relying_party.name),
                    Cell(self._outcome(one)),
                    Cell(one.error),
                    Cell(moment(one.created_at)),
                    Cell(moment(one.answered_at) if one.answered_at else ""),
                    Cell(self._posted(one)),
                    _to("receipt", one.consent_id) if one.consent_id else Cell(""),
                ),
            )
            for one in requests
        )
        return _table("requests", _("Requests"), heads, rows)

    def events(self, events: Sequence[WebhookEvent]) -> Table:
        heads = (_("ID"), _("Event"), _("State"), _("Tries"), _("Problem"), _("Happened"), _("Request"))
        rows = (
            Row(
                f"webhook-{one.pk}",
                (
                    self._id(one, permission="presentation.view_relyingparty"),
                    Cell(one.type),
                    Cell(str(one.get_state_display())),
                    Cell(str(one.attempts)),
                    Cell(one.problem),
                    Cell(moment(one.created_at)),
                    _to("request", one.subject),
                ),
            )
            for one in events
        )
        return _table("webhooks", _("Webhooks"), heads, rows)

    def emails(self, emails: Sequence[OutgoingEmail]) -> Table:
        heads = (_("ID"), _("About"), _("State"), _("Reason"), _("Tries"), _("Written"), _("Ended"))
        rows = (
            Row(
                f"email-{one.pk}",
                (
                    self._id(one),
                    Cell(one.purpose),
                    Cell(str(one.get_state_display())),
                    Cell(one.reason),
                    Cell(str(one.tries)),
                    Cell(moment(one.created_at)),
                    Cell(moment(one.ended_at) if one.ended_at else ""),
                ),
            )
            for one in emails
        )
        return _table("emails", _("E-mails of the last days"), heads, rows)

    def moves(self, moves: Sequence[Recovery]) -> Table:
        heads = (_("ID"), _("State"), _("Reason"), _("Asked"), _("Moves"))
        rows = (
            Row(
                f"move-{one.pk}",
                (
                    self._id(one, permission="wallet.view_wallet"),
                    Cell(str(one.get_state_display())),
                    Cell(one.reason),
                    Cell(moment(one.asked_at)),
                    Cell(moment(one.due_at) if one.due_at else ""),
                ),
            )
            for one in moves
        )
        return _table("moves", _("Moves to another address"), heads, rows)

    def _outcome(self, one: Interaction) -> str:
        if one.outcome or one.expires_at > self.now:
            return str(one.get_outcome_display())
        return _("expired without an answer")

    def _posted(self, one: Interaction) -> str:
        kept = getattr(one, "delivery", None)
        return "" if kept is None else str(deliveries.standing(kept, now=self.now).name).lower()

    def _id(self, row: Model, *, permission: str = "") -> Cell:
        cell = self._link(row, short(row.pk), permission=permission)
        return Cell(cell.text, cell.address, str(row.pk))

    def _link(self, row: Model, text: str, *, permission: str = "") -> Cell:
        label, name = row._meta.app_label, row._meta.model_name
        if not self.user.has_perm(permission or f"{label}.view_{name}"):
            return Cell(text)
        return Cell(text, reverse(f"admin:{label}_{name}_change", args=[row.pk]))


def _to(kind: str, pk: Any) -> Cell:
    """A link to another row of the page."""
    return Cell(short(pk), f"#{kind}-{pk}", str(pk))


def _table(name: str, title: str, heads: tuple[str, ...], rows: Iterable[Row]) -> Table:
    listed = tuple(rows)
    return Table(name, title, heads, listed[:SHOWN], more=len(listed) > SHOWN)


def _state_of(wallet: Wallet) -> str:
    if wallet.closed_at:
        return _("closed on %(at)s") % {"at": moment(wallet.closed_at)}
    if wallet.closes_at:
        return _("closes on %(at)s") % {"at": moment(wallet.closes_at)}
    return str(wallet.get_state_display())


def _answer_of(consent: Consent) -> str:
    if consent.undelivered_at:
        return _("agreed, but nothing was shared")
    return str(consent.get_decision_display())
