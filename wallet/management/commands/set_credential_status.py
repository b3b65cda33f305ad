"""`manage.py set_credential_status`: invalidate, suspend or reinstate presented credentials."""

import re
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError, CommandParser
from django.db.models import QuerySet
from django.utils import timezone

from infra.audit.commands import RecordedCommand
from infra.operations import WrongStateError
from infra.reasons import visible
from keys.rotation.key_events import shell_user
from wallet.credential import revocation
from wallet.models import Credential, StatusEntry, Wallet
from wallet.operations import suspension
from wallet.status_lists import changes
from wallet.status_lists.changes import Action
from wallet.status_lists.statuses import unexpired

ACTIONS = {"invalid": Action.INVALIDATED, "suspended": Action.SUSPENDED, "valid": Action.REINSTATED}
OF_CREDENTIAL = {
    "invalid": revocation.revoke,
    "suspended": revocation.suspend,
    "valid": revocation.reinstate,
}
REFUSALS = (changes.NothingToChangeError, WrongStateError)

# The affected entries, and the use case, which takes actor, reason and time.
Target = tuple[QuerySet[StatusEntry], Callable[..., Any]]


class Command(RecordedCommand):
    help = (
        "Set the status of presented credentials: of one, of all of a credential or wallet (which then "
        "cannot present), or of all that a key signed. Prints first how many are affected."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("status", choices=ACTIONS, help="the new status; invalid is final")
        target = parser.add_mutually_exclusive_group(required=True)
        target.add_argument("--presented", metavar="LIST/INDEX", help="one presented credential, as 7/123456")
        target.add_argument(
            "--receipt", type=UUID, metavar="ID", help="all that one receipt is about, by its ID"
        )
        target.add_argument("--credential", type=UUID, metavar="ID", help="the credential of a wallet")
        target.add_argument("--wallet", type=UUID, metavar="ID", help="a wallet; invalid: its credential")
        target.add_argument("--key", type=UUID, metavar="KID", help="everything that the key has signed")
        parser.add_argument("--reason", required=True, help="why, for the record (200 characters)")
        parser.add_argument("--yes", action="store_true", help="make the change; else only print how many")

    def handle(self, *args: Any, status: str, reason: str, yes: bool, **options: Any) -> None:
        now = timezone.now()
        if not visible(reason):
            raise CommandError("Give a reason, for the record.")
        entries, run = self._target(status, now, options)
        self.stdout.write(f"{entries.count()} unexpired presented credentials.")
        if not yes:
            raise CommandError("Nothing was changed. Add --yes to make the change.")
        try:
            run(actor=shell_user(), reason=reason, now=now)
        except REFUSALS:
            raise CommandError(f"Nothing was changed: none of them can become {status} now.") from None
        self.stdout.write(f"Done: {status}. Relying parties see it within a minute.")

    def _target(self, status: str, now: datetime, options: dict[str, Any]) -> Target:
        action = ACTIONS[status]
        if options["presented"] or options["receipt"]:
            return self._presented(options, action, now)
        if kid := options["key"]:
            rows = unexpired(now).filter(signing_key=kid)
            return changes.affected(rows, action), partial(changes.change_signed, kid, action)
        if options["wallet"] and status != "invalid":
            wallet = Wallet.objects.filter(pk=options["wallet"]).first()
            if wallet is None:
                raise CommandError("There is no such wallet.")
            move = suspension.suspend if status == "suspended" else suspension.reinstate
            return changes.of_wallet(wallet, now=now), partial(move, wallet)
        by_id = {"pk": options["credential"]} if options["credential"] else {"wallet": options["wallet"]}
        credential = Credential.objects.filter(**by_id).first()
        if credential is None:
            raise CommandError("There is no such credential.")
        return revocation.presented(credential, now=now), partial(OF_CREDENTIAL[status], credential)

    def _presented(self, options: dict[str, Any], action: Action, now: datetime) -> Target:
        where: dict[str, Any] = {"reference": options["receipt"]}
        if options["presented"]:
            numbers = re.fullmatch(r"([0-9]{1,18})/([0-9]{1,9})", options["presented"])
            if numbers is None:
                raise CommandError("Give list and index, as in 7/123456; both are in the token's status.")
            where = {"status_list": int(numbers[1]), "idx": int(numbers[2])}
        rows = unexpired(now).filter(**where)
        if not rows.exists():
            raise CommandError("There is no such presented credential, or it has expired.")
        return changes.affected(rows, action), partial(changes.change_each, rows, action)
