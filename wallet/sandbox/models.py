"""What the sandbox keeps: outcomes picked for identity checks, and the letters nobody delivers."""

from django.db import models

from wallet.models import IdentityVerification


class PickedOutcome(models.Model):
    """What the person picked on the page of the simulated provider, for their latest submission."""

    verification = models.OneToOneField(
        IdentityVerification, on_delete=models.CASCADE, primary_key=True, related_name="+", editable=False
    )
    outcome = models.CharField(max_length=30, editable=False)  # key of personas.OUTCOMES
    picked_at = models.DateTimeField(editable=False)

    class Meta:
        default_permissions = []

    def __str__(self) -> str:
        return self.outcome


class Letter(models.Model):
    """One e-mail to one recipient, kept instead of sent; the newest few hundred (`mailbox`)."""

    recipient = models.EmailField(editable=False)
    subject = models.CharField(max_length=200, editable=False)
    text = models.TextField(editable=False)
    sent_at = models.DateTimeField(editable=False)

    class Meta:
        default_permissions = []
        indexes = [models.Index(fields=["recipient", "-id"], name="wallet_sandbox_newest_letter")]

    def __str__(self) -> str:
        return str(self.pk)
