"""What was done to relying parties by command: the admin's own history names its operators only."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from infra.database.append_only import AppendOnly
from presentation.relying_parties.models.relying_parties import RelyingParty


class RelyingPartyEvent(AppendOnly):
    """Something done to a relying party at the shell, and by whom. Append-only."""

    relying_party = models.ForeignKey(
        RelyingParty, on_delete=models.CASCADE, related_name="done_by_command", editable=False
    )
    action = models.CharField(_("what"), max_length=200, editable=False)
    actor = models.CharField(_("who"), max_length=150, editable=False)  # shell user
    at = models.DateTimeField(_("when"), editable=False)

    class Meta:
        ordering = ["-at", "-id"]
        default_permissions = []  # whoever may see relying parties may see what was done to them
        constraints = [
            models.CheckConstraint(
                condition=~Q(actor="") & ~Q(action=""), name="presentation_event_says_who_and_what"
            )
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.at}"
