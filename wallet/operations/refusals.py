"""What an operator reads when an operation was refused."""

from django.utils.translation import gettext_lazy as _

from infra.operations import SOMEBODY_WAS_FASTER, Refusals
from wallet.account.closing.closures import ClosingError
from wallet.account.recovery.recoveries import RecoveryOverError
from wallet.identity.enrollment import HeldError
from wallet.identity.review import NotClaimedError, SamePersonError
from wallet.identity.state_machine import ForbiddenMoveError
from wallet.revocation import CredentialMoveError
from wallet.status_lists.changes import NothingToChangeError
from wallet.suspension import WalletMoveError

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
