"""Rows about codes of OpenID Connect."""

from django.db import models

from infra.models import InternalRow
from presentation.requests.models import Interaction


class AuthorizationCode(InternalRow):
    """A code, and then the access token that it was exchanged for; of both only the SHA-256 is kept.

    open ──(exchanged)──► used ──(sent again)──► without content, so that UserInfo ends too
    """

    # Sealed columns and the associated data each is bound to: see `keys.sealed_columns`.
    SEALED = {"sealed_answer": "presentation_authorizationcode.sealed_answer:{pk}"}

    digest = models.CharField(primary_key=True, max_length=64, editable=False)
    interaction = models.OneToOneField(
        Interaction, on_delete=models.CASCADE, related_name="code", editable=False
    )
    sealed_answer = models.BinaryField(editable=False)  # see `codes`
    access_digest = models.CharField(max_length=64, null=True, unique=True, editable=False)
    expires_at = models.DateTimeField(db_index=True, editable=False)  # of the code, then of the access token
    used_at = models.DateTimeField(null=True, editable=False)
