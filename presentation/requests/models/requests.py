"""Requests that were pushed ahead of the browser (RFC 9126)."""

from django.db import models


class PushedRequest(models.Model):
    """One request behind a handle, of which only the SHA-256 is kept. Parameters go once it is answered.

    open ──(an interaction that began with it is answered)──► used
    """

    # Sealed columns and the associated data each is bound to: see `stored_parameters`.
    SEALED = {"sealed_transaction_data": "presentation_pushedrequest.sealed_transaction_data:{pk}"}

    digest = models.CharField(primary_key=True, max_length=64, editable=False)
    # No foreign key: it lives for minutes, and a push need not lock the relying party's row.
    client_id = models.CharField(max_length=100, editable=False)
    parameters = models.JSONField(editable=False)  # without transaction data
    sealed_transaction_data = models.BinaryField(null=True, editable=False)
    signed = models.BooleanField(editable=False)
    expires_at = models.DateTimeField(db_index=True, editable=False)
    used_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        default_permissions = []

    def __str__(self) -> str:
        return "pushed request"
