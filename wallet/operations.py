"""The operations of the admin on wallets, identity verifications and credentials, each with a reason."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, cast

import structlog
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractUser
from django.db import transaction
from django.db.models import QuerySet
from django.utils.html import format_html
from django.utils.translation import gettext as _t
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from infra import personal_data
from infra.operations import SOMEBODY_WAS_FASTER, Done, Operation, Refusals, Run, Text
from infra.personal_data import Person
from infra.sealing import SealError
from wallet import audit, revocation, suspension
from wallet.account.closing import closures, sweeping
from wallet.account.closing.closures import ClosingError
from wallet.account.recovery import stopping
from wallet.account.recovery.recoveries import RecoveryOverError
from wallet.claims import Identity
from wallet.evidence import Evidence
from wallet.forms import ClosingForm, ReasonForm
from wallet.identity import review
from wallet.identity.enrollment import HeldError
from wallet.identity.forms import AskAgainForm, IdentityForm
from wallet.identity.review import NotClaimedError, SamePersonError
from wallet.identity.state_machine import ForbiddenMoveError
from wallet.models import Credential, IdentityVerification, Recovery, StatusEntry, Wallet, WalletClosure
from wallet.revocation import CredentialMoveError
from wallet.status_lists import changes
from wallet.status_lists.changes import Action, NothingToChangeError, Status
from wallet.suspension import WalletMoveError

log = structlog.get_logger(__name__)

REFUSALS: Refusals = {
    ClosingError: SOMEBODY_WAS_FASTER,
    WalletMoveError: SOMEBODY_WAS_FASTER,
    RecoveryOverError: SOMEBODY_WAS_FASTER,
    CredentialMoveError: SOMEBODY_WAS_FASTER,
    ForbiddenMoveError: SOMEBODY_WAS_FASTER,
    NothingToChangeError: _("It has ended, or somebody was faster: nothing was changed."),
    NotClaimedError: _("Claim it first; another operator may have claimed it meanwhile."),
    SamePersonError: _("You have proposed this approval: another operator has to make it."),
    HeldError: _("The wallet or its credential is suspended. Reinstate it first."),
}


def _done(said: Text, values: dict[str, Any]) -> Done:
    return Done(f"{said}: {values['reason']}")


def _with_reason(use_case: Callable[..., object], said: Text) -> Run:
    """Runs a use case with the row, the actor, the reason and the time; `said` goes into the history."""

    def run(row: Any, values: dict[str, Any], operator: str, now: datetime) -> Done:
        use_case(row, actor=operator, reason=values["reason"], now=now)
        return _done(said, values)

    return run


def _operator(name: str) -> AbstractUser:
    """Who is signed in: entries of the audit name them by ID."""
    return cast(AbstractUser, get_user_model()._default_manager.get_by_natural_key(name))


def _claim(verification: IdentityVerification, values: Any, operator: str, now: datetime) -> Done:
    review.claim(verification, operator=_operator(operator), now=now)
    return Done(_t("Claimed"))


def _release(verification: IdentityVerification, values: Any, operator: str, now: datetime) -> Done:
    review.release(verification, operator=_operator(operator), now=now)
    return Done(_t("Released"))


def _approve(verification: IdentityVerification, values: Any, operator: str, now: datetime) -> Done:
    approved = review.approve(
        verification,
        values["identity"],
        replace(_found(verification)[1], **values["document"]),
        operator=_operator(operator),
        reason=values["reason"],
        now=now,
    )
    return _done(_("Approved") if approved else _("Proposed: another operator has to approve it"), values)


def _ask_again(verification: IdentityVerification, values: Any, operator: str, now: datetime) -> Done:
    review.ask_again(
        verification, values["why"], operator=_operator(operator), reason=values["reason"], now=now
    )
    return _done(_("Asked again"), values)


def _decline(verification: IdentityVerification, values: Any, operator: str, now: datetime) -> Done:
    review.decline(verification, operator=_operator(operator), reason=values["reason"], now=now)
    return _done(_("Declined"), values)


def _close(wallet: Wallet, values: dict[str, Any], operator: str, now: datetime) -> Done:
    who, reason = _operator(operator), WalletClosure.Reason(values["reason"])
    audit.record(who, audit.Action.CLOSING_ASKED, wallet, now=now)
    closure = closures.ask(wallet, now=now, operator_id=who.pk, reason=reason)
    transaction.on_commit(partial(sweeping.send_owed, closure, now=now))
    return Done(_t("To be closed in a day: %(reason)s") % {"reason": reason.label})


def _keep(wallet: Wallet, values: dict[str, Any], operator: str, now: datetime) -> Done:
    who = _operator(operator)
    audit.record(who, audit.Action.CLOSING_UNDONE, wallet, now=now)
    closure = closures.undo(wallet, now=now, operator_id=who.pk)
    transaction.on_commit(partial(sweeping.send_owed, closure, now=now))
    return Done(_t("Not closed after all"))


def _what_goes(wallet: Wallet, now: datetime) -> list[str]:
    """For the confirmation page: what closing erases and revokes, in numbers."""
    return [
        *_count(changes.of_wallet)(wallet, now),
        *personal_data.counts(Person(wallet.id, wallet.email, now)),
    ]


def _is_open(wallet: Wallet) -> bool:
    return wallet.closed_at is None


def _stays_open(wallet: Wallet) -> bool:
    return _is_open(wallet) and wallet.closes_at is None


def _stop_move(recovery: Recovery, values: Any, operator: str, now: datetime) -> Done:
    stopping.by_operator(recovery, operator=_operator(operator), reason=values["reason"], now=now)
    return _done(_("Stopped"), values)


def _count(presented: Callable[..., QuerySet[StatusEntry]]) -> Callable[[Any, datetime], list[str]]:
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


def _found(verification: IdentityVerification) -> tuple[Identity | None, Evidence]:
    try:
        return review.claims(verification)
    except SealError:  # sealed under a key that is gone: the operator types it in
        log.exception("claims_in_review_do_not_open", verification=str(verification.id))
        return None, review.own_evidence(verification)


def _initial_identity(verification: IdentityVerification) -> dict[str, Any]:
    return IdentityForm.initial_for(*_found(verification))


def _is_claimed(verification: IdentityVerification) -> bool:
    return verification.claimed_by_id is not None


_needs_reason = partial(Operation, form=ReasonForm)

OF_WALLETS = {
    "suspend": _needs_reason(
        label=_("Suspend"),
        question=_("From now on nobody can sign in to this wallet, and nothing is shared from it."),
        run=_with_reason(suspension.suspend, _("Suspended")),
        states={Wallet.State.ACTIVE},
        suits=_is_open,
        details=_count(changes.of_wallet),
    ),
    "reinstate": _needs_reason(
        label=_("Reinstate"),
        question=_("From now on its holder can sign in and share again."),
        run=_with_reason(suspension.reinstate, _("Reinstated")),
        states={Wallet.State.SUSPENDED},
        suits=_is_open,
    ),
    "close": Operation(
        label=_("Close"),
        question=_(
            "Nothing is shared from it any more. In a day it is closed, and everything about its holder is "
            "erased; that cannot be undone. Until then its holder or an operator can keep it. The holder "
            "gets an e-mail now and when it is closed. Make sure that it is the holder who asks."
        ),
        run=_close,
        suits=_stays_open,
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
    "stop": _needs_reason(
        label=_("Stop the move"),
        question=_("The wallet stays at its present address. The person may only ask again in 30 days."),
        run=_stop_move,
        states={Recovery.State.WAITING},
    ),
}
OF_VERIFICATIONS = {
    "claim": Operation(
        label=_("Claim"),
        question=_("You see what the person sent, and decide. Each time you look is written down."),
        run=_claim,
        states={IdentityVerification.State.REVIEW},
        suits=lambda verification: not _is_claimed(verification),
    ),
    "release": Operation(
        label=_("Release"),
        question=_("Another operator can claim it."),
        run=_release,
        states={IdentityVerification.State.REVIEW},
        suits=_is_claimed,
    ),
    "approve": Operation(
        label=_("Approve"),
        question=_(
            "Check every field against the document. The wallet gets a credential that says exactly this."
        ),
        run=_approve,
        states={IdentityVerification.State.REVIEW},
        suits=_is_claimed,
        form=IdentityForm,
        initial=_initial_identity,
    ),
    "ask-again": Operation(
        label=_("Ask again"),
        question=_("The person gets an e-mail, and reads the reason when they sign in."),
        run=_ask_again,
        states={IdentityVerification.State.REVIEW},
        suits=_is_claimed,
        form=AskAgainForm,
    ),
    "decline": _needs_reason(
        label=_("Decline"),
        question=_("The person is told that their identity could not be verified, and may try again later."),
        run=_decline,
        states={IdentityVerification.State.REVIEW},
        suits=_is_claimed,
    ),
}
OF_CREDENTIALS = {
    "suspend": _needs_reason(
        label=_("Suspend"),
        question=_(
            "Nothing can be shared from it until it is reinstated, and a new check does not replace it."
        ),
        run=_with_reason(revocation.suspend, _("Suspended")),
        states={Credential.State.VALID},
        details=_count(revocation.presented),
    ),
    "reinstate": _needs_reason(
        label=_("Reinstate"),
        question=_("It can be shared again."),
        run=_with_reason(revocation.reinstate, _("Reinstated")),
        states={Credential.State.SUSPENDED},
    ),
    "revoke": _needs_reason(
        label=_("Revoke"),
        question=_("This cannot be undone. Its holder has to be verified again."),
        run=_with_reason(revocation.revoke, _("Revoked")),
        states={Credential.State.VALID, Credential.State.SUSPENDED},
        details=_count(revocation.presented),
        irreversible=True,
    ),
}
OF_PRESENTED = {
    "invalidate": _needs_reason(
        label=_("Invalidate"),
        question=_("This cannot be undone. Relying parties are told that it is invalid until it ends."),
        run=_with_reason(partial(changes.change_presented, action=Action.INVALIDATED), _("Invalidated")),
        states={Status.VALID, Status.SUSPENDED},
        irreversible=True,
    ),
    "suspend": _needs_reason(
        label=_("Suspend"),
        question=_("Relying parties are told that it is suspended, until it is reinstated or ends."),
        run=_with_reason(partial(changes.change_presented, action=Action.SUSPENDED), _("Suspended")),
        states={Status.VALID},
    ),
    "reinstate": _needs_reason(
        label=_("Reinstate"),
        question=_("Relying parties are told that it is valid, unless its credential, wallet or key is not."),
        run=_with_reason(partial(changes.change_presented, action=Action.REINSTATED), _("Reinstated")),
        states={Status.SUSPENDED},
    ),
    "invalidate-signed": _needs_reason(
        label=_("Invalidate all that its key signed"),
        question=_(
            "This cannot be undone, and it concerns everybody who presented since the key began to sign. "
            "If the key was stolen, withdraw it instead: that invalidates the same and ends the key."
        ),
        run=_with_reason(changes.invalidate_all_by_key_of, _("Invalidated all that its key signed")),
        details=_count(changes.by_key_of),
        needs="keys.change_signingkey",  # it affects all holders
        irreversible=True,
    ),
}
