"""When the commands that have to run regularly last ran to their end, for monitoring and for `check`."""

from datetime import datetime, timedelta

from infra.models import DatabaseMark, LastRun

# Command → what does not happen while it does not run.
COMMANDS = {
    "clear_expired": "what has expired is not erased",
    "send_share_emails": "holders who asked for it are not told what they shared",
    "sweep_identity_verifications": (
        "identity checks do not end, nobody is told that their identity ends, and no wallet is closed"
    ),
}
OVERDUE = timedelta(days=1)


def record(command: str, *, now: datetime) -> None:
    """The command has run to its end."""
    LastRun.objects.update_or_create(command=command, defaults={"at": now})


def ages(*, now: datetime) -> dict[str, timedelta]:
    """How long ago each command was run; if it never was, how long ago the database was made.

    Empty for a database that is not marked.
    """
    known = dict(LastRun.objects.values_list("command", "at"))
    marked_at = DatabaseMark.objects.values_list("marked_at", flat=True).first()
    since = {command: known.get(command, marked_at) for command in COMMANDS}
    return {command: now - at for command, at in since.items() if at is not None}
