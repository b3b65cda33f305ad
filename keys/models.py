"""The signing keys of this issuer, one row per key; states as in `rotation`."""

import uuid

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class SigningKey(models.Model):
    """A P-256 key that signs credentials, with its certificate chain.

    staged ──(published for the JWKS max-age)──► active ──(next key takes over)──► retired ──► withdrawn
       └───────────────────────────────(compromised, in any state)──────────────────────────────▲
    """

    class State(models.TextChoices):
        STAGED = "staged", _("staged: published, not yet signing")
        ACTIVE = "active", _("active: signs")
        RETIRED = "retired", _("retired: published, no longer signs")
        WITHDRAWN = "withdrawn", _("withdrawn: not published")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False, verbose_name=_("key id (kid)"))
    state = models.CharField(max_length=9, choices=State, default=State.STAGED, editable=False)
    sealed_private_key = models.BinaryField(editable=False)  # PKCS#8 DER under `sealing`
    public_key = models.BinaryField(editable=False)  # SubjectPublicKeyInfo DER
    chain_pem = models.TextField(blank=True, editable=False)  # leaf first; empty until certified
    staged_at = models.DateTimeField(editable=False)
    activated_at = models.DateTimeField(null=True, editable=False)
    retired_at = models.DateTimeField(null=True, editable=False)
    withdrawn_at = models.DateTimeField(null=True, editable=False)
    reason = models.CharField(max_length=200, blank=True, editable=False)

    class Meta:
        ordering = ["-staged_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["state"], condition=Q(state="active"), name="keys_one_active_signing_key"
            ),
            models.CheckConstraint(
                condition=~Q(state="active") | (Q(activated_at__isnull=False) & ~Q(chain_pem="")),
                name="keys_active_key_is_certified",
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)


class Authority(models.Model):
    """The sandbox's own certificate authority: a root and an issuing CA, made once (`authority`)."""

    root_pem = models.TextField(editable=False)
    issuing_pem = models.TextField(editable=False)
    sealed_root_key = models.BinaryField(editable=False)
    sealed_issuing_key = models.BinaryField(editable=False)
    created_at = models.DateTimeField(editable=False)
    only = models.BooleanField(default=True, editable=False)  # one row at most, by constraint

    class Meta:
        verbose_name_plural = "authorities"
        constraints = [
            models.UniqueConstraint(fields=["only"], name="keys_one_authority"),
            models.CheckConstraint(condition=Q(only=True), name="keys_authority_is_the_only"),
        ]

    def __str__(self) -> str:
        return "certificate authority"
