"""The models of passkeys (W3C Web Authentication Level 3)."""

import uuid

from django.db import models

from infra.models import InternalRow
from wallet.models.holders import Wallet


class Passkey(InternalRow):
    """A key pair on a device of a holder, who signs in with it. The public key is stored here."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    wallet = models.ForeignKey(Wallet, on_delete=models.CASCADE, related_name="passkeys", editable=False)
    name = models.CharField(max_length=60, editable=False)  # chosen by the holder
    # base64url without padding; at most 1023 bytes (§4, "credential ID")
    credential_id = models.CharField(max_length=1364, unique=True, editable=False)
    public_key = models.BinaryField(editable=False)  # COSE_Key, RFC 9052 §7
    sign_count = models.BigIntegerField(editable=False)
    transports = models.JSONField(default=list, editable=False)  # how browsers reach it, e.g. ["internal"]
    # Whether a password manager keeps copies, so that it outlives the device.
    backed_up = models.BooleanField(editable=False)
    created_at = models.DateTimeField(editable=False)
    last_used_at = models.DateTimeField(null=True, editable=False)

    class Meta(InternalRow.Meta):
        ordering = ["created_at", "id"]


class PasskeyChallenge(InternalRow):
    """A random number that a passkey has to sign. It is used once, in one browser, for one purpose.

    The row holds its digest, and is deleted when it is used.
    """

    digest = models.CharField(primary_key=True, max_length=64, editable=False)
    purpose = models.CharField(max_length=10, editable=False)  # `assertion.Purpose`
    # The digest of the session's cookie, or of the browser's where nobody is signed in.
    bound_to = models.CharField(max_length=64, editable=False)
    subject = models.CharField(max_length=36, blank=True, editable=False)  # ID of the errand or question
    expires_at = models.DateTimeField(editable=False, db_index=True)
