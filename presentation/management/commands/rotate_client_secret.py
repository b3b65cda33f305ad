"""`manage.py rotate_client_secret`: makes a new secret for a relying party and prints it once, as JSON."""

import json
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from infra.audit.commands import RecordedCommand
from presentation.models import RelyingParty, RelyingPartyEvent
from presentation.relying_parties.authentication import client_secrets


class Command(RecordedCommand):
    help = (
        "Make a new client secret and print it once, as JSON. The previous one works on for the overlap. "
        "At most two work at a time: a third needs --overlap-days 0, which ends all others now."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("client_id")
        parser.add_argument(
            "--overlap-days",
            type=int,
            default=client_secrets.OVERLAP.days,
            metavar="DAYS",
            help="how long the previous secret works on (7); 0 ends all others now",
        )

    def handle(self, *args: Any, client_id: str, overlap_days: int, **options: Any) -> None:
        """Prints the secret; raises CommandError without changing anything."""
        relying_party = RelyingParty.objects.filter(client_id=client_id).first()
        if relying_party is None:
            raise CommandError(f"No relying party has the client ID {client_id}.")
        if not 0 <= overlap_days <= 365:
            raise CommandError("--overlap-days takes a number from 0 to 365.")
        now, overlap = timezone.now(), timedelta(days=overlap_days)
        try:
            with transaction.atomic():
                new = client_secrets.rotate(relying_party, now=now, overlap=overlap)
                action = _("Client secret %(number)s made") % {"number": new.row.pk}
                RelyingPartyEvent.record(relying_party, action, command="rotate_client_secret", now=now)
        except client_secrets.TwoSecretsError:
            raise CommandError(
                "Two secrets work already, and nothing was changed. End one in the admin, or all of them "
                "with --overlap-days 0."
            ) from None
        answer = {
            "client_id": client_id,
            "client_secret": new.text,
            "client_secret_expires_at": int(new.row.expires_at.timestamp()),
        }
        self.stdout.write(json.dumps(answer, indent=2))
