"""`manage.py distrust_provider`: an identity provider verified people wrongly; changes what it verified."""

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db.models import QuerySet
from django.utils import timezone

from infra.audit.commands import RecordedCommand
from infra.operations import WrongStateError
from infra.reasons import visible
from keys.rotation.key_events import shell_user
from wallet.credential import revocation
from wallet.models import Credential

MOVES = {"invalid": revocation.revoke, "suspended": revocation.suspend, "valid": revocation.reinstate}


class Command(RecordedCommand):
    help = (
        "Suspend, reinstate or revoke every credential that an identity provider has verified within some "
        "days, with all that was presented from it. Prints first how many are affected. Suspend at once, and "
        "revoke when you know: people whose credential is revoked have to be verified again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("status", choices=MOVES, help="the new status; invalid is final")
        parser.add_argument("--provider", required=True, help="its name in IDENTITY_PROVIDERS_FILE")
        parser.add_argument("--since", required=True, type=date.fromisoformat, help="the first day, in UTC")
        parser.add_argument("--until", required=True, type=date.fromisoformat, help="the last day, in UTC")
        parser.add_argument("--reason", required=True, help="why, for the record (200 characters)")
        parser.add_argument("--yes", action="store_true", help="make the change; else only print how many")

    def handle(
        self,
        *args: Any,
        status: str,
        provider: str,
        since: date,
        until: date,
        reason: str,
        yes: bool,
        **options: Any,
    ) -> None:
        if not visible(reason):
            raise CommandError("Give a reason, for the record.")
        if until < since:
            raise CommandError("The last day is before the first.")
        credentials = _verified_by(provider, since, until)
        self.stdout.write(f"{credentials.count()} credentials of holders were verified so.")
        if not yes:
            raise CommandError("Nothing was changed. Add --yes to make the change.")
        done = self._change(credentials, status, reason)
        self.stdout.write(f"Done: {done} are {status} now. Relying parties see it within a minute.")

    def _change(self, credentials: QuerySet[Credential], status: str, reason: str) -> int:
        """Changes one after the other, so that a broken-off run can be repeated; gives the number."""
        done = 0
        for credential in credentials.iterator(chunk_size=500):
            try:
                MOVES[status](credential, actor=shell_user(), reason=reason, now=timezone.now())
                done += 1
            except WrongStateError:
                continue  # it has this status, or is revoked
        return done


def _verified_by(provider: str, since: date, until: date) -> QuerySet[Credential]:
    """The credentials of a provider that were issued on these days."""
    first = datetime.combine(since, time.min, UTC)
    end = datetime.combine(until + timedelta(days=1), time.min, UTC)
    rows = Credential.objects.filter(verification__provider=provider, issued_at__gte=first, issued_at__lt=end)
    return rows.order_by("pk")
