"""Holders: their wallets, how they sign in, how they were verified, and the identity they hold."""

import uuid

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class Wallet(models.Model):
    """A holder's account. Enrolled once it holds a `Credential`. Never an `auth.User`."""

    class State(models.TextChoices):
        ACTIVE = "active", _("active")
        SUSPENDED = "suspended", _("suspended")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # Lower case, see sign_in.
    email = models.EmailField(unique=True, editable=False, verbose_name=_("e-mail address"))
    state = models.CharField(max_length=9, choices=State, default=State.ACTIVE, editable=False)
    suspension_reason = models.CharField(max_length=200, blank=True, editable=False)
    created_at = models.DateTimeField(editable=False)

    class Meta:
        ordering = ["-created_at"]
        default_permissions = ["view", "change"]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=["active", "suspended"]), name="wallet_state_known")
        ]
        indexes = [models.Index(fields=["-created_at"], name="wallet_newest")]

    def __str__(self) -> str:
        return str(self.id)


class Errand(models.Model):
    """Why a browser came to the wallet and where it goes when done.

    Made by whoever sent the browser; the wallet knows the places, not what is there. Bound to the
    browser that was sent, by the digest of its cookie.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    browser = models.CharField(max_length=64, editable=False)  # SHA-256 hex, see `browser`
    email = models.EmailField(editable=False)  # whom the sender expects, lower case
    on_behalf_of = models.CharField(
        max_length=100, blank=True, editable=False
    )  # name to show, e.g. Acme Bank
    return_to = models.CharField(max_length=200, editable=False)  # path here, when done
    leave_to = models.CharField(max_length=200, editable=False)  # path here, when the person gives up
    fresh_since = models.DateTimeField(null=True, editable=False)  # an older sign-in does not do
    code_sent_at = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(editable=False)
    expires_at = models.DateTimeField(editable=False, db_index=True)

    class Meta:
        default_permissions = []
        indexes = [models.Index(fields=["browser", "-created_at"], name="wallet_errands_of_browser")]

    def __str__(self) -> str:
        return str(self.id)


class LoginCode(models.Model):
    """A six-digit code sent by e-mail; only its keyed hash is stored; good once, for a few tries."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    errand = models.OneToOneField(Errand, on_delete=models.CASCADE, related_name="code", editable=False)
    digest = models.CharField(max_length=64, editable=False)
    tries_left = models.PositiveSmallIntegerField(editable=False)
    sent_at = models.DateTimeField(editable=False)
    expires_at = models.DateTimeField(editable=False, db_index=True)
    used_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        default_permissions = []

    def __str__(self) -> str:
        return str(self.id)


class HolderSession(models.Model):
    """A signed-in browser of a holder. The cookie carries a secret; the row only its digest."""

    digest = models.CharField(primary_key=True, max_length=64, editable=False)
    wallet = models.ForeignKey(Wallet, on_delete=models.CASCADE, related_name="sessions", editable=False)
    signed_in_at = models.DateTimeField(editable=False)  # when a factor was last shown
    last_seen_at = models.DateTimeField(editable=False)
    expires_at = models.DateTimeField(editable=False, db_index=True)  # absolute

    class Meta:
        default_permissions = []

    def __str__(self) -> str:
        return f"session of {self.wallet_id}"


class Allowance(models.Model):
    """How often something was done in a window of time (`limits`): one row per subject and window."""

    key = models.CharField(primary_key=True, max_length=64, editable=False)  # keyed digest, see `limits`
    count = models.PositiveIntegerField(editable=False)
    expires_at = models.DateTimeField(editable=False, db_index=True)

    class Meta:
        default_permissions = []

    def __str__(self) -> str:
        return self.key


class IdentityVerification(models.Model):
    """One attempt to verify a holder's identity with a provider; moves as in `identity_verification`."""

    # Read by `keys.sealed_columns`; what `identity_verification` seals to.
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

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    wallet = models.ForeignKey(Wallet, on_delete=models.CASCADE, related_name="verifications", editable=False)
    # What it is done for at the moment: where the browser goes back to from the provider.
    errand = models.ForeignKey(Errand, null=True, on_delete=models.SET_NULL, related_name="+", editable=False)
    state = models.CharField(max_length=10, choices=State, default=State.CREATED, editable=False)
    provider = models.CharField(max_length=100, editable=False)  # dotted path, as in settings
    provider_reference = models.CharField(max_length=200, blank=True, editable=False)
    reason = models.CharField(max_length=40, blank=True, editable=False)  # code, see providers.REASONS
    submissions = models.PositiveSmallIntegerField(default=0, editable=False)
    sealed_claims = models.BinaryField(null=True, editable=False)  # what the provider found, while in review
    created_at = models.DateTimeField(editable=False)
    changed_at = models.DateTimeField(editable=False)

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
    """One move of an attempt: from, to, who, why, when. Append-only."""

    verification = models.ForeignKey(
        IdentityVerification, on_delete=models.CASCADE, related_name="transitions", editable=False
    )
    from_state = models.CharField(max_length=10, blank=True, editable=False)
    to_state = models.CharField(max_length=10, editable=False)
    actor = models.CharField(max_length=150, editable=False)  # "holder", "provider", "sweep", operator name
    reason = models.CharField(max_length=200, blank=True, editable=False)
    at = models.DateTimeField(editable=False)

    class Meta:
        ordering = ["at", "id"]
        default_permissions = ["view"]

    def __str__(self) -> str:
        return f"{self.from_state} → {self.to_state}"


class Credential(models.Model):
    """The verified identity a wallet holds. SD-JWTs are minted from it and not stored."""

    # Read by `keys.sealed_columns`; what `credentials` seals to.
    SEALED = {"sealed_identity": "wallet_credential.sealed_identity:{pk}"}

    class State(models.TextChoices):
        VALID = "valid", _("valid")
        SUSPENDED = "suspended", _("suspended")
        REVOKED = "revoked", _("revoked")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    wallet = models.OneToOneField(Wallet, on_delete=models.CASCADE, related_name="credential", editable=False)
    verification = models.ForeignKey(
        IdentityVerification, on_delete=models.PROTECT, related_name="+", editable=False
    )
    state = models.CharField(max_length=9, choices=State, default=State.VALID, editable=False)
    sealed_identity = models.BinaryField(editable=False)  # JSON of `claims.Identity` under keys.sealing
    issued_at = models.DateTimeField(editable=False)
    expires_at = models.DateTimeField(editable=False, db_index=True)

    class Meta:
        ordering = ["-issued_at"]
        default_permissions = ["view", "change"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["valid", "suspended", "revoked"]), name="wallet_credential_state_known"
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)
