"""Client secrets, used assertions, client IDs that certificates prove, and the history of commands."""

from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from infra.database.append_only import AppendOnly
from infra.models import InternalRow
from infra.registering import NotRegistrableError
from keys.rotation.key_events import shell_user
from presentation.relying_parties.metadata import certificates
from presentation.relying_parties.models.relying_parties import OPENID_CONNECT, RelyingParty


class ClientSecret(models.Model):
    """A secret of 256 random bits. Only its SHA-256 is stored, which is safe for a random value.

    live ──(it expires, or an operator ends it)──► ended. At most two are live, one in each slot.
    """

    relying_party = models.ForeignKey(
        RelyingParty, on_delete=models.CASCADE, related_name="client_secrets", editable=False
    )
    slot = models.PositiveSmallIntegerField(editable=False)  # 0 or 1
    digest = models.CharField(max_length=64, editable=False)  # SHA-256 hex
    created_at = models.DateTimeField(_("made"), editable=False)
    expires_at = models.DateTimeField(_("ends"), editable=False)
    ended_at = models.DateTimeField(_("ended"), null=True, editable=False)
    last_used_at = models.DateTimeField(_("last used"), null=True, editable=False)  # to the minute

    class Meta:
        verbose_name = _("client secret")
        verbose_name_plural = _("client secrets")
        ordering = ["-created_at", "-id"]
        default_permissions = []  # the permissions of relying parties count
        constraints = [
            models.UniqueConstraint(
                fields=["relying_party", "slot"],
                condition=Q(ended_at=None),
                name="presentation_one_live_client_secret_per_slot",
            ),
            models.CheckConstraint(
                condition=Q(slot__in=[0, 1]), name="presentation_client_secret_slot_known"
            ),
            models.CheckConstraint(
                condition=Q(expires_at__gt=F("created_at")), name="presentation_client_secret_lives"
            ),
        ]

    def __str__(self) -> str:
        return f"client secret {self.pk}"


class UsedAssertion(InternalRow):
    """A client assertion that was accepted. Its `jti` is refused until the assertion has expired."""

    digest = models.CharField(primary_key=True, max_length=64, editable=False)  # of client ID and jti
    expires_at = models.DateTimeField(db_index=True, editable=False)


class CertifiedClientID(models.Model):
    """A client ID of requests that a certificate proves, beside `client_id`; rules: `certificates`."""

    relying_party = models.ForeignKey(
        RelyingParty, on_delete=models.CASCADE, related_name="certified_client_ids"
    )
    client_id = models.CharField(
        _("client ID"),
        max_length=certificates.LONGEST,
        unique=True,
        blank=True,
        help_text=_("x509_san_dns: and a DNS name. Empty: x509_hash: and the hash of its certificate."),
    )
    certificates = models.TextField(
        _("certificates"),
        max_length=certificates.LONGEST_PEM,
        help_text=_(
            "As PEM: its own, or for a DNS name that of the authority that issues them. Anybody who gets a "
            "certificate with the name from the authority can ask in its name."
        ),
    )

    class Meta:
        verbose_name = _("client ID with a certificate")
        verbose_name_plural = _("client IDs with a certificate")
        ordering = ["id"]
        default_permissions = []  # the permissions of relying parties count
        constraints = [
            models.CheckConstraint(
                condition=Q(client_id__startswith="x509_hash:") | Q(client_id__startswith="x509_san_dns:"),
                name="presentation_certified_client_id_has_a_prefix",
            ),
        ]

    def __str__(self) -> str:
        return self.client_id

    @classmethod
    def of_active(cls, client_id: str) -> "CertifiedClientID | None":
        """The registration of a client ID that only a certificate proves, of an active relying party."""
        if ":" not in client_id:
            return None
        active = cls.objects.filter(client_id=client_id, relying_party__state=RelyingParty.State.ACTIVE)
        usable = active.exclude(relying_party__wire_format=OPENID_CONNECT)
        return usable.select_related("relying_party").first()

    def clean(self) -> None:
        """Names it by the hash of its certificate if it has no name; raises ValidationError."""
        if not self.certificates:
            return  # the field's own validation reports it
        try:
            self.client_id = certificates.fitting(self.client_id, self.certificates)
        except NotRegistrableError as error:
            raise ValidationError({"certificates": ValidationError(error.reason)}) from None
        if self.relying_party.wire_format == OPENID_CONNECT:
            raise ValidationError(_("OpenID Connect knows no such client IDs."))


class RelyingPartyEvent(AppendOnly):
    """An action of a management command on a relying party, and who ran the command. Append-only.

    The admin's own history knows operators only.
    """

    relying_party = models.ForeignKey(
        RelyingParty, on_delete=models.CASCADE, related_name="done_by_command", editable=False
    )
    action = models.CharField(_("what"), max_length=200, editable=False)
    actor = models.CharField(_("who"), max_length=150, editable=False)  # shell user
    at = models.DateTimeField(_("when"), editable=False)

    class Meta:
        ordering = ["-at", "-id"]
        default_permissions = []  # the permissions of relying parties count
        constraints = [
            models.CheckConstraint(
                condition=~Q(actor="") & ~Q(action=""), name="presentation_event_says_who_and_what"
            )
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.at}"

    @classmethod
    def record(cls, party: RelyingParty, action: str, *, command: str, now: datetime) -> None:
        """Inserts one row, in the transaction of the change. The action must name no secret and no address.

        command: the name of the management command.
        """
        actor = str(_("%(user)s, by %(command)s") % {"user": shell_user(), "command": command})
        cls.objects.create(relying_party=party, action=action[:200], actor=actor[:150], at=now)
