"""Admin pages whose rows change only by operations, each after a confirmation page."""

from typing import Any

from django.utils.text import capfirst

from infra.admin.operations import OperationsAdmin
from infra.admin.read_only import FilteredOnly, ReadOnly
from infra.admin.row_ids import short
from wallet.operations.refusals import REFUSALS


class OperatedAdmin(FilteredOnly, ReadOnly, OperationsAdmin):
    """Rows that only operations can change."""

    refusals = REFUSALS
    checks_state_first = True

    def message_for(self, row: Any, text: str) -> str:
        return f"{capfirst(self.opts.verbose_name)} {short(row)}: {text}"
