"""What this service notes of its own running, whatever the product is."""

from django.db import models


class Allowance(models.Model):
    """How often something was done in a window of time (`limits`): one row per subject and window."""

    key = models.CharField(primary_key=True, max_length=64, editable=False)  # keyed digest, see `limits`
    count = models.PositiveIntegerField(editable=False)
    expires_at = models.DateTimeField(editable=False, db_index=True)

    class Meta:
        db_table = "wallet_allowance"  # from when this model was in `wallet`
        default_permissions = []

    def __str__(self) -> str:
        return self.key
