"""What the sandbox keeps: who registered a relying party themselves, and answers posted to the playground."""

import uuid

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


class PlaygroundAnswer(models.Model):
    """An answer that was posted to the playground, until the tab that asked reads it (`posted_answers`)."""

    HANDLE = 43  # characters of a SHA-256 as base64url
    SEALED = {"sealed_form": "presentation_sandbox_playgroundanswer.sealed_form:{pk}"}

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    code_digest = models.CharField(max_length=HANDLE, unique=True, editable=False)
    handle = models.CharField(max_length=HANDLE, db_index=True, editable=False)  # the hash of the state
    sealed_form = models.BinaryField(editable=False)
    expires_at = models.DateTimeField(editable=False, db_index=True)

    class Meta:
        default_permissions = []

    def __str__(self) -> str:
        return str(self.pk)
