"""Do whatever is due for the signing keys; made to be run every hour, by any number of instances."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.timezone import now

from keys.certificate_chain import BrokenChainError
from keys.certificate_watch import report
from keys.key_events import shell_user
from keys.rotation import rotate
from keys.sealing import SealError


class Command(BaseCommand):
    help = (
        "Stage, activate and withdraw signing keys as the schedule has it, and tell of certificates that end "
        "within 60 days. Run it every hour."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        moment = now()
        try:
            lines = rotate(now=moment, actor=shell_user())
        except (BrokenChainError, SealError) as error:
            raise CommandError(str(error)) from error
        for line in [*lines, *report(now=moment)]:
            self.stdout.write(str(line))
