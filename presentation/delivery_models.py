"""Where answers may be posted, instead of carried by the browser, and answers under way (OpenID4VP §8.2)."""

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from presentation import outbound_target


class ResponseURI(models.Model):
    """One registered address that this service may post answers to; compared as an exact string."""

    relying_party = models.ForeignKey(
        "presentation.RelyingParty", on_delete=models.CASCADE, related_name="response_uris"
    )
    uri = models.CharField(_("response URI"), max_length=outbound_target.LONGEST)

    class Meta:
        verbose_name = _("response URI")
        verbose_name_plural = _("response URIs")
        ordering = ["id"]
        default_permissions = []  # whoever may change relying parties may change these
        constraints = [
            models.UniqueConstraint(
                fields=["relying_party", "uri"],
                name="presentation_response_uri_once",
                violation_error_message=_("This response URI is registered already."),
            ),
            models.CheckConstraint(
                condition=(Q(uri__startswith="https://") | Q(uri__startswith="http://"))
                & ~Q(uri__contains="#")
                & ~Q(uri__contains=" ")
                & ~Q(uri__contains="\\"),
                name="presentation_response_uri_exact",
            ),
        ]

    def __str__(self) -> str:
        return self.uri

    def clean(self) -> None:
        """What may be called (`outbound_target`); whether its host is public shows when it is called."""
        if not self.uri:
            return  # the field itself says that it is missing
        try:
            outbound_target.parse(self.uri, loopback=settings.LOOPBACK_CALLS)
        except outbound_target.TargetError as error:
            raise ValidationError({"uri": ValidationError(error.reason)}) from None


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
        "presentation.Interaction",
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
