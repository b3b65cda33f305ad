"""The history of commands on relying parties; the admin's own history knows operators only."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from infra.database.append_only import AppendOnly
from presentation.relying_parties.models.relying_parties import RelyingParty


class RelyingPartyEvent(AppendOnly):
    """An action of a management command on a relying party, and who ran the command. Append-only."""

    relying_party = models.ForeignKey(
        RelyingParty, on_delete=models.CASCADE, related_name="done_by_command", editable=False
    )
    action = models.CharField(_("what"), max_length=200, editable=False)
    actor = models.CharField(_("who"), max_length=150, editable=False)  # shell user
    at = models.DateTimeField(_("when"), editable=False)

    class Meta:
        ordering = ["-at", "-id"]
        default_permissions = []  # the permissions of relying parties count
        constraints = [
            models.CheckConstraint(
                condition=~Q(actor="") & ~Q(action=""), name="presentation_event_says_who_and_what"
            )
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.at}"
