"""Relying applications, the places their answers may go, and each browser's passage through a request."""

import secrets
import uuid

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from consent.models import Consent
from wallet.models import Errand


def new_client_id() -> str:
    """A URL-safe identifier of 128 random bits; never contains `:` (OpenID4VP 1.0 §5.9.1)."""
    return secrets.token_urlsafe(16)


class RelyingParty(models.Model):
    """Who asks: a registered relying application. Wire identifier `client_id`."""

    class State(models.TextChoices):
        ACTIVE = "active", _("active")
        SUSPENDED = "suspended", _("suspended")

    class WireFormat(models.TextChoices):
        STRING = "string", _("the contract: vp_token is the SD-JWT VC string")
        OPENID4VP_1_0 = "openid4vp-1.0", _("OpenID4VP 1.0: vp_token is a JSON object")

    client_id = models.CharField(max_length=100, unique=True, default=new_client_id, editable=False)
    name = models.CharField(max_length=100, unique=True)
    logo = models.BinaryField(blank=True, default=b"", editable=False)  # PNG, JPEG or WebP, small
    purpose = models.CharField(max_length=300, blank=True)
    privacy_policy_url = models.URLField(blank=True)
    terms_url = models.URLField(blank=True)
    contact = models.EmailField(blank=True)
    allowed_scopes = models.JSONField(default=list)
    allowed_transaction_data_types = models.JSONField(default=list, blank=True)
    wire_format = models.CharField(max_length=13, choices=WireFormat, default=WireFormat.STRING)
    state = models.CharField(max_length=9, choices=State, default=State.ACTIVE, editable=False)
    suspension_reason = models.CharField(max_length=300, blank=True, editable=False)
    notes = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "relying parties"
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["active", "suspended"]), name="presentation_relying_party_state_known"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class RedirectURI(models.Model):
    """One registered place an answer may go; compared as an exact string (RFC 9700 §2.1)."""

    relying_party = models.ForeignKey(RelyingParty, on_delete=models.CASCADE, related_name="redirect_uris")
    uri = models.CharField(max_length=500)

    class Meta:
        verbose_name = "redirect URI"
        constraints = [
            models.UniqueConstraint(fields=["relying_party", "uri"], name="presentation_redirect_uri_once")
        ]

    def __str__(self) -> str:
        return self.uri


class Interaction(models.Model):
    """One browser's passage through one authorization request.

    Only facts are stored: what was received, what the holder was asked, whether and how it was answered.
    What must happen next is computed from them (`interactions.next_step`).
    """

    class Outcome(models.TextChoices):
        NONE = "", _("not answered yet")
        TOKEN = "token", _("token")  # noqa: S105 - the kind of answer, not a secret
        ERROR = "error", _("error")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    relying_party = models.ForeignKey(
        RelyingParty, on_delete=models.CASCADE, related_name="interactions", editable=False
    )
    redirect_uri = models.CharField(max_length=500, editable=False)  # as received, proven registered
    browser = models.CharField(max_length=64, editable=False)  # wallet.browser digest
    parameters = models.JSONField(editable=False)  # as received; emptied once answered
    request_hash = models.CharField(max_length=64, editable=False)  # SHA-256 hex over the parameters
    nonce_digest = models.CharField(max_length=64, editable=False)
    consent = models.OneToOneField(Consent, null=True, on_delete=models.PROTECT, editable=False)
    errand = models.ForeignKey(Errand, null=True, on_delete=models.SET_NULL, editable=False)
    outcome = models.CharField(max_length=5, choices=Outcome, default=Outcome.NONE, blank=True, editable=False)
    error = models.CharField(max_length=40, blank=True, editable=False)
    created_at = models.DateTimeField(editable=False)
    expires_at = models.DateTimeField(editable=False, db_index=True)
    answered_at = models.DateTimeField(null=True, editable=False)

    class Meta:
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
        ]

    def __str__(self) -> str:
        return str(self.id)
