"""`manage.py repeat_changes`: repeats what protected people and was undone by a restore, such as revocations.

It reads what lies outside the database: the service's log, and the files of the audit record.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

from django.core.exceptions import ObjectDoesNotExist, ValidationError
from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser
from django.db import connection
from django.utils import timezone

from infra.audit.commands import RecordedCommand
from infra.operations import WrongStateError
from wallet.account.closing import closures
from wallet.identity import recoveries
from wallet.models import Passkey, Recovery, StatusList, Wallet
from wallet.passkeys import registration
from wallet.status_lists import upkeep

_STATUS = {"invalidated": "invalid", "suspended": "suspended", "reinstated": "valid"}
_COMMANDS = ("set_credential_status", "withdraw_signing_key")
_PASSING = ("_seen", "looked_up", "signed_in", "signed_out", "claim", "release")
# Rows whose changes in the admin are all in the log. A command writes its log to the terminal.
_LOGGED = ("wallet.wallet:", "wallet.credential:", "wallet.statusentry:", "wallet.recovery:")
_LATER_NUMBERS = """
    SELECT setval(pg_get_serial_sequence('wallet_statuslist', 'id'), coalesce(max(id), 0) + 1000)
    FROM wallet_statuslist
"""


class Command(RecordedCommand):
    help = (
        "After a restore to a moment: read lines of the log and of the audit record on standard input, and "
        "repeat each change of a status, closing, stopped recovery, removed passkey and withdrawn key since. "
        "Prints what is left to operators."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--after", type=datetime.fromisoformat, required=True, help="the moment, in UTC")
        parser.add_argument("--reason", required=True, help="why, for the record (200 characters)")
        parser.add_argument("--yes", action="store_true", help="make the changes; else only print them")

    def handle(self, *args: Any, after: datetime, reason: str, yes: bool, **options: Any) -> None:
        for at, words in sorted(change for line in sys.stdin for change in _read(line)):
            if at > after.astimezone(UTC):
                said = _repeat(at, *words, reason=reason) if yes else "to do"
                self.stdout.write(f"{at:%Y-%m-%d %H:%M:%S} {' '.join(words)}: {said}")
        if not yes:
            raise CommandError("Nothing was changed. Add --yes to make the changes.")
        # Presentations since the moment have places there that look free. No other may get the same place.
        StatusList.objects.filter(closed_at=None).update(closed_at=timezone.now())
        if connection.vendor == "postgresql":  # lists opened since have numbers that a dump does not know
            with connection.cursor() as cursor:
                cursor.execute(_LATER_NUMBERS)
        upkeep.keep_open(now=timezone.now())


def _read(line: str) -> Iterator[tuple[datetime, list[str]]]:
    """When it was, and the words that repeat it; nothing for most lines."""
    with suppress(ValueError):
        match json.loads(line):
            case {"event": "status_changed", "timestamp": at, "action": to, "subject": what, "id": row}:
                yield datetime.fromisoformat(at), [_COMMANDS[0], _STATUS[to], f"--{what}", row, "--yes"]
            case {"event": "signing_key_moved", "timestamp": at, "after": "withdrawn", "kid": kid}:
                yield datetime.fromisoformat(at), [_COMMANDS[1], kid, "--yes"]
            case {"event": "wallet_closing_asked", "timestamp": at, "wallet": row, "why": list(why)}:
                yield datetime.fromisoformat(at), ["close", row, *why]
            case {"event": "wallet_closing_undone", "timestamp": at, "wallet": row}:
                yield datetime.fromisoformat(at), ["keep", row]
            case {"event": "recovery_stopped", "timestamp": at, "recovery": row, "by": by}:
                yield datetime.fromisoformat(at), ["stop", row, by]
            case {"event": "passkey_removed", "timestamp": at, "passkey": row}:
                yield datetime.fromisoformat(at), ["remove", row]
            case {"event": str(did), "timestamp": at, "wallet": row} if did.startswith("address_change"):
                yield datetime.fromisoformat(at), [did, row]
            case {"at": at, "action": did, "about": of} if not _is_left_out(did, of):
                words = of.split() if did == "command_run" else [did, of]
                yield datetime.fromtimestamp(0, UTC) + timedelta(microseconds=at), words


def _is_left_out(did: str, of: str) -> bool:
    return of.startswith(_LOGGED) or did.endswith(_PASSING)


def _repeat(at: datetime, name: str, *words: str, reason: str) -> str:
    """What came of it. A wallet is closed as if `at` were now."""
    try:
        if name == "close":
            wallet, why, who = Wallet.objects.get(pk=words[0]), closures.Reason(words[1]), int(words[2])
            closes_at = closures.earliest(wallet, now=at)
            closures.ask(wallet, now=at, closes_at=closes_at, operator_id=who or None, reason=why)
        elif name == "keep":
            closures.undo(Wallet.objects.get(pk=words[0]), now=at)
        elif name == "stop":
            recoveries.stop(Recovery.objects.get(pk=words[0]), by=words[1], reason=reason, now=at)
        elif name == "remove":
            registration.remove(Passkey.objects.get(pk=words[0]))
        elif name not in _COMMANDS or len(words) < 2 or words[-1] != "--yes":
            return "repeat it by hand if it is still wanted"
        else:
            call_command(name, *words, "--reason", reason, stdout=StringIO())
    except (CommandError, WrongStateError, ObjectDoesNotExist, ValidationError, ValueError) as refusal:
        return str(refusal)
    return "done"
