"""The models of changes of the e-mail address, and of recoveries after a lost mailbox."""

import uuid

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from infra.models import InternalRow, NumberedRow
from wallet.models.holders import Wallet
from wallet.models.identity import IdentityVerification


class EmailChange(InternalRow):
    """A change that a holder has asked for: the new address, and the keyed hash of the code sent there.

    A wallet has one at most; another request replaces it.
    """

    wallet = models.OneToOneField(Wallet, on_delete=models.CASCADE, related_name="email_change")
    browser = models.CharField(max_length=64, editable=False)  # SHA-256 (hex), see `infra.browser`
    email = models.EmailField(editable=False)  # the new address, lower case
    digest = models.CharField(max_length=64, editable=False)
    tries_left = models.PositiveSmallIntegerField(editable=False)
    expires_at = models.DateTimeField(editable=False, db_index=True)
    used_at = models.DateTimeField(null=True, editable=False)
    outgoing = models.UUIDField(null=True, editable=False)  # the number of its e-mail in the outbox


class FormerAddress(InternalRow):
    """The address that a wallet had before a change. Until `expires_at` its mailbox can undo the change.

    The e-mail to it has a link, whose hash is stored. Until then nobody else gets the address, unless
    `closed_at` says that the change was undone.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    wallet = models.ForeignKey(Wallet, on_delete=models.CASCADE, related_name="former_addresses")
    email = models.EmailField(editable=False, db_index=True)  # lower case
    undo_digest = models.CharField(max_length=64, blank=True, editable=False, db_index=True)
    left_at = models.DateTimeField(editable=False)
    expires_at = models.DateTimeField(editable=False, db_index=True)
    closed_at = models.DateTimeField(null=True, editable=False)
    # When the e-mail to it was put into the outbox. The other column is of the release before.
    told_at = models.DateTimeField(null=True, editable=False)
    notice_until = models.DateTimeField(null=True, editable=False)


class Recovery(NumberedRow):
    """A holder without their mailbox asks that a wallet moves to the address of a new one.

    asked ─(identity verified)─► waiting ─► moved
      └─► refused                   └─► stopped
    """

    class State(models.TextChoices):
        ASKED = "asked", _("waits for the identity check")
        REFUSED = "refused", _("no wallet to move")
        WAITING = "waiting", _("waits for the move")
        STOPPED = "stopped", _("stopped")
        MOVED = "moved", _("moved")

    # The wallet of the new address. It is deleted by the move.
    new = models.ForeignKey(
        Wallet,
        null=True,
        on_delete=models.SET_NULL,
        related_name="recoveries_asked",
        editable=False,
        verbose_name=_("wallet of the new address"),
    )
    # The wallet that moves, as soon as it is known.
    old = models.ForeignKey(
        Wallet,
        null=True,
        on_delete=models.CASCADE,
        related_name="recoveries",
        editable=False,
        verbose_name=_("wallet that moves"),
    )
    state = models.CharField(max_length=8, choices=State, default=State.ASKED, editable=False)
    # A keyed digest of the old address that the person named; empty once it is decided.
    named = models.CharField(max_length=64, blank=True, editable=False)
    # The check that showed who the person is.
    verification = models.ForeignKey(
        IdentityVerification, null=True, on_delete=models.SET_NULL, related_name="+", editable=False
    )
    reason = models.CharField(_("why"), max_length=200, blank=True, editable=False)
    # "old mailbox", "holder", "new wallet", "sweep" or the user name of an operator.
    decided_by = models.CharField(_("who"), max_length=150, blank=True, editable=False)
    asked_at = models.DateTimeField(_("asked"), editable=False)
    matched_at = models.DateTimeField(_("wallet found"), null=True, editable=False)
    due_at = models.DateTimeField(_("moves"), null=True, editable=False)
    ended_at = models.DateTimeField(_("ended"), null=True, editable=False)
    # How many e-mails the old address got, and when the last was sent. The third is of the release before.
    notices = models.PositiveSmallIntegerField(default=0, editable=False)
    notified_at = models.DateTimeField(null=True, editable=False)
    notice_until = models.DateTimeField(null=True, editable=False)
    # The number in the outbox of the e-mail that is not counted yet.
    outgoing = models.UUIDField(null=True, editable=False)

    class Meta:
        verbose_name = _("recovery")
        verbose_name_plural = _("recoveries")
        ordering = ["-asked_at"]
        default_permissions = []  # the permissions for wallets apply
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["asked", "refused", "waiting", "stopped", "moved"]),
                name="wallet_recovery_state_known",
            ),
            models.UniqueConstraint(
                fields=["old"], condition=Q(state="waiting"), name="wallet_one_recovery_of_a_wallet"
            ),
            models.UniqueConstraint(
                fields=["new"],
                condition=Q(state__in=["asked", "waiting"]),
                name="wallet_one_recovery_by_a_wallet",
            ),
        ]
        indexes = [
            models.Index(fields=["due_at"], condition=Q(state="waiting"), name="wallet_moves_due"),
            models.Index(fields=["asked_at"], condition=Q(state="asked"), name="wallet_recoveries_asked"),
            models.Index(
                fields=["ended_at"], condition=Q(ended_at__isnull=False), name="wallet_recoveries_ended"
            ),
        ]


class StopLink(InternalRow):
    """A link in an e-mail to the old address that stops a recovery; the hash of its secret is stored."""

    digest = models.CharField(primary_key=True, max_length=64, editable=False)
    recovery = models.ForeignKey(Recovery, on_delete=models.CASCADE, related_name="links")
    expires_at = models.DateTimeField(editable=False, db_index=True)
