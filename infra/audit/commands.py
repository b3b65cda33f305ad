"""Commands by which an administrator at the shell does what operators do in the admin."""

from typing import Any

from django.core.management.base import BaseCommand

from infra.audit.recording import record

# What `set_credential_status` and `distrust_provider` call them.
_OPTIONS = ("credential", "wallet", "receipt", "presented", "key", "provider", "since", "until")


class RecordedCommand(BaseCommand):
    """A command whose every run is a line of the audit record: its name, the row's ID and the reason.

    The line is committed before the command begins, so it may stand there for a run that was refused. A dry
    run has none. `repeat_changes` reads these lines. Who ran the command is not known to the service; the
    journal of `sudo` says it.
    """

    def execute(self, *args: Any, **options: Any) -> str | None:
        if not options.get("dry_run"):
            name = type(self).__module__.rpartition(".")[2]
            words = [str(options[option]) for option in ("status", "kid", "client_id") if options.get(option)]
            words += [f"--{option} {options[option]}" for option in _OPTIONS if options.get(option)]
            # Of a command for signing keys; a line without it is about a key for credentials.
            words += ["--for statements"] if options.get("signs") == "statements" else []
            words += ["--yes"] if options.get("yes") else []
            record(None, "command_run", " ".join([name, *words]), options.get("reason") or "")
        return super().execute(*args, **options)
