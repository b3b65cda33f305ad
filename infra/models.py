"""Records of the running service that have nothing to do with the product."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from infra.database.append_only import AppendOnly
from infra.mail.models import OutgoingEmail

__all__ = [
    *("Allowance", "AuditLine", "DatabaseMark", "Diagnosis", "InternalRow", "LastRun", "NumberedRow"),
    "OutgoingEmail",
]


class InternalRow(models.Model):
    """The base class of rows that operators do not see: without permissions, and named by their key."""

    class Meta:
        abstract = True
        default_permissions = []

    def __str__(self) -> str:
        return str(self.pk)


class NumberedRow(models.Model):
    """The base class of rows that operators see by their ID."""

    id = models.UUIDField(_("ID"), primary_key=True, default=uuid.uuid4, editable=False)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return str(self.id)


class PasskeyRow(InternalRow):
    """The base class of passkeys of holders and of operators: key pairs on their devices.

    The public key is stored here.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=60, editable=False)
    # base64url without padding; at most 1023 bytes (§4, "credential ID")
    credential_id = models.CharField(max_length=1364, unique=True, editable=False)
    public_key = models.BinaryField(editable=False)  # COSE_Key, RFC 9052 §7
    sign_count = models.BigIntegerField(editable=False)
    transports = models.JSONField(default=list, editable=False)  # how browsers reach it, e.g. ["internal"]
    # Whether a password manager keeps copies, so that it outlives the device.
    backed_up = models.BooleanField(editable=False)
    created_at = models.DateTimeField(editable=False)
    last_used_at = models.DateTimeField(null=True, editable=False)

    class Meta(InternalRow.Meta):
        abstract = True
        ordering = ["created_at", "id"]


class Allowance(InternalRow):
    """A count of uses for `limits`: one row per subject and window, or per slot."""

    key = models.CharField(primary_key=True, max_length=64, editable=False)  # keyed digest, see `limits`
    count = models.PositiveIntegerField(editable=False)
    expires_at = models.DateTimeField(editable=False, db_index=True)

    class Meta(InternalRow.Meta):
        db_table = "wallet_allowance"  # this model was once in `wallet`


class LastRun(InternalRow):
    """When a command that has to run regularly was last run to its end, and what failed since (`runs`)."""

    command = models.CharField(primary_key=True, max_length=40, editable=False)
    at = models.DateTimeField(editable=False)
    failures = models.PositiveIntegerField(db_default=0, editable=False)  # of the last run; 0: it ended well
    leased_until = models.DateTimeField(null=True, editable=False)  # no other worker runs it before (`jobs`)


class Diagnosis(InternalRow):
    """What a check of the doctor saw, and what to do: no personal value, no text of an exception."""

    name = models.CharField(primary_key=True, max_length=40, editable=False)
    state = models.PositiveSmallIntegerField(editable=False)
    seen = models.TextField(editable=False)
    todo = models.TextField(editable=False)
    at = models.DateTimeField(editable=False)


class ToldFinding(InternalRow):
    """What the operator was last told of a check of the doctor (`infra.alarms.telling`)."""

    name = models.CharField(primary_key=True, max_length=40, editable=False)
    state = models.PositiveSmallIntegerField(editable=False)
    at = models.DateTimeField(editable=False)


class Total(InternalRow):
    """How often something happened since the database was made (`infra.totals`)."""

    name = models.CharField(primary_key=True, max_length=60, editable=False)
    count = models.BigIntegerField(editable=False)


class DatabaseMark(InternalRow):
    """The environment that this database belongs to, written once by `migrate` (`database_mark`)."""

    environment = models.CharField(_("environment"), max_length=10, editable=False)
    marked_at = models.DateTimeField(_("marked"), editable=False)
    only = models.BooleanField(default=True, editable=False)  # one row at most, by constraint

    class Meta(InternalRow.Meta):
        db_table = "keys_databasemark"  # this model was once in `keys`
        verbose_name = _("database mark")
        verbose_name_plural = _("database marks")
        constraints = [
            models.UniqueConstraint(fields=["only"], name="keys_one_database_mark"),
            models.CheckConstraint(condition=Q(only=True), name="keys_database_mark_is_the_only"),
            models.CheckConstraint(
                condition=Q(environment__in=["sandbox", "production"]), name="keys_database_mark_known"
            ),
        ]


class AuditLine(AppendOnly):
    """What an operator did or looked at: a line of the hash-chained record (`infra.audit`). IDs only.

    The other columns repeat what is in `text`, for searching. On PostgreSQL a trigger refuses to change or
    delete lines.
    """

    seq = models.BigIntegerField(_("number"), primary_key=True, editable=False)  # without gaps
    text = models.TextField(_("text"), editable=False)  # canonical JSON, exactly as hashed
    hash = models.CharField(_("SHA-256"), max_length=64, editable=False)
    at = models.DateTimeField(_("when"), editable=False, db_index=True)
    operator_id = models.BigIntegerField(_("operator’s ID"), null=True, editable=False, db_index=True)
    action = models.CharField(_("action"), max_length=40, editable=False)
    about = models.CharField(_("about"), max_length=200, editable=False)  # as in "wallet.wallet:<ID>"

    class Meta:
        ordering = ["-seq"]
        default_permissions = []  # read by those who may read the history of the admin
        verbose_name = _("line of the audit record")
        verbose_name_plural = _("audit record")
        indexes = [models.Index(fields=["about", "-seq"], name="infra_audit_about")]

    def __str__(self) -> str:
        return str(self.seq)


class SecondFactor(InternalRow):
    """The app with which an operator proves a second factor (RFC 6238), set up and confirmed."""

    # Sealed columns and the associated data each is bound to: see `keys.sealed_columns`.
    SEALED = {"sealed_secret": "infra_secondfactor.sealed_secret:{pk}"}

    # Without a constraint in the database, so that the release before can delete accounts.
    operator = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        primary_key=True,
        db_constraint=False,
        editable=False,
        related_name="second_factor",
    )
    sealed_secret = models.BinaryField(editable=False)  # empty: the operator has removed the app
    enrolment = models.CharField(max_length=32, editable=False)  # random; sessions that proved it have it
    used_step = models.BigIntegerField(editable=False)  # the 30 seconds whose code was used last
    set_up_at = models.DateTimeField(editable=False)


class SecondFactorReset(InternalRow):
    """The digest of the code that an operator needs whose second factor was reset, to set up a new one."""

    operator = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        primary_key=True,
        db_constraint=False,
        editable=False,
        related_name="second_factor_reset",
    )
    digest = models.CharField(max_length=64, editable=False)
    expires_at = models.DateTimeField(editable=False)


class RecoveryCode(InternalRow):
    """A code that replaces the app once. The row holds its digest and is deleted when the code is used."""

    digest = models.CharField(primary_key=True, max_length=64, editable=False)
    factor = models.ForeignKey(
        SecondFactor, on_delete=models.CASCADE, related_name="recovery_codes", editable=False
    )


class OperatorPasskey(PasskeyRow):
    """A passkey with which an operator proves the second factor in place of the app."""

    factor = models.ForeignKey(SecondFactor, models.CASCADE, related_name="passkeys", editable=False)
