"""What this service notes of its own running, whatever the product is."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


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


class DatabaseMark(models.Model):
    """Which environment this database belongs to; written once by `migrate` (`database_mark`)."""

    environment = models.CharField(_("environment"), max_length=10, editable=False)
    marked_at = models.DateTimeField(_("marked"), editable=False)
    only = models.BooleanField(default=True, editable=False)  # one row at most, by constraint

    class Meta:
        db_table = "keys_databasemark"  # from when this model was in `keys`
        verbose_name = _("database mark")
        verbose_name_plural = _("database marks")
        default_permissions = []  # not shown in the admin
        constraints = [
            models.UniqueConstraint(fields=["only"], name="keys_one_database_mark"),
            models.CheckConstraint(condition=Q(only=True), name="keys_database_mark_is_the_only"),
            models.CheckConstraint(
                condition=Q(environment__in=["sandbox", "production"]), name="keys_database_mark_known"
            ),
        ]

    def __str__(self) -> str:
        return self.environment
