"""The admin pages of wallets: their state, their moves to another address, and their closing."""

from django.contrib import admin
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from infra.admin.read_only import ReadOnly
from infra.admin.row_ids import short_id
from wallet.admin.operated import OperatedAdmin
from wallet.credential.validity import for_operators
from wallet.models import Recovery, Wallet, WalletClosure
from wallet.operations.wallets import OF_RECOVERIES, OF_WALLETS


@admin.register(Wallet)
class WalletAdmin(OperatedAdmin):
    """Wallets. The search takes a whole e-mail address only, so that operators cannot browse holders."""

    operations = OF_WALLETS
    list_display = (short_id, "state", "credential_state", "created_at")
    list_filter = ("state",)
    list_select_related = ("credential",)
    search_fields = ("=email", "=id")
    search_help_text = _("The whole e-mail address, or the wallet’s ID")
    fields = (
        *("id", "email", "state", "suspension_reason", "credential_state"),
        *("created_at", "closes_at", "closed_at"),
    )

    @admin.display(description=_("credential"))
    def credential_state(self, wallet: Wallet) -> str:
        """What its credential is good for; “none” if it has none."""
        return for_operators(getattr(wallet, "credential", None), now=timezone.now())


@admin.register(Recovery)
class RecoveryAdmin(OperatedAdmin):
    """Wallets that move, or were to move, to another address after their mailbox was lost."""

    operations = OF_RECOVERIES
    permitted_with = "wallet"
    list_display = (short_id, "state", "reason", "decided_by", "asked_at", "due_at")
    list_filter = ("state",)
    search_fields = ("=id", "=old__id", "=new__id", "=old__email", "=new__email")
    search_help_text = _("ID of the recovery or of a wallet, or the whole e-mail address of one")
    fields = (
        *("id", "state", "reason", "decided_by", "old", "new", "verification"),
        *("asked_at", "matched_at", "due_at", "ended_at", "notices"),
    )


@admin.register(WalletClosure)
class WalletClosureAdmin(ReadOnly, admin.ModelAdmin):
    """Which wallets were closed, when, by whom and why. It names nobody."""

    seen_with = "wallet.view_wallet"
    list_display = ("asked_at", "wallet", "reason", "operator_id", "undone_at", "closed_at", "finished_at")
    fields = (
        *("id", "wallet", "reason", "operator_id", "asked_at", "closes_at"),
        *("undone_at", "undone_by", "closed_at", "finished_at"),
    )
    list_filter = ("reason",)
    search_fields = ("=id", "=wallet", "=operator_id")
    search_help_text = _("The whole ID of the wallet, or the operator’s ID")
