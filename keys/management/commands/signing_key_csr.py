"""Print a key's certificate request."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from infra.sealing import SealError
from keys.private_keys.signer import SignerUnavailableError
from keys.rotation.moves import certificate_request
from keys.rotation.states import RotationRefusedError, State, in_state


class Command(BaseCommand):
    help = "Print the certificate request (PKCS#10) to send to a certificate authority."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("kid", nargs="?", help="the key's id; the staged key when left out")

    def handle(self, *args: Any, kid: str | None, **options: Any) -> None:
        staged = in_state(State.STAGED)
        if kid is None and staged is None:
            raise CommandError("No key is staged. stage_signing_key makes one.")
        try:
            self.stdout.write(certificate_request(kid or str(staged)), ending="")
        except (RotationRefusedError, SealError, SignerUnavailableError) as error:
            raise CommandError(str(error)) from error
