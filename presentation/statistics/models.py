"""The statistics of relying parties: how many requests each made in an hour, and how they ended."""

from django.db import models

from infra.models import InternalRow
from presentation.relying_parties.models.relying_parties import RelyingParty


class RequestCount(InternalRow):
    """The requests that a relying party made in one hour (UTC), by outcome. It says nothing about a person.

    The row is inserted when all requests of the hour have ended (`counting`), before they are deleted.
    """

    relying_party = models.ForeignKey(
        RelyingParty,
        on_delete=models.CASCADE,
        related_name="request_counts",
        db_index=False,  # the constraint below begins with it
        editable=False,
    )
    hour = models.DateTimeField(editable=False, db_index=True)  # its beginning
    asked = models.PositiveIntegerField(editable=False)
    granted = models.PositiveIntegerField(editable=False)
    declined = models.PositiveIntegerField(editable=False)  # `access_denied`
    failed = models.PositiveIntegerField(editable=False)  # another error

    class Meta(InternalRow.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["relying_party", "hour"], name="presentation_requests_counted_once"
            )
        ]
