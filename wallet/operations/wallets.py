"""The operations on wallets, and on their moves to another address."""

from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _t
from django.utils.translation import gettext_lazy as _

from infra import personal_data
from infra.operations import Done, Operation
from infra.personal_data import Person
from wallet.account.closing import closures
from wallet.account.recovery import stopping
from wallet.models import Recovery, Wallet, WalletClosure
from wallet.operations import suspension
from wallet.operations.with_reason import done, needs_reason, operator_named, presented_count, with_reason
from wallet.sign_in.forms import ClosingForm
from wallet.status_lists import changes


def _close(wallet: Wallet, values: dict[str, Any], operator: str, now: datetime) -> Done:
    who, reason = operator_named(operator), WalletClosure.Reason(values["reason"])
    closures.ask(wallet, now=now, operator_id=who.pk, reason=reason)
    return Done(_t("To be closed in a day: %(reason)s") % {"reason": reason.label})


def _keep(wallet: Wallet, values: dict[str, Any], operator: str, now: datetime) -> Done:
    closures.undo(wallet, now=now, operator_id=operator_named(operator).pk)
    return Done(_t("Not closed after all"))


def _stop_move(recovery: Recovery, values: Any, operator: str, now: datetime) -> Done:
    stopping.by_operator(recovery, operator=operator_named(operator), reason=values["reason"], now=now)
    return done(_("Stopped"), values)


def _what_goes(wallet: Wallet, now: datetime) -> list[str]:
    """For the confirmation page: what closing erases and revokes, in numbers."""
    return [
        *presented_count(changes.of_wallet)(wallet, now),
        *personal_data.counts(Person(wallet.id, wallet.email, now)),
    ]


def _is_open(wallet: Wallet) -> bool:
    return wallet.closed_at is None


OF_WALLETS = {
    "suspend": needs_reason(
        label=_("Suspend"),
        question=_("From now on nobody can sign in to this wallet, and nothing is shared from it."),
        run=with_reason(suspension.suspend, _("Suspended")),
        states={Wallet.State.ACTIVE},
        suits=_is_open,
        details=presented_count(changes.of_wallet),
    ),
    "reinstate": needs_reason(
        label=_("Reinstate"),
        question=_("From now on its holder can sign in and share again."),
        run=with_reason(suspension.reinstate, _("Reinstated")),
        states={Wallet.State.SUSPENDED},
        suits=_is_open,
    ),
    "close": Operation(
        label=_("Close this wallet"),
        question=_(
            "Nothing is shared from it any more. In a day it is closed, and everything about its holder is "
            "erased; that cannot be undone. Until then its holder or an operator can keep it. The holder "
            "gets an e-mail now and when it is closed. Make sure that it is the holder who asks."
        ),
        run=_close,
        suits=lambda wallet: _is_open(wallet) and wallet.closes_at is None,
        form=ClosingForm,
        details=_what_goes,
        irreversible=True,
    ),
    "keep": Operation(
        label=_("Keep"),
        question=_("It is not closed after all. The holder gets an e-mail."),
        run=_keep,
        suits=lambda wallet: _is_open(wallet) and wallet.closes_at is not None,
    ),
}
OF_RECOVERIES = {
    "stop": needs_reason(
        label=_("Stop the move"),
        question=_("The wallet stays at its present address. The person may only ask again in 30 days."),
        run=_stop_move,
        states={Recovery.State.WAITING},
    ),
}
