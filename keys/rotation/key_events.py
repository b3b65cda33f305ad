"""Records what was done with signing keys, by whom and why, in the transaction that does it."""

import os
import pwd
from datetime import datetime
from uuid import UUID

from django.utils.translation import gettext as _

from keys.models import KeyEvent

Action = KeyEvent.Action
SERVICE = "service"  # the actor when no operator acts, as when the sandbox sets itself up
ACTOR, REASON = 150, 200  # characters kept


def record(action: Action, kid: UUID | None, *, actor: str, reason: str, now: datetime) -> KeyEvent:
    """Adds a key event; call it in the transaction of the change. `kid` is None if it concerns all keys."""
    reason = " ".join(reason.split())[:REASON] or _("No reason was given.")
    return KeyEvent.objects.create(
        action=action, kid=kid, actor=actor[:ACTOR] or SERVICE, reason=reason, at=now
    )


def shell_user() -> str:
    """The name of the user who runs a command, for the key events."""
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container may run under a user id without a name
        name = str(os.getuid())
    behind = os.environ.get("SUDO_USER", "")
    return f"{name} (sudo by {behind}) at the shell" if behind else f"{name} at the shell"
