"""The history of what commands do to relying parties; written in the same transaction as the change."""

from datetime import datetime

from django.utils.translation import gettext as _

from keys.rotation.key_events import shell_user
from presentation.models import RelyingParty, RelyingPartyEvent

ACTION, ACTOR = 200, 150  # characters kept


def record(relying_party: RelyingParty, action: str, *, command: str, now: datetime) -> None:
    """Inserts one row, in the caller's transaction. The action must name no secret and no address.

    command: the name of the management command.
    """
    actor = _("%(user)s, by %(command)s") % {"user": shell_user(), "command": command}
    RelyingPartyEvent.objects.create(
        relying_party=relying_party, action=action[:ACTION], actor=actor[:ACTOR], at=now
    )
