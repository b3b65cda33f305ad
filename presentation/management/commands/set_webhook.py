"""`manage.py set_webhook`: sets the webhook address, events and secret of a relying party, for scripts."""

import json
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from infra.audit.commands import RecordedCommand
from presentation.models import RelyingParty, RelyingPartyEvent
from presentation.webhooks import signing_secrets
from presentation.webhooks.models import WebhookEvent

COMMAND = "set_webhook"


class Command(RecordedCommand):
    help = "Set the webhook address and events of a relying party, or make a new secret. Prints JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        """An option that is left out changes nothing."""
        parser.add_argument("client_id")
        parser.add_argument("--url", help="https; an empty one ends webhooks")
        parser.add_argument(
            "--event",
            action="append",
            metavar="EVENT",
            help=f"may be repeated: {', '.join(WebhookEvent.Type.values)}",
        )
        parser.add_argument("--new-secret", action="store_true", help="make a secret and print it, once")
        parser.add_argument(
            "--at-once",
            action="store_true",
            help="with --new-secret: end the previous secrets now, not in 7 days",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Stores and prints the changes; raises CommandError without changing anything."""
        party = RelyingParty.objects.filter(client_id=options["client_id"]).first()
        if party is None:
            raise CommandError("There is no relying party with this client ID.")
        if options["at_once"] and not options["new_secret"]:
            raise CommandError("--at-once goes with --new-secret.")
        overlap = timedelta(0) if options["at_once"] else signing_secrets.OVERLAP
        with transaction.atomic():
            _change(party, options["url"], options["event"])
            new = _new_secret(party, overlap) if options["new_secret"] else {}
        result = {"client_id": party.client_id, "url": party.webhook_url, "events": party.webhook_events}
        self.stdout.write(json.dumps(result | new, indent=2))


def _new_secret(party: RelyingParty, overlap: timedelta) -> dict[str, str]:
    now = timezone.now()
    new = signing_secrets.rotate(party, now=now, overlap=overlap)
    action = _("New webhook secret") if overlap else _("New webhook secret, those before ended")
    RelyingPartyEvent.record(party, action, command=COMMAND, now=now)
    return {"secret": new}


def _change(party: RelyingParty, url: str | None, events: list[str] | None) -> None:
    before = (party.webhook_url, party.webhook_events)
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
    if action := _in_words(before, party):
        RelyingPartyEvent.record(party, action, command=COMMAND, now=timezone.now())


def _in_words(before: tuple[str, list[str]], party: RelyingParty) -> str:
    """The changes in words, for the history; without the address."""
    changes = []
    if before[0] != party.webhook_url:
        changes.append(_("Changed webhook address.") if party.webhook_url else _("Removed webhook address."))
    if before[1] != party.webhook_events:
        events = ", ".join(party.webhook_events) or _("nothing")
        changes.append(_("Now told of: %(events)s.") % {"events": events})
    return " ".join(changes)
