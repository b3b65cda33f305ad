"""The models of identity verifications and credentials."""

import uuid

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from wallet.models.holders import Errand, Wallet


class IdentityVerification(models.Model):
    """One attempt to verify a holder's identity with a provider. Its moves: `identity.state_machine`."""

    # Sealed columns and the associated data each is bound to: see `keys.sealed_columns`.
    SEALED = {"sealed_claims": "wallet_identityverification.sealed_claims:{pk}"}

    class State(models.TextChoices):
        CREATED = "created", _("created")
        STARTED = "started", _("started")
        SUBMITTED = "submitted", _("submitted")
        PROCESSING = "processing", _("processing")
        RESUBMIT = "resubmit", _("to be submitted again")
        REVIEW = "review", _("in review by a person")
        APPROVED = "approved", _("approved")
        DECLINED = "declined", _("declined")
        ERROR = "error", _("provider error")
        ABANDONED = "abandoned", _("abandoned")
        CANCELLED = "cancelled", _("cancelled")
        EXPIRED = "expired", _("expired")

    id = models.UUIDField(_("ID"), primary_key=True, default=uuid.uuid4, editable=False)
    wallet = models.ForeignKey(Wallet, on_delete=models.CASCADE, related_name="verifications", editable=False)
    # The current redirect task: it says where the browser returns to after the provider.
    errand = models.ForeignKey(Errand, null=True, on_delete=models.SET_NULL, related_name="+", editable=False)
    state = models.CharField(max_length=10, choices=State, default=State.CREATED, editable=False)
    provider = models.CharField(max_length=100, editable=False)  # dotted path, as in settings
    provider_reference = models.CharField(
        _("provider’s reference"), max_length=200, blank=True, editable=False
    )
    reason = models.CharField(max_length=40, blank=True, editable=False)  # code, see providers.REASONS
    submissions = models.PositiveSmallIntegerField(default=0, editable=False)
    sealed_claims = models.BinaryField(null=True, editable=False)  # the provider's result, during a review
    created_at = models.DateTimeField(_("begun"), editable=False)
    changed_at = models.DateTimeField(_("last change"), editable=False)

    class Meta:
        ordering = ["-created_at"]
        default_permissions = ["view", "change"]
        constraints = [
            models.CheckConstraint(
                condition=Q(
                    state__in=[
                        "created",
                        "started",
                        "submitted",
                        "processing",
                        "resubmit",
                        "review",
                        "approved",
                        "declined",
                        "error",
                        "abandoned",
                        "cancelled",
                        "expired",
                    ]
                ),
                name="wallet_verification_state_known",
            ),
            models.UniqueConstraint(
                fields=["wallet"],
                condition=Q(
                    state__in=["created", "started", "submitted", "processing", "resubmit", "review"]
                ),
                name="wallet_one_open_verification",
            ),
            models.CheckConstraint(
                condition=Q(sealed_claims__isnull=True) | Q(state="review"),
                name="wallet_claims_kept_only_in_review",
            ),
        ]
        indexes = [
            models.Index(fields=["state", "changed_at"], name="wallet_verification_idle"),
            models.Index(fields=["wallet", "-created_at"], name="wallet_verification_newest"),
        ]

    def __str__(self) -> str:
        return str(self.id)


class IdentityVerificationTransition(models.Model):
    """One move of an attempt: from, to, actor, reason, time. Append-only."""

    verification = models.ForeignKey(
        IdentityVerification, on_delete=models.CASCADE, related_name="transitions", editable=False
    )
    from_state = models.CharField(max_length=10, blank=True, editable=False)
    to_state = models.CharField(max_length=10, editable=False)
    # "holder", "provider", "sweep", or the user name of an operator.
    actor = models.CharField(_("who"), max_length=150, editable=False)
    reason = models.CharField(_("why"), max_length=200, blank=True, editable=False)
    at = models.DateTimeField(_("when"), editable=False)

    class Meta:
        ordering = ["at", "id"]
        default_permissions = ["view"]

    def __str__(self) -> str:
        return f"{self.from_state} → {self.to_state}"


class Credential(models.Model):
    """The verified identity of a wallet. SD-JWTs are issued from it and not stored."""

    # Sealed columns and the associated data each is bound to: see `keys.sealed_columns`.
    SEALED = {"sealed_identity": "wallet_credential.sealed_identity:{pk}"}

    class State(models.TextChoices):
        VALID = "valid", _("valid")
        SUSPENDED = "suspended", _("suspended")
        REVOKED = "revoked", _("revoked")

    id = models.UUIDField(_("ID"), primary_key=True, default=uuid.uuid4, editable=False)
    wallet = models.OneToOneField(Wallet, on_delete=models.CASCADE, related_name="credential", editable=False)
    verification = models.ForeignKey(
        IdentityVerification, on_delete=models.PROTECT, related_name="+", editable=False
    )
    state = models.CharField(max_length=9, choices=State, default=State.VALID, editable=False)
    sealed_identity = models.BinaryField(editable=False)  # the JSON of `claims.Identity`
    issued_at = models.DateTimeField(_("issued"), editable=False)
    expires_at = models.DateTimeField(_("ends"), editable=False, db_index=True)

    class Meta:
        ordering = ["-issued_at"]
        default_permissions = ["view", "change"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["valid", "suspended", "revoked"]), name="wallet_credential_state_known"
            ),
        ]
        indexes = [
            models.Index(fields=["id"], condition=Q(state="suspended"), name="wallet_credentials_suspended")
        ]

    def __str__(self) -> str:
        return str(self.id)
