"""Answers that are posted instead of carried by the browser, under way (OpenID4VP 1.0 §8.2)."""

from django.db import models
from django.db.models import Q

from presentation.requests.models.interactions import Interaction


class Delivery(models.Model):
    """An answer to be posted, and whether it was. Its body is kept only until it has arrived or expired.

    Nothing but facts is stored; how it stands is computed from them (`deliveries.standing`).
    """

    # Read by `keys.sealed_columns`; what `deliveries` seals to.
    SEALED = {
        "sealed_body": "presentation_delivery.sealed_body:{pk}",
        "sealed_onward": "presentation_delivery.sealed_onward:{pk}",
    }

    interaction = models.OneToOneField(
        Interaction,
        primary_key=True,
        on_delete=models.CASCADE,
        related_name="delivery",
        editable=False,
    )
    sealed_body = models.BinaryField(default=b"", editable=False)  # the form, to the byte
    sealed_onward = models.BinaryField(
        default=b"", editable=False
    )  # where the relying party sends the browser
    expires_at = models.DateTimeField(editable=False)
    tries = models.PositiveSmallIntegerField(default=0, editable=False)
    taken_until = models.DateTimeField(null=True, editable=False)  # by the request that is posting it now
    left_here = models.BooleanField(default=False, editable=False)  # some of it was sent: it may have arrived
    refused = models.BooleanField(default=False, editable=False)  # the last try was answered, but not well
    held_until = models.DateTimeField(null=True, editable=False)  # the relying party asked to wait so long
    delivered_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        default_permissions = []
        constraints = [
            models.CheckConstraint(
                condition=Q(delivered_at=None) | Q(sealed_body=b""),
                name="presentation_delivered_answer_is_gone",
            ),
        ]
        indexes = [
            models.Index(
                fields=["expires_at"],
                condition=~Q(sealed_body=b"") | ~Q(sealed_onward=b""),
                name="presentation_delivery_kept",
            )
        ]

    def __str__(self) -> str:
        return str(self.pk)
