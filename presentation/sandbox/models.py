"""What the sandbox keeps of relying parties that their developers registered themselves."""

from django.db import models

from presentation.models import RelyingParty


class SelfRegistration(models.Model):
    """Whose relying party it is, and how long it is kept unless it is used or renewed (`self_service`)."""

    relying_party = models.OneToOneField(
        RelyingParty,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="self_registration",
        editable=False,
    )
    owner = models.EmailField(editable=False, db_index=True)  # proven to be read, lower case
    expires_at = models.DateTimeField(editable=False, db_index=True)

    class Meta:
        default_permissions = []

    def __str__(self) -> str:
        return str(self.pk)
