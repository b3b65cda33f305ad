"""What operators may do with wallets, attempts and credentials: each asked once more and with a reason."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog
from django.db.models import Model
from django.forms import Form
from django.utils.translation import gettext_lazy as _

from keys.sealing import SealError
from wallet import credentials, identity_review, suspension
from wallet.claims import Text
from wallet.credentials import CredentialMoveError
from wallet.enrollment import HeldError
from wallet.forms import IdentityForm, ReasonForm
from wallet.identity_verification import ForbiddenMoveError
from wallet.models import Credential, IdentityVerification, Wallet
from wallet.suspension import WalletMoveError

log = structlog.get_logger(__name__)

# What an operation may be refused with; the operator is told, and nothing was changed.
REFUSALS: dict[type[Exception], Text] = {
    WalletMoveError: _("Somebody was faster: nothing was changed."),
    CredentialMoveError: _("Somebody was faster: nothing was changed."),
    ForbiddenMoveError: _("Somebody was faster: nothing was changed."),
    HeldError: _("The wallet or its credential is suspended. Reinstate it first."),
}


@dataclass(frozen=True)
class Operation:
    """One thing to do with a row that is in one of `states`.

    run: takes the row, what the form says, the operator's name and the time. initial: what the form
    shows at first.
    """

    label: Text
    question: Text
    states: frozenset[str]
    run: Callable[[Any, dict[str, Any], str, datetime], None]
    form: type[Form] = ReasonForm
    initial: Callable[[Any], dict[str, Any]] = lambda row: {}


def _initial_identity(verification: IdentityVerification) -> dict[str, Any]:
    try:
        identity = identity_review.claims(verification)
    except SealError:  # sealed under a key that is gone: the operator types it in
        log.exception("claims in review do not open", verification=str(verification.id))
        identity = None
    return IdentityForm.initial_for(identity) if identity else {}


OPERATIONS: dict[type[Model], dict[str, Operation]] = {
    Wallet: {
        "suspend": Operation(
            _("Suspend"),
            _("From now on nobody can sign in to this wallet, and nothing is shared from it."),
            frozenset({Wallet.State.ACTIVE}),
            lambda wallet, said, operator, now: suspension.suspend(wallet, reason=said["reason"]),
        ),
        "reinstate": Operation(
            _("Reinstate"),
            _("From now on its holder can sign in and share again."),
            frozenset({Wallet.State.SUSPENDED}),
            lambda wallet, said, operator, now: suspension.reinstate(wallet),
        ),
    },
    IdentityVerification: {
        "approve": Operation(
            _("Approve"),
            _("Check every field against the document. The wallet gets a credential that says exactly this."),
            frozenset({IdentityVerification.State.REVIEW}),
            lambda verification, said, operator, now: identity_review.approve(
                verification, said["identity"], operator=operator, reason=said["reason"], now=now
            ),
            IdentityForm,
            _initial_identity,
        ),
        "decline": Operation(
            _("Decline"),
            _("The person is told that their identity could not be verified, and may try again later."),
            frozenset({IdentityVerification.State.REVIEW}),
            lambda verification, said, operator, now: identity_review.decline(
                verification, operator=operator, reason=said["reason"], now=now
            ),
        ),
    },
    Credential: {
        "suspend": Operation(
            _("Suspend"),
            _("Nothing can be shared from it until it is reinstated, and a new check does not replace it."),
            frozenset({Credential.State.VALID}),
            lambda credential, said, operator, now: credentials.suspend(credential),
        ),
        "reinstate": Operation(
            _("Reinstate"),
            _("It can be shared again."),
            frozenset({Credential.State.SUSPENDED}),
            lambda credential, said, operator, now: credentials.reinstate(credential),
        ),
        "revoke": Operation(
            _("Revoke"),
            _("This cannot be undone. Its holder has to be verified anew."),
            frozenset({Credential.State.VALID, Credential.State.SUSPENDED}),
            lambda credential, said, operator, now: credentials.revoke(credential),
        ),
    },
}


def offered(row: Any) -> dict[str, Operation]:
    """What may be done with a row in its present state."""
    return {
        name: operation for name, operation in OPERATIONS[type(row)].items() if row.state in operation.states
    }
