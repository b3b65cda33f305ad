"""`manage.py signing_key_csr`: prints a key's certificate request."""

from typing import Any

from keys.management.key_command import KeyCommand
from keys.rotation.states import State
from keys.rotation.transitions import certificate_request


class Command(KeyCommand):
    help = "Print the certificate request (PKCS#10) to send to a certificate authority."
    state, hint = State.STAGED, "stage_signing_key makes one."

    def handle(self, *args: Any, kid: str | None, signs: str, **options: Any) -> None:
        self.stdout.write(certificate_request(self.chosen(kid, signs)), ending="")
