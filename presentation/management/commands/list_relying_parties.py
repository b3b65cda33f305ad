"""`manage.py list_relying_parties`: prints relying parties as JSON, as `change_relying_party` reads them."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from presentation.relying_parties.as_json import listed


class Command(BaseCommand):
    help = "Print the relying parties as a JSON list, without secrets."

    def add_arguments(self, parser: CommandParser) -> None:
        """Client IDs; all relying parties when none is given."""
        parser.add_argument("client_id", nargs="*", help="only these")

    def handle(self, *args: Any, client_id: list[str], **options: Any) -> None:
        """Prints the list; raises CommandError for a client ID that is not registered."""
        relying_parties = listed(client_id)
        if unknown := set(client_id) - {party["client_id"] for party in relying_parties}:
            raise CommandError(f"There is no relying party with this client ID: {', '.join(sorted(unknown))}")
        self.stdout.write(json.dumps(relying_parties, indent=2, ensure_ascii=False))
