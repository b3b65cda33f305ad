"""`manage.py withdraw_signing_key`: removes a key from the key set in an emergency."""

import sys
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.utils.timezone import now

from keys.management.key_command import RecordedKeyCommand
from keys.models import Key
from keys.rotation.key_events import shell_user
from keys.rotation.states import State, find, in_state
from keys.rotation.transitions import withdraw
from keys.rotation.withdrawal import cost_of_withdrawal, stops_signing


class Command(RecordedKeyCommand):
    help = (
        "Withdraw a key now and for good, for instance because it was compromised. The next key signs at "
        "once, and everything that the key signed is invalid. Shows the consequences first, and asks."
    )

    state, hint = State.ACTIVE, "Say which key to withdraw."
    needs_reason = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--yes", action="store_true", help="do not ask; name the key if no other can sign"
        )

    def handle(self, *args: Any, kid: str | None, signs: str, reason: str, yes: bool, **options: Any) -> None:
        moment = now()
        key = find(self.chosen(kid, signs))
        self.stdout.write(f"Key {key} is “{key.get_state_display()}”.")
        self.stdout.write(cost_of_withdrawal(key, now=moment))
        stops = stops_signing(key, now=moment)
        if stops and yes and kid is None:
            raise CommandError("It is the only key that can sign: with --yes, name it. Nothing was changed.")
        if not yes and not self._agreed(str(key)[:8] if stops else ""):
            raise CommandError("Nothing was changed.")
        withdraw(key.pk, reason=reason, now=moment, actor=shell_user())
        self.stdout.write(f"Key {key} is withdrawn.")
        active = in_state(State.ACTIVE, type(key))
        self.stdout.write(f"Key {active} signs." if active else "No key signs now. " + _way_out(key))

    def _agreed(self, name: str) -> bool:
        """name: what has to be typed; empty where a yes is enough."""
        how = f"To confirm, type the beginning of its ID, {name}:" if name else "[y/N]"
        self.stdout.write(f"Withdraw it now and for good? {how} ", ending="")
        self.stdout.flush()
        return sys.stdin.readline().strip().lower() in ([name] if name else ["y", "yes"])


def _way_out(key: Key) -> str:
    if settings.SELF_CERTIFYING_AUTHORITY:
        return "Run rotate_signing_keys."
    staged = in_state(State.STAGED, type(key))
    if staged is None:
        return "Run stage_signing_key, have its request signed, certify_signing_key, activate_signing_key."
    return f"Key {staged} is staged: have its request signed, certify_signing_key, activate_signing_key."
