"""`manage.py certify_signing_key`: prints a key's certificate request, or installs its certificate chain."""

import sys
from typing import Any

from django.core.management.base import CommandParser
from django.utils.timezone import now

from infra.files import content
from infra.moments import moment
from keys.certificates.chain import MAX_PEM
from keys.management.key_command import RecordedKeyCommand
from keys.rotation.key_events import shell_user
from keys.rotation.states import State
from keys.rotation.transitions import certificate_request, certify


class Command(RecordedKeyCommand):
    help = (
        "Without --chain: print the certificate request (PKCS#10) of a staged or active key. "
        "With --chain: install the files that the authority sent: leaf, issuing CA and root, in any order."
    )
    state, hint = State.STAGED, "stage_signing_key makes one."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--chain", metavar="FILE", nargs="+", help="one file or more; - is standard input"
        )

    def handle(
        self, *args: Any, kid: str | None, signs: str, chain: list[str] | None, reason: str, **options: Any
    ) -> None:
        kid = self.chosen(kid, signs)
        if chain is None:
            self.stdout.write(certificate_request(kid), ending="")
            return
        files = [
            sys.stdin.buffer.read(MAX_PEM + 1) if name == "-" else content(name, most=MAX_PEM)
            for name in chain
        ]
        key = certify(kid, *files, now=now(), actor=shell_user(), reason=reason)
        certified = key.certified_chain
        if certified:
            self.stdout.write(f"Certified key {key} until {moment(certified.not_after)}.")
