"""`manage.py set_webhook`: what the admin does, for scripts: where a relying party is told, and of what."""

import json
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from presentation.models import RelyingParty
from presentation.webhooks import signing_secrets
from presentation.webhooks.models import WebhookEvent


class Command(BaseCommand):
    help = "Tell a relying party of events by webhook, or make a new secret. Prints the result as JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        """What is left out stays as it is."""
        parser.add_argument("client_id")
        parser.add_argument("--url", help="https; an empty one (with no event) ends it")
        parser.add_argument(
            "--event",
            action="append",
            metavar="EVENT",
            help=f"may be repeated: {', '.join(WebhookEvent.Type.values)}",
        )
        parser.add_argument("--new-secret", action="store_true", help="make a secret and print it, once")
        parser.add_argument(
            "--at-once", action="store_true", help="with --new-secret: those before end now, not in 7 days"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Changes and prints; on any error says what is wrong and changes nothing."""
        party = RelyingParty.objects.filter(client_id=options["client_id"]).first()
        if party is None:
            raise CommandError("There is no relying party with this client ID.")
        if options["at_once"] and not options["new_secret"]:
            raise CommandError("--at-once goes with --new-secret.")
        _change(party, options["url"], options["event"])
        said = {"client_id": party.client_id, "url": party.webhook_url, "events": party.webhook_events}
        if options["new_secret"]:
            overlap = timedelta(0) if options["at_once"] else signing_secrets.OVERLAP
            said["secret"] = signing_secrets.rotate(party, now=timezone.now(), overlap=overlap).text
        self.stdout.write(json.dumps(said, indent=2))


def _change(party: RelyingParty, url: str | None, events: list[str] | None) -> None:
    if url is not None:
        party.webhook_url = url
        party.webhook_events = party.webhook_events if url else []
    if events is not None:
        party.webhook_events = list(dict.fromkeys(events))
    try:
        party.full_clean()
    except ValidationError as error:
        raise CommandError("Nothing was changed.\n" + "\n".join(error.messages)) from None
    party.save(update_fields=["webhook_url", "webhook_events"])
