"""The record of what commands do to relying parties; written with the deed or not at all."""

from datetime import datetime

from django.utils.translation import gettext as _

from keys.rotation.key_events import shell_user
from presentation.models import RelyingParty, RelyingPartyEvent

ACTION, ACTOR = 200, 150  # characters kept


def record(relying_party: RelyingParty, action: str, *, command: str, now: datetime) -> None:
    """One row more; inside the transaction of what it tells of. No secret and no address belongs into it.

    command: its name, as it is typed.
    """
    actor = _("%(user)s, by %(command)s") % {"user": shell_user(), "command": command}
    RelyingPartyEvent.objects.create(
        relying_party=relying_party, action=action[:ACTION], actor=actor[:ACTOR], at=now
    )
