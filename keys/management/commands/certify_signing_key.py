"""Print a key's certificate request, or take the chain that an authority issued for it."""

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.timezone import now

from infra.moments import moment
from infra.sealing import SealError
from keys.certificates.chain import MAX_PEM, BrokenChainError
from keys.private_keys.signer import SignerUnavailableError
from keys.rotation.key_events import shell_user
from keys.rotation.moves import certificate_request, certify
from keys.rotation.states import RotationRefusedError


class Command(BaseCommand):
    help = (
        "Without --chain: print the certificate request (PKCS#10) of a staged or active key. "
        "With --chain: install what the authority sent: leaf, issuing CA and root, PEM or DER, in any order."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("kid", help="the key's id")
        parser.add_argument(
            "--chain", metavar="FILE", nargs="+", help="one file or more; - is standard input"
        )
        parser.add_argument("--reason", default="", help="why, for the record (200 characters)")

    def handle(self, *args: Any, kid: str, chain: list[str] | None, reason: str, **options: Any) -> None:
        try:
            if chain is None:
                self.stdout.write(certificate_request(kid), ending="")
                return
            files = [_read(name) for name in chain]
            key = certify(kid, *files, now=now(), actor=shell_user(), reason=reason)
        except (RotationRefusedError, BrokenChainError, SealError, SignerUnavailableError) as error:
            raise CommandError(str(error)) from error
        certified = key.certified_chain
        if certified:
            self.stdout.write(f"Certified key {key} until {moment(certified.not_after)}.")


def _read(name: str) -> bytes:
    """What the file holds, a little more than a chain may have at most."""
    try:
        if name == "-":
            return sys.stdin.buffer.read(MAX_PEM + 1)
        with Path(name).open("rb") as file:
            return file.read(MAX_PEM + 1)
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}.") from error
