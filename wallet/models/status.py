"""The models of status lists (Token Status List): lists, entries, and the history of changes."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from infra.database.append_only import AppendOnly
from infra.models import InternalRow
from keys.models import SigningKey
from wallet.models.identity import Credential

SIZE = 2**20


class StatusList(InternalRow):
    """One published list. Two lists are open, one per slot. The row stores the last signed token.

    open ──(half full)──► closed ──(all its credentials have expired)──► retired
    """

    slot = models.PositiveSmallIntegerField(editable=False)  # 0 or 1
    size = models.PositiveIntegerField(default=SIZE, editable=False)  # entries; a power of two
    opened_at = models.DateTimeField(editable=False)
    closed_at = models.DateTimeField(null=True, editable=False)
    retired_at = models.DateTimeField(null=True, editable=False)
    checked_at = models.DateTimeField(null=True, editable=False)  # when an instance last checked the list
    signed_at = models.DateTimeField(null=True, editable=False)
    kid = models.UUIDField(null=True, editable=False)  # of the key that signed the token
    content = models.CharField(max_length=64, blank=True, editable=False)  # SHA-256 of address and statuses
    token = models.TextField(blank=True, editable=False)  # as published

    class Meta(InternalRow.Meta):
        constraints = [
            # At most one open list per slot, however many instances run.
            models.UniqueConstraint(
                fields=["slot"], condition=Q(closed_at=None), name="wallet_one_open_status_list_per_slot"
            ),
            models.CheckConstraint(condition=Q(slot__in=[0, 1]), name="wallet_status_list_slot_known"),
            models.CheckConstraint(
                condition=Q(retired_at=None) | Q(closed_at__isnull=False),
                name="wallet_retired_status_list_is_closed",
            ),
        ]
        indexes = [
            models.Index(fields=["id"], condition=Q(retired_at=None), name="wallet_status_lists_published")
        ]


class StatusEntry(models.Model):
    """The entry of one presented credential in a list. After the expiry it is blank; its index stays taken.

    The foreign keys to lists and signing keys have no database constraint, because each would lock a row that
    all presentations share. Lists and keys are never deleted.
    """

    class Status(models.IntegerChoices):
        """The status that was set on the entry itself, as on the wire (§7.1)."""

        VALID = 0, _("valid")
        INVALID = 1, _("invalid")
        SUSPENDED = 2, _("suspended")

    status_list = models.ForeignKey(
        StatusList,
        on_delete=models.PROTECT,
        related_name="entries",
        db_constraint=False,
        db_index=False,
        editable=False,
    )
    idx = models.PositiveIntegerField(editable=False)
    credential = models.ForeignKey(
        Credential,
        null=True,
        on_delete=models.PROTECT,
        related_name="entries",
        db_index=False,
        editable=False,
    )
    signing_key = models.ForeignKey(
        SigningKey,
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        db_constraint=False,
        db_index=False,
        editable=False,
        verbose_name=_("signed by"),
    )
    # The ID of what it was presented for; its meaning is known only to the app that presented it.
    reference = models.UUIDField(_("receipt"), null=True, editable=False)
    status = models.PositiveSmallIntegerField(
        choices=Status, default=Status.VALID, editable=False, verbose_name=_("own status")
    )
    expires_at = models.DateTimeField(_("ends"), null=True, editable=False)

    class Meta:
        verbose_name = _("presented credential")
        verbose_name_plural = _("presented credentials")
        ordering = ["-expires_at", "-id"]
        default_permissions = []  # the permissions for credentials apply
        constraints = [
            models.UniqueConstraint(fields=["status_list", "idx"], name="wallet_status_entry_given_once"),
            models.CheckConstraint(condition=Q(status__in=[0, 1, 2]), name="wallet_status_entry_known"),
            models.CheckConstraint(
                condition=Q(credential__isnull=False, signing_key__isnull=False, expires_at__isnull=False)
                | Q(credential=None, signing_key=None, expires_at=None, reference=None, status=0),
                name="wallet_swept_status_entry_is_blank",
            ),
        ]
        # Only the last of these contains blank entries; `sweeping` deletes them when the list is closed.
        indexes = [
            models.Index(
                fields=["expires_at"],
                condition=Q(expires_at__isnull=False),
                name="wallet_status_entries_ending",
            ),
            models.Index(
                fields=["credential"],
                condition=Q(credential__isnull=False),
                name="wallet_status_entries_of",
            ),
            models.Index(
                fields=["status_list"], condition=~Q(status=0), name="wallet_status_entries_changed"
            ),
            models.Index(
                fields=["status_list", "idx"],
                condition=Q(expires_at=None),
                name="wallet_status_entries_blank",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.status_list_id}/{self.idx}"


class StatusEvent(AppendOnly):
    """One change of statuses: action, subject, number, actor and reason. Append-only."""

    class Action(models.TextChoices):
        INVALIDATED = "invalidated", _("invalidated")
        SUSPENDED = "suspended", _("suspended")
        REINSTATED = "reinstated", _("reinstated")

    class Subject(models.TextChoices):
        PRESENTED = "presented", _("presented credential")
        CREDENTIAL = "credential", _("credential")
        WALLET = "wallet", _("wallet")
        KEY = "key", _("everything a key signed")

    action = models.CharField(_("what"), max_length=11, choices=Action, editable=False)
    subject = models.CharField(_("subject"), max_length=10, choices=Subject, editable=False)
    subject_id = models.CharField(_("ID"), max_length=40, editable=False)
    count = models.PositiveIntegerField(_("credentials affected"), editable=False)
    actor = models.CharField(_("who"), max_length=150, editable=False)  # operator, shell user or "holder"
    reason = models.CharField(_("why"), max_length=200, editable=False)
    at = models.DateTimeField(_("when"), editable=False)

    class Meta:
        verbose_name = _("status event")
        verbose_name_plural = _("status events")
        ordering = ["-at", "-id"]
        default_permissions = []
        constraints = [
            models.CheckConstraint(
                condition=Q(action__in=["invalidated", "suspended", "reinstated"])
                & Q(subject__in=["presented", "credential", "wallet", "key"]),
                name="wallet_status_event_known",
            ),
            models.CheckConstraint(
                condition=~Q(actor="") & ~Q(reason=""), name="wallet_status_event_says_who_and_why"
            ),
        ]
        indexes = [models.Index(fields=["-at", "-id"], name="wallet_status_event_newest")]

    def __str__(self) -> str:
        return f"{self.get_action_display()} {self.subject_id}"
