"""The models of passkeys (W3C Web Authentication Level 3)."""

from django.db import models

from infra.models import InternalRow, PasskeyRow
from wallet.models.holders import Wallet


class Passkey(PasskeyRow):
    """A passkey of a holder, who signs in with it and chooses its name."""

    wallet = models.ForeignKey(Wallet, on_delete=models.CASCADE, related_name="passkeys", editable=False)


class PasskeyChallenge(InternalRow):
    """A random number that a passkey has to sign. It is used once, in one browser, for one purpose.

    The row holds its digest, and is deleted when it is used.
    """

    digest = models.CharField(primary_key=True, max_length=64, editable=False)
    purpose = models.CharField(max_length=10, editable=False)  # `assertion.Purpose`
    # The digest of the session's cookie, or of the browser's where nobody is signed in.
    bound_to = models.CharField(max_length=64, editable=False)
    subject = models.CharField(
        max_length=36, blank=True, editable=False
    )  # ID of the redirect task or question
    expires_at = models.DateTimeField(editable=False, db_index=True)
