"""Each browser's passage through a request."""

import uuid

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from consent.models import Consent
from presentation.relying_parties.models.relying_parties import RelyingParty
from wallet.models import Errand


class Interaction(models.Model):
    """One browser's passage through one authorization request.

    Only facts are stored: what was received, what the holder was asked, whether and how it was answered.
    What must happen next is computed from them (`passage.next_step`).
    """

    # Sealed columns and the associated data each is bound to: see `stored_parameters`.
    SEALED = {"sealed_transaction_data": "presentation_interaction.sealed_transaction_data:{pk}"}

    class Outcome(models.TextChoices):
        NONE = "", _("not answered yet")
        TOKEN = "token", _("token")
        ERROR = "error", _("error")

    id = models.UUIDField(_("ID"), primary_key=True, default=uuid.uuid4, editable=False)
    relying_party = models.ForeignKey(
        RelyingParty,
        on_delete=models.CASCADE,
        related_name="interactions",
        db_index=False,  # the index below begins with it
        editable=False,
    )
    # As received (a loopback port may be added), or empty where the answer is posted.
    redirect_uri = models.CharField(_("redirect URI"), max_length=506, blank=True, editable=False)
    response_uri = models.CharField(_("response URI"), max_length=500, blank=True, editable=False)
    browser = models.CharField(max_length=64, editable=False)  # infra.browser digest
    # As received, without transaction data; both columns are emptied once answered.
    parameters = models.JSONField(editable=False)
    sealed_transaction_data = models.BinaryField(null=True, editable=False)
    request_hash = models.CharField(max_length=64, editable=False)  # SHA-256 hex over the parameters
    nonce_digest = models.CharField(max_length=64, editable=False)
    consent = models.OneToOneField(Consent, null=True, on_delete=models.PROTECT, editable=False)
    errand = models.ForeignKey(Errand, null=True, on_delete=models.SET_NULL, editable=False)
    outcome = models.CharField(
        max_length=5, choices=Outcome, default=Outcome.NONE, blank=True, editable=False
    )
    error = models.CharField(max_length=40, blank=True, editable=False)
    created_at = models.DateTimeField(_("asked"), editable=False)
    expires_at = models.DateTimeField(_("open until"), editable=False, db_index=True)
    answered_at = models.DateTimeField(_("answered"), null=True, editable=False)

    class Meta:
        indexes = [
            models.Index(fields=["relying_party", "nonce_digest"], name="presentation_interaction_asked"),
            # For `reseal` and `check --deploy`: the table keeps answered interactions for long.
            models.Index(
                fields=["id"],
                condition=Q(sealed_transaction_data__isnull=False),
                name="presentation_sealed_requests",
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["relying_party", "nonce_digest"],
                condition=Q(outcome="token"),
                name="presentation_nonce_presented_once",
            ),
            models.CheckConstraint(
                condition=(Q(outcome="") & Q(answered_at__isnull=True))
                | (~Q(outcome="") & Q(answered_at__isnull=False)),
                name="presentation_interaction_answered_once",
            ),
            models.CheckConstraint(
                condition=(Q(redirect_uri="") & ~Q(response_uri=""))
                | (~Q(redirect_uri="") & Q(response_uri="")),
                name="presentation_interaction_answered_somewhere",
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def answer_is_posted(self) -> bool:
        """Whether it has an answer that the browser does not carry: see `deliveries`."""
        return bool(self.outcome and self.response_uri)
