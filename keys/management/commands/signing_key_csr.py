"""`manage.py signing_key_csr`: prints a key's certificate request."""

from typing import Any

from django.core.management.base import CommandParser

from keys.management.key_command import KeyCommand, chosen
from keys.rotation.moves import certificate_request
from keys.rotation.states import State


class Command(KeyCommand):
    help = "Print the certificate request (PKCS#10) to send to a certificate authority."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("kid", nargs="?", help="the key's id; the staged key when left out")

    def handle(self, *args: Any, kid: str | None, **options: Any) -> None:
        kid = chosen(kid, State.STAGED, "stage_signing_key makes one.")
        self.stdout.write(certificate_request(kid), ending="")
