"""`manage.py certify_signing_key`: prints a key's certificate request, or installs its certificate chain."""

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.timezone import now

from infra.audit.commands import RecordedCommand
from infra.moments import moment
from keys.certificates.chain import MAX_PEM
from keys.management.key_command import KeyCommand
from keys.rotation.key_events import shell_user
from keys.rotation.moves import certificate_request, certify


class Command(RecordedCommand, KeyCommand):
    help = (
        "Without --chain: print the certificate request (PKCS#10) of a staged or active key. "
        "With --chain: install the files that the authority sent: leaf, issuing CA and root, in any order."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("kid", help="the key's id")
        parser.add_argument(
            "--chain", metavar="FILE", nargs="+", help="one file or more; - is standard input"
        )
        parser.add_argument("--reason", default="", help="why, for the record (200 characters)")

    def handle(self, *args: Any, kid: str, chain: list[str] | None, reason: str, **options: Any) -> None:
        if chain is None:
            self.stdout.write(certificate_request(kid), ending="")
            return
        files = [_read(name) for name in chain]
        key = certify(kid, *files, now=now(), actor=shell_user(), reason=reason)
        certified = key.certified_chain
        if certified:
            self.stdout.write(f"Certified key {key} until {moment(certified.not_after)}.")


def _read(name: str) -> bytes:
    """The file's content, at most one byte more than a chain may have; raises CommandError."""
    try:
        if name == "-":
            return sys.stdin.buffer.read(MAX_PEM + 1)
        with Path(name).open("rb") as file:
            return file.read(MAX_PEM + 1)
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}.") from error
