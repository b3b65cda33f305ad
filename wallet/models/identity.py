"""The models of identity verifications and credentials."""

import uuid
from typing import Any, TypeAlias

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from infra.models import InternalRow, NumberedRow
from wallet.models.holders import RedirectTask, Wallet


def _operator(*, on_delete: Any) -> models.ForeignKey[Any, Any]:
    return models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=on_delete,
        db_index=False,
        related_name="+",
        editable=False,
    )


class AttemptState(models.TextChoices):
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


class IdentityVerification(NumberedRow):
    """One attempt to verify a holder's identity with a provider. Its moves: `identity.state_machine`."""

    # Sealed columns and the associated data each is bound to: see `keys.sealed_columns`.
    SEALED = {
        "sealed_claims": "wallet_identityverification.sealed_claims:{pk}",
        "sealed_memory": "wallet_identityverification.sealed_memory:{pk}",
    }

    State: TypeAlias = AttemptState

    wallet = models.ForeignKey(Wallet, on_delete=models.CASCADE, related_name="verifications", editable=False)
    # The current redirect task: it says where the browser returns to after the provider.
    redirect_task = models.ForeignKey(
        RedirectTask,
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        editable=False,
        db_column="errand_id",
    )
    # For the e-mail about the outcome: the application for which it is, and `RedirectTask.begin_again`.
    came_from = models.CharField(max_length=100, default="", db_default="", editable=False)
    begin_again = models.CharField(max_length=200, default="", db_default="", editable=False)
    state = models.CharField(max_length=10, choices=State, default=State.CREATED, editable=False)
    provider = models.CharField(max_length=100, editable=False)  # its name in IDENTITY_PROVIDERS
    provider_reference = models.CharField(
        _("provider’s reference"), max_length=200, blank=True, editable=False
    )
    reason = models.CharField(max_length=40, blank=True, editable=False)  # code, see providers.REASONS
    submissions = models.PositiveSmallIntegerField(default=0, editable=False)
    sealed_claims = models.BinaryField(null=True, editable=False)  # what the provider found, while in review
    sealed_memory = models.BinaryField(null=True, editable=False)  # what the provider keeps between its calls
    # Only one process at a time asks the provider for the result: it sets this to the end of its lease.
    asking_until = models.DateTimeField(null=True, editable=False)
    asked_at = models.DateTimeField(null=True, editable=False)  # when the provider was last asked
    returned_at = models.DateTimeField(null=True, editable=False)  # the browser is back, and no result yet
    # Whether the provider's own machines keep data of this check; see `identity.forgetting`.
    kept_by_provider = models.BooleanField(default=False, db_default=False, editable=False)
    created_at = models.DateTimeField(_("begun"), editable=False)
    changed_at = models.DateTimeField(_("last change"), editable=False)
    # The e-mail about the outcome that is still to be sent (`identity.notices`); the other is of before.
    notice_due = models.CharField(max_length=10, blank=True, default="", db_default="", editable=False)
    notice_until = models.DateTimeField(null=True, editable=False)
    # The operator who looks at it: only they see the claims and pictures, and only they decide.
    claimed_by = _operator(on_delete=models.SET_NULL)
    claimed_at = models.DateTimeField(_("claimed"), null=True, editable=False)
    # Where two operators are needed: who approved first, and who approved after them.
    proposed_by = _operator(on_delete=models.PROTECT)
    approved_by = _operator(on_delete=models.PROTECT)

    class Meta:
        ordering = ["-created_at"]
        default_permissions = ["view", "change"]
        constraints = [
            models.CheckConstraint(
                condition=Q(proposed_by__isnull=True)
                | Q(approved_by__isnull=True)
                | ~Q(proposed_by=F("approved_by")),
                name="wallet_approved_by_two",
            ),
            models.CheckConstraint(
                condition=Q(state__in=AttemptState.values), name="wallet_verification_state_known"
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
            models.Index(fields=["changed_at"], name="wallet_verification_oldest"),
            models.Index(fields=["wallet", "-created_at"], name="wallet_verification_newest"),
            models.Index(fields=["provider", "provider_reference"], name="wallet_verification_reference"),
            models.Index(
                fields=["id"], condition=Q(kept_by_provider=True), name="wallet_verification_kept_away"
            ),
        ]


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


class IdentityEvidence(InternalRow):
    """How a verified identity was verified (`wallet.credential.evidence`): made with the approval, and kept
    with it.
    """

    verification = models.OneToOneField(
        IdentityVerification, on_delete=models.CASCADE, related_name="evidence", editable=False
    )
    method = models.CharField(_("method"), max_length=30, editable=False)  # a key of evidence.METHODS
    trust_framework = models.CharField(_("trust framework"), max_length=200, editable=False)
    assurance_level = models.CharField(_("assurance level"), max_length=200, blank=True, editable=False)
    verified_by = models.CharField(_("verified by"), max_length=200, editable=False)
    verified_at = models.DateTimeField(_("verified"), editable=False)
    document_kind = models.CharField(_("document"), max_length=30, blank=True, editable=False)
    issuing_country = models.CharField(_("issuing country"), max_length=2, blank=True, editable=False)
    document_expires_on = models.DateField(_("document expires"), null=True, editable=False)

    class Meta(InternalRow.Meta):
        db_table = "wallet_evidence"


class Credential(NumberedRow):
    """The verified identity of a wallet. SD-JWTs are issued from it and not stored."""

    # Sealed columns and the associated data each is bound to: see `keys.sealed_columns`.
    SEALED = {"sealed_identity": "wallet_credential.sealed_identity:{pk}"}

    class State(models.TextChoices):
        VALID = "valid", _("valid")
        SUSPENDED = "suspended", _("suspended")
        REVOKED = "revoked", _("revoked")

    wallet = models.OneToOneField(Wallet, on_delete=models.CASCADE, related_name="credential", editable=False)
    verification = models.ForeignKey(
        IdentityVerification, on_delete=models.PROTECT, related_name="+", editable=False
    )
    state = models.CharField(max_length=9, choices=State, default=State.VALID, editable=False)
    sealed_identity = models.BinaryField(editable=False)  # the JSON of `claims.Identity`
    issued_at = models.DateTimeField(_("issued"), editable=False)
    expires_at = models.DateTimeField(_("ends"), editable=False, db_index=True)
    revoked_at = models.DateTimeField(_("revoked"), null=True, editable=False)
    erased_at = models.DateTimeField(_("erased"), null=True, editable=False)  # its claims
    # The e-mail about its end that was sent last (`identity.notices`); the other is of before.
    notice = models.CharField(max_length=10, blank=True, default="", db_default="", editable=False)
    notice_until = models.DateTimeField(null=True, editable=False)

    # The sealed identity that was opened last, and what it says: see `credentials`. Not a column.
    opened: tuple[Any, Any] = (None, None)

    class Meta:
        ordering = ["-issued_at"]
        default_permissions = ["view", "change"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["valid", "suspended", "revoked"]), name="wallet_credential_state_known"
            ),
        ]
        indexes = [
            models.Index(fields=["id"], condition=Q(state="suspended"), name="wallet_credentials_suspended"),
            # For `clear_expired`.
            models.Index(
                fields=["expires_at"], condition=Q(erased_at=None), name="wallet_identities_to_erase"
            ),
            models.Index(
                fields=["revoked_at"],
                condition=Q(state="revoked", erased_at=None),
                name="wallet_revoked_to_erase",
            ),
            models.Index(
                fields=["erased_at"], condition=Q(erased_at__isnull=False), name="wallet_identities_erased"
            ),
        ]


class IdentityMark(InternalRow):
    """A keyed digest by which the same person is recognised in another wallet (`identity.duplicates`)."""

    credential = models.ForeignKey(Credential, on_delete=models.CASCADE, related_name="marks", editable=False)
    digest = models.CharField(max_length=64, db_index=True, editable=False)


class Picture(InternalRow):
    """A picture that a person uploaded for an attempt, as a JPEG of our own making
    (`wallet.identity.picture_encoding`).
    """

    # Sealed columns and the associated data each is bound to: see `keys.sealed_columns`.
    SEALED = {"sealed_jpeg": "wallet_picture.sealed_jpeg:{pk}"}

    class Kind(models.TextChoices):
        FRONT = "front", _("front of the document")
        BACK = "back", _("back of the document")
        FACE = "face", _("face")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    verification = models.ForeignKey(
        IdentityVerification, on_delete=models.CASCADE, related_name="pictures", editable=False
    )
    kind = models.CharField(max_length=5, choices=Kind, editable=False)
    sealed_jpeg = models.BinaryField(editable=False)
    uploaded_at = models.DateTimeField(editable=False)

    class Meta(InternalRow.Meta):
        constraints = [models.UniqueConstraint(fields=["verification", "kind"], name="wallet_picture_once")]
