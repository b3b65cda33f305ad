"""The record of what was done with signing keys, by whom and why; written with the deed or not at all."""

import os
import pwd
from datetime import datetime
from uuid import UUID

from django.utils.translation import gettext as _

from keys.models import KeyEvent

Action = KeyEvent.Action
SERVICE = "service"  # code that names nobody: the sandbox, which sets itself up
ACTOR, REASON = 150, 200  # characters kept


def record(action: Action, kid: UUID | None, *, actor: str, reason: str, now: datetime) -> KeyEvent:
    """One row more; inside the transaction of what it tells of. `kid` is None for what concerns all keys."""
    said = " ".join(reason.split())[:REASON] or _("No reason was given.")
    return KeyEvent.objects.create(
        action=action, kid=kid, actor=actor[:ACTOR] or SERVICE, reason=said, at=now
    )


def shell_user() -> str:
    """Who runs a command, as the record names them."""
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container may run under a number without a name
        name = str(os.getuid())
    behind = os.environ.get("SUDO_USER", "")
    return f"{name} (sudo by {behind}) at the shell" if behind else f"{name} at the shell"
