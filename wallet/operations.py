"""What operators may do with wallets, attempts and credentials: each asked once more and with a reason."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

import structlog
from django.db.models import Model, QuerySet
from django.forms import Form
from django.utils.translation import gettext_lazy as _

from infra.sealing import SealError
from wallet import revocation, suspension
from wallet.claims import Text
from wallet.forms import IdentityForm, ReasonForm
from wallet.identity import review
from wallet.identity.enrollment import HeldError
from wallet.identity.state_machine import ForbiddenMoveError
from wallet.models import Credential, IdentityVerification, StatusEntry, Wallet
from wallet.revocation import CredentialMoveError
from wallet.status_lists import changes
from wallet.status_lists.changes import Action, NothingToChangeError, Status
from wallet.suspension import WalletMoveError

log = structlog.get_logger(__name__)

# What an operation may be refused with; the operator is told, and nothing was changed.
REFUSALS: dict[type[Exception], Text] = {
    WalletMoveError: _("Somebody was faster: nothing was changed."),
    CredentialMoveError: _("Somebody was faster: nothing was changed."),
    ForbiddenMoveError: _("Somebody was faster: nothing was changed."),
    NothingToChangeError: _("It has ended, or somebody was faster: nothing was changed."),
    HeldError: _("The wallet or its credential is suspended. Reinstate it first."),
}


@dataclass(frozen=True)
class Operation:
    """One thing to do with a row that is in one of `states`.

    done: what is said afterwards. run: takes the row, what the form says, the operator's name and the time.
    initial: what the form shows at first. hits: the unexpired presented credentials that are not valid any
    more then. needs: a permission, besides that to change such rows.
    """

    label: Text
    done: Text
    question: Text
    states: frozenset[Any]
    run: Callable[[Any, dict[str, Any], str, datetime], None]
    form: type[Form] = ReasonForm
    initial: Callable[[Any], dict[str, Any]] = lambda row: {}
    hits: Callable[..., QuerySet[StatusEntry]] | None = None
    needs: str = ""
    irreversible: bool = False


def _with_reason(run: Callable[..., object]) -> Callable[[Any, dict[str, Any], str, datetime], None]:
    """A use case that takes the row, the actor, the reason and the time, as an operation runs it."""

    def running(row: Any, said: dict[str, Any], operator: str, now: datetime) -> None:
        run(row, actor=operator, reason=said["reason"], now=now)

    return running


def _initial_identity(verification: IdentityVerification) -> dict[str, Any]:
    try:
        identity = review.claims(verification)
    except SealError:  # sealed under a key that is gone: the operator types it in
        log.exception("claims in review do not open", verification=str(verification.id))
        identity = None
    return IdentityForm.initial_for(identity) if identity else {}


OPERATIONS: dict[type[Model], dict[str, Operation]] = {
    Wallet: {
        "suspend": Operation(
            _("Suspend"),
            _("Suspended"),
            _("From now on nobody can sign in to this wallet, and nothing is shared from it."),
            frozenset({Wallet.State.ACTIVE}),
            _with_reason(suspension.suspend),
            hits=changes.of_wallet,
        ),
        "reinstate": Operation(
            _("Reinstate"),
            _("Reinstated"),
            _("From now on its holder can sign in and share again."),
            frozenset({Wallet.State.SUSPENDED}),
            _with_reason(suspension.reinstate),
        ),
    },
    IdentityVerification: {
        "approve": Operation(
            _("Approve"),
            _("Approved"),
            _("Check every field against the document. The wallet gets a credential that says exactly this."),
            frozenset({IdentityVerification.State.REVIEW}),
            lambda verification, said, operator, now: review.approve(
                verification, said["identity"], operator=operator, reason=said["reason"], now=now
            ),
            IdentityForm,
            _initial_identity,
        ),
        "decline": Operation(
            _("Decline"),
            _("Declined"),
            _("The person is told that their identity could not be verified, and may try again later."),
            frozenset({IdentityVerification.State.REVIEW}),
            lambda verification, said, operator, now: review.decline(
                verification, operator=operator, reason=said["reason"], now=now
            ),
        ),
    },
    Credential: {
        "suspend": Operation(
            _("Suspend"),
            _("Suspended"),
            _("Nothing can be shared from it until it is reinstated, and a new check does not replace it."),
            frozenset({Credential.State.VALID}),
            _with_reason(revocation.suspend),
            hits=revocation.presented,
        ),
        "reinstate": Operation(
            _("Reinstate"),
            _("Reinstated"),
            _("It can be shared again."),
            frozenset({Credential.State.SUSPENDED}),
            _with_reason(revocation.reinstate),
        ),
        "revoke": Operation(
            _("Revoke"),
            _("Revoked"),
            _("This cannot be undone. Its holder has to be verified anew."),
            frozenset({Credential.State.VALID, Credential.State.SUSPENDED}),
            _with_reason(revocation.revoke),
            hits=revocation.presented,
            irreversible=True,
        ),
    },
    StatusEntry: {
        "invalidate": Operation(
            _("Invalidate"),
            _("Invalidated"),
            _("This cannot be undone. Relying parties are told that it is invalid until it ends."),
            frozenset({Status.VALID, Status.SUSPENDED}),
            _with_reason(partial(changes.change_presented, action=Action.INVALIDATED)),
            irreversible=True,
        ),
        "suspend": Operation(
            _("Suspend"),
            _("Suspended"),
            _("Relying parties are told that it is suspended, until it is reinstated or ends."),
            frozenset({Status.VALID}),
            _with_reason(partial(changes.change_presented, action=Action.SUSPENDED)),
        ),
        "reinstate": Operation(
            _("Reinstate"),
            _("Reinstated"),
            _("Relying parties are told that it is valid, unless its credential, wallet or key is not."),
            frozenset({Status.SUSPENDED}),
            _with_reason(partial(changes.change_presented, action=Action.REINSTATED)),
        ),
        "invalidate-signed": Operation(
            _("Invalidate all that its key signed"),
            _("Invalidated all that its key signed"),
            _(
                "This cannot be undone, and it concerns everybody who presented since the key began to sign. "
                "If the key was stolen, withdraw it instead: that invalidates the same and ends the key."
            ),
            frozenset(Status),
            _with_reason(changes.invalidate_all_by_key_of),
            hits=changes.by_key_of,
            needs="keys.change_signingkey",  # it is about everybody, not about one person's identity
            irreversible=True,
        ),
    },
}


def offered(row: Any) -> dict[str, Operation]:
    """What may be done with a row in its present state."""
    state, _label = state_of(row)
    return {name: operation for name, operation in OPERATIONS[type(row)].items() if state in operation.states}


def state_of(row: Any) -> tuple[Any, str]:
    """The state of a row and what people call it."""
    if isinstance(row, StatusEntry):
        return row.status, row.get_status_display()
    return row.state, row.get_state_display()
