"""The record of closing a wallet: a fact without a person."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from infra.models import NumberedRow


class WalletClosure(NumberedRow):
    """One decision to close a wallet: when, by whom, why, and how far it got. It names nobody.

    asked ──(undone within a day)──► undone
    asked ──(the day is over)──► closed ──(everything is erased, also at providers)──► finished
    """

    # Sealed columns and the associated data each is bound to: see `keys.sealed_columns`.
    SEALED = {"sealed_address": "wallet_walletclosure.sealed_address:{pk}"}

    class Reason(models.TextChoices):
        """Codes only: a free text might name the person."""

        OWN_WISH = "own_wish", _("the holder closed it")
        ASKED_US = "asked_us", _("the holder asked for it, by letter or in person")
        DUPLICATE = "duplicate", _("the person has another wallet")
        DECEASED = "deceased", _("the holder has died")
        ABUSE = "abuse", _("the wallet was abused")
        LEGAL = "legal", _("the law or an authority demands it")

    # No foreign key: the wallet goes, the fact stays.
    wallet = models.UUIDField(_("wallet"), editable=False, db_index=True)
    reason = models.CharField(_("reason"), max_length=10, choices=Reason, editable=False)
    operator_id = models.BigIntegerField(_("operator’s ID"), null=True, editable=False)  # None: the holder
    asked_at = models.DateTimeField(_("asked"), editable=False)
    closes_at = models.DateTimeField(_("closes"), editable=False)
    undone_at = models.DateTimeField(_("undone"), null=True, editable=False)
    undone_by = models.BigIntegerField(_("undone by operator"), null=True, editable=False)
    closed_at = models.DateTimeField(_("closed"), null=True, editable=False)
    finished_at = models.DateTimeField(_("everything erased"), null=True, editable=False)
    # The address of a closed wallet, until everything stored under it is erased.
    sealed_address = models.BinaryField(null=True, editable=False)
    # Both are of the release before.
    notice_due = models.CharField(max_length=10, blank=True, default="", editable=False)
    taken_until = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ["-asked_at"]
        default_permissions = []  # read by those who may see wallets
        verbose_name = _("closed wallet")
        verbose_name_plural = _("closed wallets")
        constraints = [
            models.UniqueConstraint(
                fields=["wallet"], condition=Q(undone_at=None), name="wallet_closed_once_unless_undone"
            ),
            models.CheckConstraint(
                condition=Q(undone_at=None) | Q(closed_at=None), name="wallet_closure_undone_or_closed"
            ),
        ]
        indexes = [
            models.Index(
                fields=["closes_at"],
                condition=Q(undone_at=None, finished_at=None),
                name="wallet_closures_open",
            )
        ]
