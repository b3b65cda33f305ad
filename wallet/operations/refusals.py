"""What an operator reads when an operation was refused."""

from django.utils.translation import gettext_lazy as _

from infra.operations import Refusals
from wallet.identity.enrollment import HeldError
from wallet.identity.review import NotClaimedError, SamePersonError
from wallet.status_lists.changes import NothingToChangeError

REFUSALS: Refusals = {
    NothingToChangeError: _("It has ended, or somebody was faster: nothing was changed."),
    NotClaimedError: _("Claim it first; another operator may have claimed it meanwhile."),
    SamePersonError: _("You have proposed this approval: another operator has to make it."),
    HeldError: _("The wallet or its credential is suspended. Reinstate it first."),
}
