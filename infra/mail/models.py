"""The outbox: one row per e-mail that is to be sent, or was sent lately."""

import uuid

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class OutgoingEmail(models.Model):
    """An e-mail to one recipient. Its content is erased once it was sent, or will never be sent.

    waiting ──(the mail server has it)──► sent; waiting ──(the mail server refuses it for good)──► refused;
    waiting ──(`expires_at` has passed)──► too late; waiting or refused ──(operator, or a newer e-mail)──►
    dropped. An operator may make refused ones wait again.
    """

    SEALED = {"sealed_letter": "infra_outgoingemail.sealed_letter:{pk}"}

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        SENT = "sent", _("sent")
        REFUSED = "refused", _("refused")
        TOO_LATE = "too late", _("too late")
        DROPPED = "dropped", _("dropped")

    id = models.UUIDField(_("ID"), primary_key=True, default=uuid.uuid4, editable=False)
    # The kind of e-mail, such as "code" or the name of a notice.
    purpose = models.CharField(_("purpose"), max_length=40, editable=False)
    # Whether a person waits for it on a page. Separate threads send these.
    urgent = models.BooleanField(_("urgent"), default=False, editable=False)
    # A keyed digest of the address, by which the e-mails to a person are found.
    recipient = models.CharField(max_length=64, editable=False, db_index=True)
    # Recipient, subject and texts as JSON; see `queue.EmailContent`.
    sealed_letter = models.BinaryField(default=b"", editable=False)
    state = models.CharField(_("state"), max_length=8, choices=State, default=State.WAITING, editable=False)
    # Why the last try failed, see `failures`; never a text of the mail server, which may name the recipient.
    reason = models.CharField(_("reason"), max_length=60, blank=True, editable=False)
    tries = models.PositiveIntegerField(_("tries"), default=0, editable=False)
    created_at = models.DateTimeField(_("written"), editable=False)
    due_at = models.DateTimeField(_("next try"), editable=False)
    expires_at = models.DateTimeField(_("sent until"), editable=False)
    tried_at = models.DateTimeField(_("last try"), null=True, editable=False)
    # The end of the lease of the sender that has claimed the e-mail; until then no other sends it.
    leased_until = models.DateTimeField(null=True, editable=False)
    ended_at = models.DateTimeField(_("ended"), null=True, editable=False)

    class Meta:
        verbose_name = _("e-mail")
        verbose_name_plural = _("e-mails")
        ordering = ["-created_at", "-id"]
        default_permissions = ["view", "change"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["waiting", "sent", "refused", "too late", "dropped"]),
                name="infra_email_state_known",
            ),
            models.CheckConstraint(
                condition=Q(state="waiting", ended_at=None) | ~Q(state="waiting") & Q(ended_at__isnull=False),
                name="infra_email_waits_or_ended",
            ),
        ]
        indexes = [
            models.Index(
                fields=["urgent", "due_at"], condition=Q(state="waiting"), name="infra_emails_waiting"
            ),
            models.Index(fields=["ended_at"], condition=Q(ended_at__isnull=False), name="infra_emails_ended"),
            models.Index(fields=["expires_at"], condition=Q(state="refused"), name="infra_emails_refused"),
            models.Index(fields=["-created_at", "-id"], name="infra_emails_newest"),
        ]

    def __str__(self) -> str:
        return str(self.id)
