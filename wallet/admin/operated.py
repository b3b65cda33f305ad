"""Admin pages whose rows change only by operations, each after a confirmation page."""

from typing import Any

from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from infra.admin.operations import OperationsAdmin
from infra.admin.read_only import FilteredOnly, ReadOnly
from infra.admin.row_ids import short
from infra.operations import Refusals
from wallet.identity.enrollment import HeldError
from wallet.identity.review import NotClaimedError, SamePersonError
from wallet.status_lists.changes import NothingToChangeError

# What an operator reads when an operation was refused.
REFUSALS: Refusals = {
    NothingToChangeError: _("It has ended, or somebody was faster: nothing was changed."),
    NotClaimedError: _("Claim it first; another operator may have claimed it meanwhile."),
    SamePersonError: _("You have proposed this approval: another operator has to make it."),
    HeldError: _("The wallet or its credential is suspended. Reinstate it first."),
}


class OperatedAdmin(FilteredOnly, ReadOnly, OperationsAdmin):
    """Rows that only operations can change."""

    refusals = REFUSALS
    checks_state_first = True

    def message_for(self, row: Any, text: str) -> str:
        return f"{capfirst(self.opts.verbose_name)} {short(row)}: {text}"
