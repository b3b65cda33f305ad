"""The addresses to which answers may go: registered, and compared as exact strings."""

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from infra.outbound import targets
from infra.registering import NotRegistrableError
from presentation.relying_parties.metadata import redirect_uris
from presentation.relying_parties.models.relying_parties import RelyingParty


class RedirectURI(models.Model):
    """A URI to which the browser may carry answers; compared as an exact string (RFC 9700 §2.1)."""

    relying_party = models.ForeignKey(RelyingParty, on_delete=models.CASCADE, related_name="redirect_uris")
    uri = models.CharField(_("redirect URI"), max_length=redirect_uris.LONGEST)

    class Meta:
        verbose_name = _("redirect URI")
        verbose_name_plural = _("redirect URIs")
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["relying_party", "uri"],
                name="presentation_redirect_uri_once",
                violation_error_message=_("This redirect URI is registered already."),
            ),
            models.CheckConstraint(
                condition=Q(uri__contains=":")
                & ~Q(uri__contains="#")
                & ~Q(uri__contains="*")
                & ~Q(uri__contains=" ")
                & ~Q(uri__contains="\\"),
                name="presentation_redirect_uri_exact",
            ),
        ]

    def __str__(self) -> str:
        return self.uri

    def clean(self) -> None:
        """Validates the URI (`redirect_uris.validate`); `http://localhost` only if the settings allow it."""
        if not self.uri:
            return  # the field's own validation reports it
        try:
            redirect_uris.validate(self.uri, allow_localhost=settings.LOCALHOST_REDIRECT_URIS)
            if not _is_registered_already(self):
                redirect_uris.check_query(self.uri)
        except NotRegistrableError as error:
            raise ValidationError({"uri": ValidationError(error.reason)}) from None


class ResponseURI(models.Model):
    """An address to which this service may post answers; compared as an exact string."""

    relying_party = models.ForeignKey(RelyingParty, on_delete=models.CASCADE, related_name="response_uris")
    uri = models.CharField(_("response URI"), max_length=targets.LONGEST)

    class Meta:
        verbose_name = _("response URI")
        verbose_name_plural = _("response URIs")
        ordering = ["id"]
        default_permissions = []  # the permissions of relying parties count
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
        """Validates the address (`outbound.targets`); its IP address is checked at each call."""
        if not self.uri:
            return  # the field's own validation reports it
        try:
            targets.parse(self.uri, loopback=settings.LOOPBACK_CALLS)
            if not _is_registered_already(self):
                redirect_uris.check_query(self.uri)
        except NotRegistrableError as error:
            raise ValidationError({"uri": ValidationError(error.reason)}) from None


def _is_registered_already(row: RedirectURI | ResponseURI) -> bool:
    """Whether the row is stored with this very address.

    An address from before `check_query` stays while other things change; the doctor names it.
    """
    return type(row)._default_manager.filter(pk=row.pk, uri=row.uri).exists()
